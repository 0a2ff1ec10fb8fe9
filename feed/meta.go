package feed

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What of a post goes along into its events, at most.
const (
	MaxMetaFields = 32   // fields
	MaxMeta       = 1024 // bytes of Meta
	MaxLink       = 1024 // bytes of Link
)

// metaField is a field that the source passes on in Meta.
type metaField struct {
	path   string
	quoted []byte // as JSON, with the colon behind it
}

// WithMeta is f with fields that Refrain does not know but passes on in Meta, under the names given: paths as in a field
// map. The first of them come first where Meta has no room for all. It has no link: WithLink comes after it.
func (f *Fields) WithMeta(paths []string) (*Fields, error) {
	extended := f.copy()
	extended.meta, extended.link = nil, linkTemplate{}
	if err := extended.plant(); err != nil {
		return nil, err
	}
	if len(paths) > MaxMetaFields {
		return nil, fmt.Errorf("%d fields, and the limit is %d", len(paths), MaxMetaFields)
	}
	for _, path := range paths {
		if err := extended.addMeta(strings.TrimSpace(path)); err != nil {
			return nil, err
		}
	}
	return extended, nil
}

func (f *Fields) addMeta(path string) error {
	switch {
	case path == "" || slices.Contains(strings.Split(path, "."), ""):
		return fmt.Errorf("%q: want the name of a field, or a path as user.followers", path)
	case !utf8.ValidString(path) || len(path) > 100:
		return fmt.Errorf("%.100q: want a name of at most 100 bytes of UTF-8", path)
	case f.indexOf(path) >= 0:
		return fmt.Errorf("%s is given twice", path)
	}
	if field, ok := f.Find(path); ok {
		return fmt.Errorf("%s is the post's %s, which events have anyway", path, field)
	}
	quoted, _ := jsontext.AppendQuote(nil, path)
	f.meta = append(f.meta, metaField{path, append(quoted, ':')})
	return f.root.addPath(member{metaIndex: len(f.meta)}, strings.Split(path, "."))
}

func (f *Fields) indexOf(path string) int {
	return slices.IndexFunc(f.meta, func(k metaField) bool { return k.path == path })
}

// JoinNotes puts notes on a post together; empty ones are none.
func JoinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

// MetaIndex returns the index, among the Meta fields, of the one that the feed calls path.
func (f *Fields) MetaIndex(path string) (i int, ok bool) {
	i = f.orOwn().indexOf(path)
	return i, i >= 0
}

// MetaCount is how many Meta fields there are.
func (f *Fields) MetaCount() int { return len(f.orOwn().meta) }

// Meta makes the Meta of a post of the JSON values of the Meta fields, nil where the post lacks one. What does
// not fit MaxMeta is left out, and the notes say so.
func (f *Fields) Meta(values [][]byte) (meta []byte, notes []string) {
	for i, value := range values {
		k := &f.meta[i]
		if value == nil {
			continue
		}
		value, replaced := compact(value)
		if len(meta)+len(k.quoted)+len(value)+2 > MaxMeta {
			notes = append(notes, fmt.Sprintf("meta: %s left out: with its %d bytes meta had more than %d", k.path,
				len(value), MaxMeta))
			continue
		}
		if replaced {
			notes = append(notes, fmt.Sprintf("meta: %s: invalid Unicode replaced by U+FFFD", k.path))
		}
		meta = append(append(append(meta, ','), k.quoted...), value...)
	}
	if meta == nil {
		return nil, notes
	}
	meta[0] = '{'
	return append(meta, '}'), notes
}

// compact writes a JSON value without white space, since events stand in one line, and without what is no Unicode.
func compact(value []byte) (out []byte, replaced bool) {
	plain := value[0] != '{' && value[0] != '[' && bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value)
	if plain {
		return value, false
	}
	replaced = !jsontext.Value(value).IsValid()
	out, err := jsontext.AppendFormat(nil, value, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(errors.New("feed: a value that was read is no JSON: " + err.Error()))
	}
	return out, replaced
}

// checkMeta refuses a Meta that would not be one in an event.
func checkMeta(meta string) error {
	switch {
	case meta == "":
		return nil
	case len(meta) > MaxMeta:
		return fmt.Errorf("%d bytes, and the limit is %d", len(meta), MaxMeta)
	case meta[0] != '{' || strings.ContainsAny(meta, "\r\n") || !jsontext.Value(meta).IsValid():
		return errors.New("want a JSON object in one line")
	}
	return nil
}
