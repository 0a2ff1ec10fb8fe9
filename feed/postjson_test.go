package feed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestDecodePost(t *testing.T) {
	noon := Time(1539202764000)
	tests := []struct {
		name, line, fields, keep string
		want                     Post
		note                     string
	}{
		{name: "all fields",
			line: `{"id":"1","source":"x","author":"a","created_at":"2018-10-10T20:19:24Z","lang":"en","text":"Hello"}`,
			want: Post{ID: "1", Source: "x", Author: "a", Lang: "en", Text: "Hello", Time: noon, Timed: true}},
		{name: "only what is required", line: ` {"text":"Hello","id":"1"} ` + "\r\n",
			want: Post{ID: "1", Text: "Hello"}},
		{name: "null is absent",
			line: `{"id":"1","source":null,"author":null,"created_at":null,"lang":null,"text":"Hello"}`,
			want: Post{ID: "1", Text: "Hello"}},
		{name: "an empty date is absent", line: `{"id":"1","text":"Hello","created_at":""}`,
			want: Post{ID: "1", Text: "Hello"}},
		{name: "byte order mark", line: "\ufeff" + `{"id":"1","text":"Hello"}`, want: Post{ID: "1", Text: "Hello"}},
		{name: "numbers keep their literal", line: `{"id":12345678901234567890123.50,"author":1e3,"text":"Hello"}`,
			want: Post{ID: "12345678901234567890123.50", Author: "1e3", Text: "Hello"}},
		{name: "date in seconds", line: `{"id":"1","text":"Hello","created_at":1539202764}`,
			want: Post{ID: "1", Text: "Hello", Time: noon, Timed: true}},
		{name: "date in 1970", line: `{"id":"1","text":"Hello","created_at":"1970-01-01T00:00:00Z"}`,
			want: Post{ID: "1", Text: "Hello", Timed: true}},
		{name: "unknown fields", line: `{"id":"1","kind":"post","n": [1, {"a":null}],"text":"Hello","\u006b2":1.0}`,
			want: Post{ID: "1", Text: "Hello"}},
		{name: "fields that are kept, in the order asked for", keep: "n,k2,kind,none",
			line: `{"id":"1","kind":"post","n": [1, {"a":null}],"text":"Hello","other":1,"\u006b2":1.0}`,
			want: Post{ID: "1", Text: "Hello", Meta: `{"n":[1,{"a":null}],"k2":1.0,"kind":"post"}`}},
		{name: "kept, and quick", keep: "followers,url,ok",
			line: `{"id":"1","url": "https://x/\u0061","text":"a","followers":12,"ok":true}`,
			want: Post{ID: "1", Text: "a", Meta: `{"followers":12,"url":"https://x/a","ok":true}`}},
		{name: "null is not kept", keep: "k", line: `{"id":"1","text":"a","k":null}`, want: Post{ID: "1", Text: "a"}},
		{name: "kept by a path", keep: "user.followers,user.none.at.all", fields: "author=user.name",
			line: `{"id":"1","text":"a","user":{"name":"ann","followers":3,"x":[{}]}}`,
			want: Post{ID: "1", Text: "a", Author: "ann", Meta: `{"user.followers":3}`}},
		{name: "kept by a dotted name", keep: "user.followers",
			line: `{"id":"1","text":"a","user.followers":3,"user":{"followers":4}}`,
			want: Post{ID: "1", Text: "a", Meta: `{"user.followers":3}`}},
		{name: "no object on the path to what is kept", keep: "user.followers", line: `{"id":"1","text":"a","user":"ann"}`,
			want: Post{ID: "1", Text: "a"}},
		{name: "an object and a part of it", keep: "user,user.followers",
			line: `{"id":"1","text":"a","user":{"followers":3,"b":[1, 2]}}`,
			want: Post{ID: "1", Text: "a", Meta: `{"user":{"followers":3,"b":[1,2]},"user.followers":3}`}},
		{name: "a part and its object", keep: "user.followers,user", line: `{"id":"1","text":"a","user":{"followers":3}}`,
			want: Post{ID: "1", Text: "a", Meta: `{"user.followers":3,"user":{"followers":3}}`}},
		{name: "meta stands in one line", keep: "k", line: `{"id":"1","text":"a","k":{"a" :` + "\n\t" + `[ 1 , "x\ny" ] }}`,
			want: Post{ID: "1", Text: "a", Meta: `{"k":{"a":[1,"x\ny"]}}`}},
		{name: "meta as long as allowed", keep: "k,l", line: `{"id":"1","text":"a","k":"` + strings.Repeat("k", MaxMeta-8) + `"}`,
			want: Post{ID: "1", Text: "a", Meta: `{"k":"` + strings.Repeat("k", MaxMeta-8) + `"}`}},
		{name: "meta too long", keep: "k,l", line: `{"id":"1","text":"a","k":"` + strings.Repeat("k", MaxMeta-7) + `","l":1}`,
			want: Post{ID: "1", Text: "a", Meta: `{"l":1}`}, note: "meta: k left out: with its 1019 bytes meta had more than 1024"},
		{name: "no Unicode in what is kept", keep: "k", line: `{"id":"1","text":"a","k":["\ud800", "` + "\xff" + `"]}`,
			want: Post{ID: "1", Text: "a", Meta: `{"k":["` + "\uFFFD" + `","` + "\uFFFD" + `"]}`},
			note: "meta: k: invalid Unicode replaced by U+FFFD"},
		{name: "escapes", line: `{"\u0069d":"\u0031","text":"a\n\"\u4e2d\ud83d\ude00\/"}`,
			want: Post{ID: "1", Text: "a\n\"中😀/"}},
		{name: "NUL is kept", line: `{"id":"1","text":"a\u0000b"}`,
			want: Post{ID: "1", Text: "a\x00b"}},
		{name: "invalid UTF-8", line: "{\"id\":\"1\",\"text\":\"a\xffb\",\"author\":\"\xc3\"}",
			want: Post{ID: "1", Text: "a\uFFFDb", Author: "\uFFFD"},
			note: "text: invalid UTF-8 replaced by U+FFFD; author: invalid UTF-8 replaced by U+FFFD"},
		{name: "lone surrogate", line: `{"id":"1","text":"a\ud800b"}`,
			want: Post{ID: "1", Text: "a\uFFFDb"}, note: "text: lone surrogate replaced by U+FFFD"},
		{name: "invalid UTF-8 in unknown fields", line: "{\"id\":\"1\",\"text\":\"a\",\"k\":\"\xff\"}",
			want: Post{ID: "1", Text: "a"}},
		{name: "field map", fields: "text=body,id=uri,author=user.screen_name",
			line: `{"uri":"1","user":{"screen_name":"a","followers":3},"body":"Hello","id":9,"lang":"en"}`,
			want: Post{ID: "1", Author: "a", Lang: "en", Text: "Hello"}},
		{name: "null on the path", fields: "author=user.name", line: `{"id":"1","user":null,"text":"Hello"}`,
			want: Post{ID: "1", Text: "Hello"}},
		{name: "a dot in the name itself", fields: "author=user.name", line: `{"id":"1","user.name":"a","text":"Hello"}`,
			want: Post{ID: "1", Text: "Hello", Author: "a"}},
		{name: "nested as deep as allowed", line: `{"id":"1","text":"a","d":` + nested(MaxDepth-1) + `}`,
			want: Post{ID: "1", Text: "a"}},
		{name: "nested as deep as allowed, and kept", keep: "d", line: `{"id":"1","text":"a","d":` + nested(MaxDepth-1) + `}`,
			want: Post{ID: "1", Text: "a", Meta: `{"d":` + nested(MaxDepth-1) + `}`}},
		{name: "brackets in strings do not nest", line: `{"id":"1","text":"a","d":["` + strings.Repeat("[", 999) + `\""]}`,
			want: Post{ID: "1", Text: "a"}},
		{name: "text as long as allowed", line: `{"id":"1","text":"` + strings.Repeat("a", MaxText) + `"}`,
			want: Post{ID: "1", Text: strings.Repeat("a", MaxText)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, note, err := DecodePost([]byte(test.line), mustWithMeta(t, test.fields, test.keep))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("post (-want +got):\n%s", diff)
			}
			if note != test.note {
				t.Errorf("note %q, want %q", note, test.note)
			}
		})
	}
}

