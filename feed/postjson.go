package feed

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/zeebo/xxh3"
)

// MaxDepth is how deep the objects and arrays of a post may nest.
const MaxDepth = 100

// DecodePost reads one post from JSON:
//
//	{"id":"1","source":"x","author":"a","created_at":"2018-10-10T20:19:24Z","lang":"en","text":"..."}
//
// Only id and text are required; null stands for absent. A number as id or author keeps its literal. Fields
// maps our names to the feed's, nil for our own. Of what Refrain does not know, the fields of WithMeta go to
// Meta; nothing else of it is looked at, as long as it is JSON. Source and link are left to Fields.Finish.
//
// The note says what was changed ("text: invalid UTF-8 replaced by U+FFFD") and is empty if nothing was. The
// error says which field is wrong and why; malformed JSON, a name given twice, and anything after the object
// are errors too. With an error the post holds nothing but its id, if that came before.
//
// A byte order mark before the object is passed over. DecodePost keeps nothing of line, and is safe for concurrent use.
func DecodePost(line []byte, fields *Fields) (p Post, note string, err error) {
	d := postDecoders.Get().(*PostDecoder)
	d.fields = fields.orOwn()
	note, err = d.Decode(&p, line)
	d.release()
	return p, note, err
}

var postDecoders = sync.Pool{New: func() any { return new(PostDecoder) }}

// PostDecoder reads posts from JSON, one after the other, by the rules of DecodePost. It is for one goroutine.
//
// There are two ways through it: quick for the usual line, decode for all others.
type PostDecoder struct {
	fields *Fields
	blocks *blocks // where the strings of the posts go; nil: each has memory of its own

	json       jsontext.Decoder
	in         bytes.Buffer
	line       []byte
	scratch    []byte   // an unquoted string
	values     []byte   // room for slots and metaValues
	slots      [][]byte // the values that fields are made of, as JSON; nil: not there
	metaValues [][]byte // those of the Meta fields
	given      [fieldCount]bool
	converted  bool // a part of the text
	notes      []string
	names      [2048]string // authors, languages and sources seen lately, by hash

	seen       [fieldCount]bool // in quick: also those that are null
	otherNames [8][]byte        // in quick: members that are no field
	others     int
}

// NewPostDecoder returns a decoder of posts whose strings share blocks of memory: what is kept of a post for long is
// to be cloned, or it keeps its neighbours too.
func NewPostDecoder(fields *Fields) *PostDecoder {
	return &PostDecoder{fields: fields.orOwn(), blocks: new(blocks)}
}

// Decode reads the post of a line into p; see DecodePost.
func (d *PostDecoder) Decode(p *Post, line []byte) (note string, err error) {
	line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	*p = Post{}
	d.reset(line)
	if d.quick(p) {
		return strings.Join(d.notes, "; "), nil
	}
	*p = Post{}
	d.reset(line)
	if err := d.decode(p, d.fields.root); err != nil {
		*p = Post{ID: p.ID}
		return "", err
	}
	return strings.Join(d.notes, "; "), nil
}

// postOptions leave the judgement of what is no Unicode to us: it depends on the field.
var postOptions = []jsontext.Options{jsontext.AllowInvalidUTF8(true)}

func (d *PostDecoder) reset(line []byte) {
	d.line = line
	d.values, d.notes, d.given, d.converted = d.values[:0], nil, [fieldCount]bool{}, false
	d.slots, d.metaValues = none(d.slots, len(d.fields.slots)), none(d.metaValues, len(d.fields.meta))
	d.seen, d.others = [fieldCount]bool{}, 0
}

// none is n values, none of which is there; it takes the room of old ones.
func none(values [][]byte, n int) [][]byte {
	clear(values)
	return slices.Grow(values[:0], n)[:n]
}

// release gives d back, without what it borrowed and without buffers that one long post has blown up.
func (d *PostDecoder) release() {
	d.line, d.in, d.notes, d.otherNames = nil, bytes.Buffer{}, nil, [len(d.otherNames)][]byte{}
	if cap(d.scratch)+cap(d.values) > 256<<10 {
		d.scratch, d.values, d.slots, d.metaValues = nil, nil, nil, nil
	}
	postDecoders.Put(d)
}

