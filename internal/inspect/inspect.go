// Package inspect finds out what is in a file of posts: its fields, the platform whose export it is, and a mapping to
// start from. `refrain inspect` shows it.
package inspect

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"refrain/feed"
	"refrain/ingest/file"
	"refrain/ingest/mapping"
)

// Records is how many records of a file are looked at.
const Records = 1000

// Report is what was found.
type Report struct {
	file.Sample
	Fields    []Field // in the order in which they came
	Preset    string  // whose signs are there; "": no preset's
	RecordsAt string  // where the records seem to be, within objects; "": they are what was read
	Map       string  // of names that look like ours; "": none is needed, or none was found
	Missing   []string
}

// Field is one field of the records.
type Field struct {
	Path    string // with dots
	Kind    string // string, number, boolean, array or object
	Count   int    // records that have it
	Example string
	length  int // of all strings
}

// File looks into a file. Of stdin nothing is left for who reads on, so a caller hands in what can be read again.
func File(ctx context.Context, open func() file.Config) (*Report, error) {
	sample, err := file.ReadSample(ctx, open(), Records)
	if err != nil {
		return nil, err
	}
	r := &Report{Sample: sample, Fields: fieldsOf(sample.Records)}
	for _, preset := range mapping.Presets {
		if fits(ctx, &preset, sample, r.Fields, open) {
			r.Preset = preset.Name
			return r, nil
		}
	}
	if at := arrayIn(sample); at != "" && open().RecordsAt == "" {
		inner, err := file.ReadSample(ctx, within(open(), at), Records)
		if err == nil && len(inner.Records) > 0 {
			r.Sample, r.Fields, r.RecordsAt = inner, fieldsOf(inner.Records), at
			r.Format = "json"
		}
	}
	r.guess()
	return r, nil
}

func within(cfg file.Config, at string) file.Config {
	cfg.RecordsAt = at
	return cfg
}

// fits reports whether the records have all the signs of a preset.
func fits(ctx context.Context, p *mapping.Preset, s file.Sample, fields []Field, open func() file.Config) bool {
	if p.Name == "rss" {
		return s.Format == "xml"
	}
	if s.Format == "csv" || s.Format == "text" || s.Format == "xml" {
		return false
	}
	if p.Records != "" {
		inner, err := file.ReadSample(ctx, within(open(), p.Records), Records)
		if err != nil {
			return false
		}
		fields = fieldsOf(inner.Records)
	}
	return len(fields) > 0 && !slices.ContainsFunc(p.Signs, func(sign string) bool {
		return !slices.ContainsFunc(fields, func(f Field) bool { return f.Path == sign })
	})
}

// fieldsOf lists what the records have.
func fieldsOf(records [][]byte) (fields []Field) {
	index := map[string]int{}
	for _, record := range records {
		walk(record, "", func(path string, value jsontext.Value) {
			i, ok := index[path]
			if !ok {
				i = len(fields)
				index[path] = i
				fields = append(fields, Field{Path: path, Kind: kindOf(value)})
			}
			f := &fields[i]
			f.Count++
			f.length += len(value)
			if f.Example == "" || f.Example == `""` {
				f.Example = string(value)
			}
		})
	}
	return fields
}

// maxDepth is how deep objects are gone into: no platform hides the text of a post deeper.
const maxDepth = 4

// walk visits the values of an object that are no objects themselves, null left out. Of an object that is cut it visits
// what is there.
func walk(object []byte, prefix string, visit func(path string, value jsontext.Value)) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() == '}' {
			return
		}
		path := prefix + name.String()
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		switch {
		case value.Kind() == 'n':
		case value.Kind() == '{' && strings.Count(path, ".") < maxDepth:
			walk(value.Clone(), path+".", visit)
		default:
			visit(path, value)
		}
	}
}

func kindOf(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	return "boolean"
}

// arrayIn is where the records are if each of what was read holds many: the path of the array with the most objects.
func arrayIn(s file.Sample) string {
	if s.Format != "json" && s.Format != "jsonl" || len(s.Records) == 0 || len(s.Records) > 100 {
		return ""
	}
	best, most := "", 1
	walk(s.Records[0], "", func(path string, value jsontext.Value) {
		var elements []jsontext.Value
		if value.Kind() != '[' || json.Unmarshal(value, &elements) != nil || len(elements) <= most || elements[0].Kind() != '{' {
			return
		}
		best, most = path, len(elements)
	})
	if slices.ContainsFunc(fieldsOf(s.Records), func(f Field) bool { return slices.Contains(names[feed.FieldText], f.Path) }) {
		return "" // they are posts, with arrays in them
	}
	return best
}

// names are what feeds call our fields, the likeliest first.
var names = map[feed.Field][]string{
	feed.FieldID: {
		"id", "id_str", "tweet_id", "tweetid", "post_id", "status_id", "comment_id", "message_id", "uri", "guid", "_id", "url",
		"link", "permalink", "key",
	},
	feed.FieldText: {
		"text", "full_text", "content", "body", "message", "tweet_text", "tweet", "tweet text", "post", "comment", "selftext", "caption",
		"description", "title",
	},
	feed.FieldAuthor: {
		"author", "username", "user_name", "screen_name", "user_screen_name", "user.screen_name", "user.username", "user.name",
		"author.name", "author.username", "account", "handle", "from", "user", "author_id", "user_id", "userid", "name",
	},
	feed.FieldCreatedAt: {
		"created_at", "created", "date", "created_utc", "published", "published_at", "publish_date", "timestamp", "time", "datetime",
		"createdat", "tweet_time", "post_date", "posted_at",
	},
	feed.FieldLang: {"lang", "language"},
}

// guess makes a map of names that look like ours.
func (r *Report) guess() {
	var pairs []string
	for _, f := range []feed.Field{feed.FieldID, feed.FieldText, feed.FieldAuthor, feed.FieldCreatedAt, feed.FieldLang} {
		found := r.called(names[f])
		if found == "" && f == feed.FieldText {
			found = r.longest()
		}
		switch found {
		case "":
			r.Missing = append(r.Missing, f.String())
		case f.String():
		default:
			pairs = append(pairs, f.String()+"="+feed.QuotePath(found))
		}
	}
	r.Map = strings.Join(pairs, ",")
}

func (r *Report) called(names []string) string {
	for _, name := range names {
		for _, f := range r.Fields {
			if strings.EqualFold(f.Path, name) && f.Kind != "array" && f.Kind != "object" && f.Kind != "boolean" {
				return f.Path
			}
		}
	}
	return ""
}

// longest is the field of strings that has the longest ones.
func (r *Report) longest() string {
	var all []Field
	for _, f := range r.Fields {
		if f.Kind == "string" && f.length > 20*f.Count {
			all = append(all, f)
		}
	}
	if all == nil {
		return ""
	}
	return slices.MaxFunc(all, func(a, b Field) int { return cmp.Compare(a.length, b.length) }).Path
}

// Short cuts an example so that a line holds it.
func Short(s string, size int) string {
	if utf8.RuneCountInString(s) <= size {
		return s
	}
	return string([]rune(s)[:size-1]) + "…"
}
