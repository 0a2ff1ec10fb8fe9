package json

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/buger/jsonparser"
	"github.com/bytedance/sonic"
	jsonv2 "github.com/go-json-experiment/json"
	gojson "github.com/goccy/go-json"
	"github.com/klauspost/compress/zstd"
	"github.com/minio/simdjson-go"
	"github.com/valyala/fastjson"

	"refrain/feed"
)

// decoder decodes one line, as a program that reuses what the library lets it reuse.
type decoder struct {
	name   string
	decode func(line []byte) (post, error)
}

func decoders() []decoder {
	quick := feed.NewPostDecoder(nil)
	var parser fastjson.Parser
	var tape simdjson.ParsedJson
	return []decoder{
		{"refrain", func(line []byte) (post, error) {
			var p feed.Post
			_, err := quick.Decode(&p, line)
			return post{ID: p.ID, Source: p.Source, Author: p.Author, Lang: p.Lang, Text: p.Text}, err
		}},
		{"encoding/json", unmarshal(json.Unmarshal)},
		{"go-json-experiment/json (v2)", unmarshal(func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) })},
		{"goccy/go-json", unmarshal(func(b []byte, v any) error { return gojson.Unmarshal(b, v) })},
		{"bytedance/sonic", unmarshal(sonic.ConfigDefault.Unmarshal)},
		{"bytedance/sonic, ConfigStd", unmarshal(sonic.ConfigStd.Unmarshal)},
		{"mailru/easyjson", func(line []byte) (p post, err error) {
			err = p.UnmarshalJSON(line)
			return p, err
		}},
		{"valyala/fastjson", func(line []byte) (p post, err error) {
			v, err := parser.ParseBytes(line)
			if err != nil {
				return p, err
			}
			get := func(key string) string { return string(v.GetStringBytes(key)) }
			return post{get("id"), get("source"), get("author"), get("created_at"), get("lang"), get("text")}, nil
		}},
		{"buger/jsonparser", jsonparserDecode},
		{"minio/simdjson-go", func(line []byte) (p post, err error) {
			t, err := simdjson.Parse(line, &tape)
			if err != nil {
				return p, err
			}
			tape = *t
			return fromTape(t)
		}},
	}
}

func unmarshal(f func([]byte, any) error) func([]byte) (post, error) {
	return func(line []byte) (p post, err error) {
		err = f(line, &p)
		return p, err
	}
}

var paths = [][]string{{"id"}, {"source"}, {"author"}, {"created_at"}, {"lang"}, {"text"}}

func jsonparserDecode(line []byte) (p post, err error) {
	fields := [...]*string{&p.ID, &p.Source, &p.Author, &p.CreatedAt, &p.Lang, &p.Text}
	jsonparser.EachKey(line, func(i int, value []byte, _ jsonparser.ValueType, e error) {
		if e == nil {
			*fields[i], e = jsonparser.ParseString(value)
		}
		if e != nil {
			err = e
		}
	}, paths...)
	return p, err
}

func fromTape(t *simdjson.ParsedJson) (p post, err error) {
	it := t.Iter()
	it.Advance()
	_, root, err := it.Root(nil)
	if err != nil {
		return p, err
	}
	o, err := root.Object(nil)
	if err != nil {
		return p, err
	}
	fields := map[string]*string{"id": &p.ID, "source": &p.Source, "author": &p.Author, "created_at": &p.CreatedAt,
		"lang": &p.Lang, "text": &p.Text}
	var value simdjson.Iter
	for {
		name, kind, err := o.NextElementBytes(&value)
		if err != nil || kind == simdjson.TypeNone {
			return p, err
		}
		if f := fields[string(name)]; f != nil && kind == simdjson.TypeString {
			if *f, err = value.String(); err != nil {
				return p, err
			}
		}
	}
}

// lines are 20,000 lines from all over a file of posts.
func lines(tb testing.TB) [][]byte {
	f, err := os.Open(os.Getenv("REFRAIN_DATA") + "/stream/ira_2012-02_2016-08.jsonl.zst")
	if err != nil {
		tb.Skip(err)
	}
	defer f.Close()
	r, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	var all [][]byte
	for s, n := bufio.NewScanner(r), 0; s.Scan(); n++ {
		if n%55 == 0 {
			all = append(all, append([]byte(nil), s.Bytes()...))
		}
	}
	return all
}

func BenchmarkDecode(b *testing.B) {
	all := lines(b)
	for _, d := range decoders() {
		b.Run(d.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := d.decode(all[i%len(all)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

// TestSame: all decode real lines alike, but for the time, which ours reads.
func TestSame(t *testing.T) {
	all := lines(t)
	ds := decoders()
	for _, line := range all {
		want, _ := ds[0].decode(line)
		for _, d := range ds[1:] {
			got, err := d.decode(line)
			got.CreatedAt = ""
			if err != nil || got != want {
				t.Fatalf("%s: %+v, %v; want %+v", d.name, got, err, want)
			}
		}
	}
}

// TestStrict shows what each library takes that a feed of posts must not take in silence.
func TestStrict(t *testing.T) {
	mistakes := []struct{ what, line string }{
		{"a name given twice", `{"id":"1","text":"a","id":"2"}`},
		{"invalid UTF-8 in an id", "{\"id\":\"\xff\",\"text\":\"a\"}"},
		{"half a surrogate pair in an id", `{"id":"\ud800","text":"a"}`},
		{"a control character in a string", "{\"id\":\"1\",\"text\":\"a\x01\"}"},
		{"more after the object", `{"id":"1","text":"a"} x`},
		{"a comma too many", `{"id":"1","text":"a",}`},
		{"a number with a leading zero", `{"id":"1","n":01,"text":"a"}`},
		{"names in another case", `{"ID":"1","id":"2","text":"a"}`},
	}
	for _, d := range decoders() {
		taken := ""
		for _, m := range mistakes {
			if p, err := d.decode([]byte(m.line)); err == nil && (m.what != "names in another case" || p.ID != "2") {
				taken += fmt.Sprintf(" %s;", m.what)
			}
		}
		t.Logf("%-30s takes:%s", d.name, taken)
	}
}
