package frames

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/createtopics"
	"github.com/segmentio/kafka-go/protocol/deletetopics"
	"github.com/segmentio/kafka-go/protocol/describeconfigs"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
	"github.com/segmentio/kafka-go/protocol/heartbeat"
	"github.com/segmentio/kafka-go/protocol/incrementalalterconfigs"
	"github.com/segmentio/kafka-go/protocol/joingroup"
	"github.com/segmentio/kafka-go/protocol/leavegroup"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/offsetcommit"
	"github.com/segmentio/kafka-go/protocol/offsetfetch"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/saslauthenticate"
	"github.com/segmentio/kafka-go/protocol/saslhandshake"
	"github.com/segmentio/kafka-go/protocol/syncgroup"

	"refrain/internal/kafkaconn/logdirs"
)

// answers are all that are asked for. An answer to anything else is refused: a request that is new here needs a line.
var answers = sync.OnceValue(func() map[protocol.ApiKey]reflect.Type {
	all := map[protocol.ApiKey]reflect.Type{}
	for _, m := range []protocol.Message{
		&apiversions.Response{}, &createtopics.Response{}, &deletetopics.Response{}, &describeconfigs.Response{},
		&fetch.Response{},
		&findcoordinator.Response{}, &heartbeat.Response{}, &incrementalalterconfigs.Response{}, &joingroup.Response{},
		&leavegroup.Response{}, &listoffsets.Response{},
		&metadata.Response{}, &offsetcommit.Response{}, &offsetfetch.Response{}, &produce.Response{}, &saslauthenticate.Response{},
		&saslhandshake.Response{}, &syncgroup.Response{}, &logdirs.Response{},
	} {
		all[m.ApiKey()] = reflect.TypeOf(m).Elem()
	}
	return all
})

// step walks over one field.
type step struct {
	walk func(*walker)
	min  int // bytes that it takes at least
}

// layout is how one version of an answer is laid out.
type layout struct {
	flexible bool // lengths are variable, and every struct ends in tagged fields
	body     step
}

var layouts sync.Map // request to *layout

// layoutOf describes an answer by the tags of the library's own types, which it decodes by too.
func layoutOf(r request) (*layout, error) {
	if l, ok := layouts.Load(r); ok {
		return l.(*layout), nil
	}
	t, ok := answers()[r.api]
	if !ok {
		return nil, fmt.Errorf("nothing checks answers to requests of kind %d", r.api)
	}
	d := describer{version: r.version, flexible: flexible(t, r.version)}
	l := &layout{flexible: d.flexible, body: d.structure(t)}
	layouts.Store(r, l)
	return l, nil
}

func (r request) check(b []byte) error {
	l, err := layoutOf(r)
	if err != nil {
		return err
	}
	w := &walker{b: b, compact: l.flexible}
	if l.flexible {
		w.tags(nil)
	}
	l.body.walk(w)
	return w.err
}

// tag says in which versions a field is there, and how.
type tag struct {
	min, max int16
	id       int // of a tagged field; unnumbered: it only says that there are some; untagged
}

const (
	unnumbered = -1
	untagged   = -2
)

func tagsOf(f reflect.StructField) (tags []tag) {
	for _, s := range strings.Split(f.Tag.Get("kafka"), "|") {
		t := tag{min: -1, max: -1, id: untagged}
		for _, option := range strings.Split(s, ",") {
			key, value, _ := strings.Cut(option, "=")
			n, _ := strconv.Atoi(strings.TrimPrefix(value, "v")) // the library's own tests see to it that it is one
			switch {
			case key == "min":
				t.min = int16(n)
			case key == "max":
				t.max = int16(n)
			case key == "tag" && value == "":
				t.id = unnumbered
			case key == "tag":
				t.id = n
			}
		}
		tags = append(tags, t)
	}
	return tags
}

func flexible(t reflect.Type, version int16) bool {
	for i := range t.NumField() {
		for _, tag := range tagsOf(t.Field(i)) {
			if tag.id != untagged && version >= tag.min {
				return true
			}
		}
	}
	return false
}

// describer makes the steps of one version.
type describer struct {
	version  int16
	flexible bool
}

func (d describer) structure(t reflect.Type) step {
	var fields []step
	tagged := map[uint64]step{}
	for i := range t.NumField() {
		f := t.Field(i)
		for _, tag := range tagsOf(f) {
			switch {
			case d.version < tag.min || d.version > tag.max || tag.id == unnumbered:
				continue
			case tag.id == untagged:
				fields = append(fields, d.field(t, f))
			default:
				tagged[uint64(tag.id)] = d.field(t, f)
			}
			break
		}
	}
	s := step{min: sum(fields), walk: func(w *walker) {
		for _, f := range fields {
			f.walk(w)
		}
	}}
	if d.flexible {
		plain := s.walk
		s.walk, s.min = func(w *walker) { plain(w); w.tags(tagged) }, s.min+1
	}
	return s
}

func sum(steps []step) (n int) {
	for _, s := range steps {
		n += s.min
	}
	return n
}

// field knows the two fields whose bytes the library decodes by other means.
func (d describer) field(t reflect.Type, f reflect.StructField) step {
	s := d.value(f.Type)
	switch {
	case t == reflect.TypeFor[syncgroup.Response]() && f.Name == "Assignments":
		s.walk = func(w *walker) { w.inner(w.bytes(), assignment) }
	case t == reflect.TypeFor[joingroup.ResponseMember]() && f.Name == "Metadata":
		s.walk = func(w *walker) { w.inner(w.bytes(), subscription) }
	}
	return s
}

func (d describer) value(t reflect.Type) step {
	if t == reflect.TypeFor[protocol.RecordSet]() {
		return step{(*walker).recordSet, 4}
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int8:
		return skip(1)
	case reflect.Int16:
		return skip(2)
	case reflect.Int32:
		return skip(4)
	case reflect.Int64, reflect.Float64:
		return skip(8)
	case reflect.String:
		return step{func(w *walker) { w.string() }, 1}
	case reflect.Struct:
		return d.structure(t)
	}
	if t.Elem().Kind() == reflect.Uint8 {
		return step{func(w *walker) { w.bytes() }, 1}
	}
	each := d.value(t.Elem())
	return step{func(w *walker) { w.array(each) }, 1}
}

func skip(n int) step { return step{func(w *walker) { w.next(n) }, n} }