// decode reads any line, slowly: it has a rule, and words, for every mistake.
func (d *PostDecoder) decode(p *Post, root node) error {
	d.in = *bytes.NewBuffer(d.line) // of a bytes.Buffer the decoder reads in place
	d.json.Reset(&d.in, postOptions...)
	if isUTF16(d.line) {
		return errors.New("in UTF-16: want UTF-8; of a file say --encoding utf-16")
	}
	if line := bytes.TrimLeft(d.line, " \t\r\n"); len(line) > 0 && line[0] != '{' {
		return fmt.Errorf("want a JSON object, got %s", quoteShort(string(line[:min(len(line), 64)])))
	}
	err := d.object(p, root, "")
	if err != nil {
		return err
	}
	rest := bytes.TrimLeft(d.line[d.json.InputOffset():], " \t\r\n")
	if len(rest) > 0 {
		return fmt.Errorf("%s after the end of the JSON object", quoteShort(string(rest[:min(len(rest), 64)])))
	}
	if err := d.combine(p); err != nil {
		return err
	}
	d.makeMeta(p)
	return p.Complete(d.given[FieldText])
}

// isUTF16 reports whether a line looks like JSON in UTF-16: a mark, or a brace of two bytes.
func isUTF16(line []byte) bool {
	for _, begin := range []string{"\xFF\xFE", "\xFE\xFF", "{\x00", "\x00{"} {
		if bytes.HasPrefix(line, []byte(begin)) {
			return true
		}
	}
	return false
}

// object reads one object: the post itself, or one on the path to a field, which is prefix then.
func (d *PostDecoder) object(p *Post, names node, prefix string) error {
	_, err := d.json.ReadToken()
	for err == nil && d.json.PeekKind() != '}' {
		err = d.member(p, names, prefix)
	}
	if err == nil {
		_, err = d.json.ReadToken()
	}
	return plainError(err)
}

func (d *PostDecoder) member(p *Post, names node, prefix string) error {
	quoted, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	m := names.find(d.name(quoted))
	if m != nil && m.isField() {
		value, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return d.field(p, m.field, value)
	}
	var value []byte
	if m != nil && m.children != nil {
		value, err = d.inner(p, m, prefix)
	} else {
		value, err = d.json.ReadValue()
	}
	if err != nil {
		return err
	}
	if depth := depthOf(value); prefix == "" && depth+1 > MaxDepth {
		return fmt.Errorf("%s: nested %d deep, and the limit is %d", d.name(quoted), depth+1, MaxDepth)
	}
	if m != nil {
		d.setValue(m, value)
	}
	return nil
}

// name is the name of a member without its quotes.
func (d *PostDecoder) name(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	d.scratch, _ = jsontext.AppendUnquote(d.scratch[:0], quoted)
	return d.scratch
}

// inner reads an object on the path to a field, and returns its bytes.
func (d *PostDecoder) inner(p *Post, m *member, prefix string) ([]byte, error) {
	path := prefix + m.name
	switch kind := d.json.PeekKind(); kind {
	case '{':
		start := bytes.IndexByte(d.line[d.json.InputOffset():], '{') + int(d.json.InputOffset())
		err := d.object(p, m.children, path+".")
		return d.line[start:d.json.InputOffset()], err
	case 'n', jsontext.KindInvalid:
		return d.json.ReadValue()
	default:
		if !m.hasField() {
			return d.json.ReadValue()
		}
		return nil, fmt.Errorf("%s: want an object, got %s", path, kindName(kind))
	}
}

// field gives p the value of a field.
func (d *PostDecoder) field(p *Post, f Field, value jsontext.Value) error {
	if d.given[f] {
		return fmt.Errorf("%s: given twice", f)
	}
	text, there, err := d.text(f, value)
	if err != nil || !there {
		return err
	}
	d.given[f] = true
	return d.store(p, f, text)
}

// text is the text that a JSON value is in a field, valid until the next call; there is none of a null.
func (d *PostDecoder) text(f Field, value jsontext.Value) (text []byte, there bool, err error) {
	switch kind := value.Kind(); {
	case kind == 'n':
		return nil, false, nil
	case kind == '0' && (f == FieldID || f == FieldAuthor || f == FieldCreatedAt):
		return value, true, nil
	case kind == '[' && f == FieldLang:
		return d.first(f, value)
	case kind == '[' && f == FieldText:
		return d.pieces(value)
	case kind != '"':
		return nil, false, fmt.Errorf("%s: want %s, got %s", f, wantedKind(f), kindName(kind))
	case bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value):
		return value[1 : len(value)-1], true, nil
	}
	d.scratch, err = jsontext.AppendUnquote(d.scratch[:0], value)
	if err != nil && (f == FieldID || f == FieldSource) {
		return nil, false, errNotUnicode(f)
	}
	if err != nil {
		d.notes = append(d.notes, noteReplaced(f, whatIsReplaced(value)))
	}
	return d.scratch, true, nil
}

// first is the first element of an array, which is no array itself: a post in two languages counts as one in the first.
func (d *PostDecoder) first(f Field, array jsontext.Value) ([]byte, bool, error) {
	elements := jsontext.NewDecoder(bytes.NewReader(array), postOptions...)
	if _, err := elements.ReadToken(); err != nil || elements.PeekKind() == ']' {
		return nil, false, err
	}
	value, err := elements.ReadValue()
	switch {
	case err != nil:
		return nil, false, err
	case value.Kind() == '[':
		return nil, false, fmt.Errorf("%s: want %s, got an array within an array", f, wantedKind(f))
	}
	return d.text(f, value)
}