// TestCutAnywhere: a line that ends anywhere is an error, also where no byte of memory is behind it.
func TestCutAnywhere(t *testing.T) {
	const line = `{"id":"1","other":"\u00e4","n":[1,{"a":-1.5e3}],"lang":null,"text":"a\ud83d\ude00"}`
	fields := mustWithMeta(t, "text=title|text", "other,n")
	for n := range len(line) {
		for _, f := range []*Fields{nil, fields} {
			if p, _, err := DecodePost(slices.Clip([]byte(line[:n])), f); err == nil {
				t.Errorf("%s is %+v", line[:n], p)
			}
		}
	}
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func mustParseFields(tb testing.TB, spec string) *Fields {
	tb.Helper()
	if spec == "" {
		return nil
	}
	f, err := ParseFields(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func mustWithMeta(tb testing.TB, spec, keep string) *Fields {
	tb.Helper()
	f := mustParseFields(tb, spec)
	if keep == "" {
		return f
	}
	f, err := f.WithMeta(strings.Split(keep, ","))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// badPosts are lines that are no post, each with the reason in full.
var badPosts = []struct{ name, line, fields, reason string }{
	{name: "nothing", line: "", reason: "empty"},
	{name: "white space", line: " \t", reason: "empty"},
	{name: "no JSON", line: "hello", reason: `want a JSON object, got "hello"`},
	{name: "an array", line: `[{"id":"1","text":"a"}]`, reason: `want a JSON object, got "[{\"id\":\"1\",\"text\":\"a\"}]"`},
	{name: "cut", line: `{"id":"1","text":"a`, reason: "malformed JSON: it ends too soon, at byte 19"},
	{name: "no closing brace", line: `{"id":"1","text":"a"`, reason: "malformed JSON: it ends too soon, at byte 20"},
	{name: "single quotes", line: `{"id":"1","text":'a'}`,
		reason: `malformed JSON at byte 17: invalid character '\'' at start of value`},
	{name: "raw control character", line: "{\"id\":\"1\",\"text\":\"a\x00\"}",
		reason: `malformed JSON at byte 19: invalid character '\x00' in string (expecting non-control character)`},
	{name: "trailing garbage", line: `{"id":"1","text":"a"} x`, reason: `"x" after the end of the JSON object`},
	{name: "two posts in a line", line: `{"id":"1","text":"a"}{"id":"2","text":"b"}`,
		reason: `"{\"id\":\"2\",\"text\":\"b\"}" after the end of the JSON object`},
	{name: "no id", line: `{"text":"a"}`, reason: "id: missing or empty"},
	{name: "null id", line: `{"id":null,"text":"a"}`, reason: "id: missing or empty"},
	{name: "no text", line: `{"id":"1"}`, reason: "text: missing"},
	{name: "null text", line: `{"id":"1","text":null}`, reason: "text: missing"},
	{name: "neither", line: `{}`, reason: "id: missing or empty; text: missing"},
	{name: "id an object", line: `{"id":{"$oid":"1"},"text":"a"}`, reason: "id: want a string or a number, got an object"},
	{name: "id a boolean", line: `{"id":true,"text":"a"}`, reason: "id: want a string or a number, got a boolean"},
	{name: "text a number", line: `{"id":"1","text":7}`, reason: "text: want a string, got a number"},
	{name: "source a number", line: `{"id":"1","text":"a","source":7}`, reason: "source: want a string, got a number"},
	{name: "languages within each other", line: `{"id":"1","text":"a","lang":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + `}`,
		reason: "lang: want a string, got an array within an array"},
	{name: "date a list", line: `{"id":"1","text":"a","created_at":[1]}`,
		reason: "created_at: want a string or a number, got an array"},
	{name: "field given twice", line: `{"id":"1","text":"a","id":"1"}`, reason: "id: given twice"},
	{name: "given twice, further in", line: `{"id":"1","text":"a","u":{"v":1,"v":1}}`, reason: "u.v: given twice"},
	{name: "given twice, by path and by name", fields: "author=u.n",
		line: `{"id":"1","text":"a","u":{"n":"b"},"u.n":"b"}`, reason: "author: given twice"},
	{name: "no object on the path", fields: "author=u.n", line: `{"id":"1","text":"a","u":"b"}`,
		reason: "u: want an object, got a string"},
	{name: "year 30000", line: `{"id":"1","text":"a","created_at":"30000-01-01T00:00:00Z"}`,
		reason: `created_at: "30000-01-01T00:00:00Z": year 30000: outside 1970 to 2100`},
	{name: "year 1969", line: `{"id":"1","text":"a","created_at":-1}`,
		reason: `created_at: "-1": year before 1970: outside 1970 to 2100`},
	{name: "no date", line: `{"id":"1","text":"a","created_at":"yesterday"}`,
		reason: `created_at: "yesterday": ` + errTimeForm.Error()},
	{name: "too deep", line: `{"id":"1","text":"a","d":` + nested(MaxDepth) + `}`,
		reason: "d: nested 101 deep, and the limit is 100"},
	{name: "far too deep", line: `{"id":"1","text":"a","d":` + nested(20000) + `}`,
		reason: "nested more than 10000 deep at byte 10024, and the limit is 100"},
	{name: "long text", line: `{"id":"1","text":"` + strings.Repeat("a", MaxText+1) + `"}`,
		reason: "text: 1048577 bytes, and the limit is 1048576"},
	{name: "long id", line: `{"id":"` + strings.Repeat("1", MaxName+1) + `","text":"a"}`,
		reason: "id: 1025 bytes, and the limit is 1024"},
	{name: "long author", line: `{"id":"1","text":"a","author":"` + strings.Repeat("1", MaxName+1) + `"}`,
		reason: "author: 1025 bytes, and the limit is 1024"},
	{name: "invalid UTF-8 in the id", line: "{\"id\":\"\xff\",\"text\":\"a\"}",
		reason: "id: not valid Unicode, and replacing it could make two names one"},
	{name: "lone surrogate in the source", line: `{"id":"1","source":"\udc00","text":"a"}`,
		reason: "source: not valid Unicode, and replacing it could make two names one"},
}

func TestDecodePostRejects(t *testing.T) {
	for _, test := range badPosts {
		t.Run(test.name, func(t *testing.T) {
			p, note, err := DecodePost([]byte(test.line), mustParseFields(t, test.fields))
			if err == nil {
				t.Fatalf("accepted: %+v", p)
			}
			if err.Error() != test.reason {
				t.Errorf("reason\n%s\nwant\n%s", err, test.reason)
			}
			if diff := cmp.Diff(Post{ID: p.ID}, p); diff != "" || note != "" || len(p.ID) > MaxName {
				t.Errorf("with the error came note %q and\n%s", note, diff)
			}
		})
	}
}

// TestDecodePostKeepsNothing decodes from one buffer that is overwritten, as readers of files do.
func TestDecodePostKeepsNothing(t *testing.T) {
	line := []byte(sampleLine)
	want, _, err := DecodePost([]byte(sampleLine), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := DecodePost(line, nil)
	if err != nil {
		t.Fatal(err)
	}
	clear(line)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the line was overwritten (-want +got):\n%s", diff)
	}
}

// FuzzDecodePost compares with encoding/json: what we accept is an object there too, and its strings are ours.
func FuzzDecodePost(f *testing.F) {
	for _, test := range badPosts {
		if len(test.line) < 500 {
			f.Add([]byte(test.line))
		}
	}
	f.Add([]byte(sampleLine))
	f.Add([]byte("{\"id\":1,\"text\":\"a\xff\\ud800\",\"k\":\"\xff\",\"created_at\":1e9}"))
	fields, err := ParseFields("text=text,author=user.name")
	if err != nil {
		f.Fatal(err)
	}
	kept := mustWithMeta(f, "author=user.name", "k,user.followers,user,url")
	f.Add([]byte(`{"id":1,"text":"a","k":[ 1,"\ud800"],"user":{"name":"ann","followers":3},"url":"\u0061"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		checkDecoded(t, line, nil)
		checkDecoded(t, line, kept)
		checkDecoded(t, line, fields)
	})
}

func checkDecoded(t *testing.T, line []byte, fields *Fields) {
	checkQuick(t, line, fields)
	p, _, err := DecodePost(line, fields)
	if err != nil {
		return
	}
	if p.ID == "" || len(p.Text) > MaxText || !utf8.ValidString(p.ID+p.Text+p.Author+p.Lang+p.Source) {
		t.Fatalf("accepted %+v", p)
	}
	if p.Time < 0 || p.Time >= endOfTime || !p.Timed && p.Time != 0 {
		t.Fatalf("time %d, timed %v", p.Time, p.Timed)
	}
	if p.Meta != "" && (!json.Valid([]byte(p.Meta)) || !utf8.ValidString(p.Meta) || len(p.Meta) > MaxMeta ||
		strings.Contains(p.Meta, "\n")) {
		t.Fatalf("meta is no JSON: %s", p.Meta)
	}
	checked := p
	if note, err := checked.Check(); note != "" || err != nil || checked != p {
		t.Fatalf("checked: %q, %v, %+v of %+v", note, err, checked, p)
	}
	var std map[string]any
	err = json.Unmarshal(line, &std)
	if err != nil {
		t.Fatalf("encoding/json rejects it: %v", err)
	}
	if std["text"] != p.Text {
		t.Fatalf("text %q, and encoding/json says %q", p.Text, std["text"])
	}
}

// checkQuick holds the quick way to the other one: what it takes, the other takes too, with the same notes, as the same
// post.
func checkQuick(t *testing.T, line []byte, fields *Fields) {
	t.Helper()
	var quick, want Post
	d := PostDecoder{fields: fields.orOwn()}
	d.reset(line)
	if !d.quick(&quick) {
		return
	}
	notes := d.notes // on meta, if any
	d.reset(line)
	if err := d.decode(&want, d.fields.root); err != nil || !slices.Equal(d.notes, notes) {
		t.Fatalf("taken quickly; the other way says %v, %q", err, d.notes)
	}
	if diff := cmp.Diff(want, quick); diff != "" {
		t.Fatalf("taken quickly, and differs (-want +got):\n%s", diff)
	}
}

// TestQuick holds both ways to each other on every line of the tests, on all its beginnings, and on lines with
// one byte put in anywhere: the quick way must not take what the other refuses.
func TestQuick(t *testing.T) {
	lines, kept := []string{sampleLine, plainLine, quickLine}, mustWithMeta(t, "", "kind,a,b,c,d,e,u.v")
	for _, test := range badPosts {
		lines = append(lines, test.line)
	}
	for _, line := range lines {
		if len(line) > 500 {
			continue
		}
		for i := range len(line) + 1 {
			checkQuick(t, []byte(line[:i]), nil)
			checkQuick(t, []byte(line[:i]), kept)
			for _, c := range "\x00\n \"\\{}[]:,-+.0e1nu\u00e9" {
				checkQuick(t, []byte(line[:i]+string(c)+line[i:]), nil)
				checkQuick(t, []byte(line[:i]+string(c)+line[i:]), kept)
				checkQuick(t, []byte(line[:i]+string(c)+line[min(i+1, len(line)):]), nil)
			}
			checkQuick(t, []byte(line[:i]+"\xe2\x82"+line[i:]), nil)
		}
	}
}

// TestQuickTakesTheUsual: the quick way is worth its lines only if it is the one that is gone.
func TestQuickTakesTheUsual(t *testing.T) {
	for _, line := range []string{sampleLine, plainLine, quickLine} {
		d := PostDecoder{fields: ownNames}
		d.reset([]byte(line))
		if !d.quick(new(Post)) {
			t.Errorf("not taken: %s", line)
		}
	}
}

// TestPostDecoderKeepsPosts decodes more than a block holds: the posts stay as they were.
func TestPostDecoderKeepsPosts(t *testing.T) {
	d := NewPostDecoder(mustWithMeta(t, "", "kind"))
	line, got := make([]byte, 0, 500), make([]Post, 3000)
	for i := range got {
		line = fmt.Appendf(line[:0], `{"id":"%d","text":"text \u0026 %d","kind":"%d"}`, i, i, i)
		if i%1000 == 0 {
			line = fmt.Appendf(line[:0], `{"id":"%d","text":"text & %d","kind":"%d"}`, i, i, i)
		}
		if _, err := d.Decode(&got[i], line); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range got {
		want := Post{ID: fmt.Sprint(i), Text: fmt.Sprintf("text & %d", i), Meta: fmt.Sprintf(`{"kind":"%d"}`, i)}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Fatalf("post %d (-want +got):\n%s", i, diff)
		}
	}
}

// quickLine has a value of every kind that the quick way takes.
const quickLine = ` { "id" : -12.50e+3 , "author" : 7 , "created_at" : 1539202764 , "lang" : null ,` +
	` "a" : true , "b" : false ,` +
	` "c" : null , "d" : 0.1E-2 , "e" : "\ud83d\ude00 \b\f\n\r\t\/\\\"" , "source" : "é" ,` +
	` "text" : "\u00e9\ud83d\uDE00 \b\f\n\r\t\/\\\" é" } `

// sampleLine has the size and the fields of a usual line of a file.
const sampleLine = `{"id":"s-0000002","author":"someone","created_at":"2012-02-02T00:58:00Z","lang":"ru",` +
	`"text":"\"Заря\" и \"Восход\" так и не договорились о вратаре: двукратный чемпион страны подождёт http://example.org/hShqlLtv","kind":"post"}`

const plainLine = `{"id":"s-0000003","author":"someone","created_at":"2012-02-02T15:40:00Z","lang":"en",` +
	`"text":"Sunrise agreed with nobody about anything at all, said the trainer who had been ` +
	`asked what he thought of the champion http://example.org/hShqlLtv"}`

func BenchmarkDecodePost(b *testing.B) {
	for _, bench := range []struct{ name, line string }{{"escaped", sampleLine}, {"plain", plainLine}} {
		b.Run(fmt.Sprintf("%s/%d", bench.name, len(bench.line)), func(b *testing.B) {
			raw := []byte(bench.line)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := DecodePost(raw, nil)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