// pieces is a text that stands in an array of strings and of objects that have the text of a link, a mention and so on.
func (d *PostDecoder) pieces(array jsontext.Value) (text []byte, there bool, err error) {
	var pieces []jsontext.Value
	if err := json.Unmarshal(array, &pieces, postOptions...); err != nil {
		return nil, false, plainError(err)
	}
	for _, piece := range pieces {
		if piece.Kind() == '{' {
			var object struct {
				Text jsontext.Value `json:"text"`
			}
			if err := json.Unmarshal(piece, &object, postOptions...); err != nil {
				return nil, false, plainError(err)
			}
			piece = object.Text
		}
		if piece.Kind() != '"' {
			return nil, false, errPieces
		}
		one, _, err := d.text(FieldText, piece)
		if err != nil {
			return nil, false, err
		}
		text = append(text, one...)
	}
	return text, true, nil
}

var errPieces = errors.New("text: want a string, or an array of strings and of objects with a text, got another array")

// combine gives p the fields that are made of several values, if it is a post at all.
func (d *PostDecoder) combine(p *Post) error {
	if len(d.fields.only) > 0 {
		if err := d.fields.check(d.slotText); err != nil {
			return err
		}
	}
	for i := range d.fields.combined {
		c := &d.fields.combined[i]
		value, there, err := c.value(d.slotText)
		if err == nil && there {
			d.given[c.field] = true
			if c.field == FieldID {
				value = d.fields.idPrefix + value
			}
			err = d.store(p, c.field, []byte(value))
			p.Converted = p.Converted || c.field == FieldText && d.converted
		}
		if err != nil {
			return err
		}
	}
	if d.fields.reposted == nil {
		return nil
	}
	err := d.fields.whole(p, d.slotText)
	p.Converted = p.Converted || d.converted
	return err
}

func (d *PostDecoder) slotText(f Field, slot int) (string, bool, error) {
	if d.slots[slot] == nil {
		return "", false, nil
	}
	value, there, err := d.text(f, d.slots[slot])
	text := string(value)
	if f == FieldText && d.fields.html {
		var converted bool
		text, converted = plainText(text)
		d.converted = d.converted || converted
	}
	if f == FieldText && slices.Contains(d.fields.absent, text) {
		text = ""
	}
	return text, there, err
}

// store sets a field to bytes that are valid UTF-8.
func (d *PostDecoder) store(p *Post, f Field, value []byte) error {
	if f == FieldCreatedAt && d.fields.times.layout == "" {
		t, ok := parseUTC(string(value)) // nearly always, and without a copy on the heap
		if ok {
			p.Time, p.Timed = t, true
			return nil
		}
	}
	var s string
	switch f {
	case FieldAuthor, FieldLang, FieldSource:
		s = d.intern(value)
	default:
		s = d.blocks.string(value)
	}
	if err := d.fields.set(p, f, s); err != nil {
		return fmt.Errorf("%s: %w", f, err)
	}
	return nil
}

// intern returns value as a string, the same one as last time where it can: a feed has few languages, and its
// authors come back.
func (d *PostDecoder) intern(value []byte) string {
	if len(value) > 64 {
		return string(value)
	}
	slot := &d.names[xxh3.Hash(value)%uint64(len(d.names))]
	if *slot != string(value) {
		*slot = string(value)
	}
	return *slot
}

// setValue stores the value of a member that goes to a slot or to Meta. Of two, one by its path and one by its name, the
// first counts.
func (d *PostDecoder) setValue(m *member, value []byte) {
	if value[0] == 'n' {
		return
	}
	begin := len(d.values)
	d.values = append(d.values, value...)
	kept := d.values[begin:len(d.values):len(d.values)]
	if m.slot > 0 && d.slots[m.slot-1] == nil {
		d.slots[m.slot-1] = kept
	}
	if m.metaIndex > 0 && d.metaValues[m.metaIndex-1] == nil {
		d.metaValues[m.metaIndex-1] = kept
	}
}

// makeMeta makes Meta of the values that setValue stored.
func (d *PostDecoder) makeMeta(p *Post) {
	if len(d.metaValues) == 0 {
		return
	}
	meta, notes := d.fields.Meta(d.metaValues)
	p.Meta = d.blocks.string(meta)
	d.notes = append(d.notes, notes...)
}

// depthOf counts how deep a well-formed JSON value nests; 0 for a string or number.
func depthOf(value []byte) int {
	if value[0] != '{' && value[0] != '[' {
		return 0
	}
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}
