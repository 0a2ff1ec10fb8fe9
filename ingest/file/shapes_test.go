package file

import (
	"encoding/binary"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"refrain/feed"
	"refrain/ingest"
)

// utf16Of is a text as Windows calls it Unicode: UTF-16, with its mark.
func utf16Of(s string) string {
	b := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return string(b)
}

// TestShapes: files of all shapes are read as what they are, and what is wrong in one is told with its place.
func TestShapes(t *testing.T) {
	at := func(path string) func(*Config) { return func(c *Config) { c.RecordsAt = path } }
	in := func(encoding string) func(*Config) { return func(c *Config) { c.Encoding = encoding } }
	users := func(c *Config) {
		c.RecordsAt = "data"
		c.Include = authors
	}
	const table = "id;text\r\n1;one, two\r\n2;\"a;b\"\r\n"
	for _, c := range []struct {
		name, content string
		change        func(*Config)
		recognised    string
		want          []string
	}{
		{"a.json", `[{"id":"1","text":"a"},{"id":"2","text":"b]"}]`, nil, "a JSON array", []string{"1: a", "2: b]"}},
		{"a.jsonl", "\ufeff[\r\n{\"id\":\"1\",\r\n\"text\":\"a\"},\r\n7,\r\n{\"id\":\"2\",\"text\":\"b\"}\r\n]\r\n", nil, "a JSON array",
			[]string{"1: a", "2: b", `rejected a.jsonl:4, record 2: want a JSON object, got "7"`}},
		{"a.json", "{\n \"id\": \"1\",\n \"text\": \"a\"\n}\n{\n \"id\": \"2\",\n \"text\": 5\n}\n", nil, "JSON objects of several lines",
			[]string{"1: a", "rejected a.json:5, record 2: text: want a string, got a number"}},
		{"a.json", "{\"id\":\"1\",\"text\":\"a\"}\n{\"id\":\"2\",\"text\":\"b\"}\n", nil, "", []string{"1: a", "2: b"}},
		{"a.json", "{\"id\":\"1\",\"text\":\"a\"}", nil, "", []string{"1: a"}},
		{"a.jsonl", "{\"id\":\"1\",\n{\"id\":\"2\",\"text\":\"b\"}\n", nil, "",
			[]string{"2: b", "rejected a.jsonl:1: malformed JSON: it ends too soon, at byte 10"}},
		{"a.json", `[{"id":"1","text":"a"x},{"id":"2","text":"b"}]`, nil, "a JSON array",
			[]string{"2: b", `rejected a.json:1, record 1: malformed JSON at byte 20: invalid character 'x' after object value ` +
				`(expecting ',' or '}')`}},
		{"tweets.js", "window.YTD.tweets.part0 = [ {\n\"id\":\"1\",\"text\":\"a\"} ];\n", nil, "", []string{"1: a"}},
		{"tweets", "window.YTD.tweets.part0 =\n[{\"id\":\"1\",\"text\":\"a\"}]", nil, "JavaScript, an array that a variable is given",
			[]string{"1: a"}},
		{"a.js", "hello\n[{\"id\":\"1\",\"text\":\"a\"}]", nil, "",
			[]string{"1: a", `rejected a.js:1, record 1: want a JSON object, got "hello"`}},
		{"a.json", `{"meta":{"n":1},"data":[{"id":"1","text":"a"}],"x":[1,{"data":2}]}` + "\n" + `{"data":[{"id":"2","text":"b"}]}`,
			at("data"), "", []string{"1: a", "2: b"}},
		{"a.json", `{"chats":{"list":[{"id":7,"messages":[{"id":"1","text":"a"}]},{"messages":[{"id":"2","text":"b"},[3]]}]}}`,
			at("chats.list.messages"), "",
			[]string{"1: a", "2: b", `rejected a.json:1, record 3: want a JSON object, got "[3]"`}},
		{"a.json", `{"data":[{"id":"1","text":"a","author_id":"7"},{"id":"2","text":"b","author_id":"8"}],
			"includes":{"users":[{"id":"7","username":"ann"}]}} {"data":{"id":"3","text":"c","author_id":"7"}}`,
			users, "", []string{"1: a by ann", "2: b", "3: c"}},
		{"a.csv", table, nil, "a table with semicolons between its columns", []string{"1: one, two", "2: a;b"}},
		{"a.tsv", strings.ReplaceAll(table, ";", "\t"), nil, "a table with tabs between its columns",
			[]string{"1: one, two", "2: a\tb"}},
		{"a.csv", "id,text\n1,a;b;c\n", nil, "", []string{"1: a;b;c"}},
		{"a.csv", utf16Of("id\ttext\n1\tnaïve 中\n"), nil, "UTF-16, a table with tabs between its columns", []string{"1: naïve 中"}},
		{"a.csv", "id,text\n1,na\xefve\n", in("windows-1252"), "", []string{"1: naïve"}},
		{"a.xml", "<rss><channel><title>t</title><item><id>1</id><text>a &amp; <![CDATA[<b>b</b>]]></text><text>c</text></item>\n" +
			"<item><id>2</id><text type='xhtml'><div>a <b>b</b></div></text><user name='ann'/></item>\n<item><id>3</id></item></channel></rss>",
			nil, "", []string{"1: a & <b>b</b>", "2: <div>a <b>b</b></div> by ann", "rejected a.xml:3, record 3: text: missing"}},
	} {
		path := writeFile(t, c.name, c.content)
		change := func(cfg *Config) {
			cfg.Fields = mustFields(t, "author=author.username|user.name")
			if c.change != nil {
				c.change(cfg)
			}
		}
		got, err := readAll(t, with(path, change))
		if err != nil {
			t.Errorf("%s %q: %v", c.name, c.content, err)
		}
		for i, p := range got.Posts {
			if p.Author != "" {
				got.Posts[i].Text += " by " + p.Author
			}
		}
		if lines := show(got); !slices.Equal(lines, c.want) {
			t.Errorf("%s %q:\n got %q\nwant %q", c.name, c.content, lines, c.want)
		}
		f, err := Open(with(path, change))
		if err != nil {
			t.Fatal(err)
		}
		if f.Recognised() != c.recognised {
			t.Errorf("%s %q: recognised %q, want %q", c.name, c.content, f.Recognised(), c.recognised)
		}
		_ = f.Close()
	}
}

func mustFields(tb testing.TB, spec string) *feed.Fields {
	tb.Helper()
	f, err := feed.ParseFields(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// TestShapesThatEndAFile: where nothing can be read further, or nothing is there, the error says what to do.
func TestShapesThatEndAFile(t *testing.T) {
	for _, c := range []struct {
		name, content, records, want string
	}{
		{"a.xlsx", "PK\x03\x04…", "", "a.xlsx: an Excel workbook (.xlsx): save it as CSV (UTF-8)"},
		{"a.csv", "PK\x03\x04…", "", "a.csv: a ZIP archive, or an Excel workbook (.xlsx): unpack the one, save the other as CSV (UTF-8)"},
		{"repo.car", "\x3a\xa2eroots\x81\xd8\x2a…", "", "repo.car: a CAR, as of a Bluesky repository, whose records are no text: take " +
			"the posts from Jetstream, as JSON lines"},
		{"a.json", `{"meta":1,"errors":[]}`, "data", `a.json: after line 0: no records at "data": the file has ["meta" "errors"] ` +
			`(--records says where they are, --records . that they are not within others)`},
		{"a.xml", "<urlset><url><loc>x</loc></url></urlset>", "", "a.xml: after line 1: no item of RSS and no entry of Atom: its first element is <urlset>"},
		{"a", "<!DOCTYPE html>\n<html><head><meta charset=utf-8><br></head></html>", "", "a: " + webPage},
		{"a.xml", "<rss><item><id>1</id>", "", "a.xml: after line 1: the XML ends too early: <item> is not closed"},
		{"a.xml", "<rss>" + strings.Repeat("<item>", 200), "", "a.xml: after line 1: elements within each other, more than 100"},
		{"a.xml", "<rss><item>" + strings.Repeat("a", MaxLine), "", "a.xml: after line 1: an item of more than 8388608 bytes"},
		{"a.json", strings.Repeat("[", 200), "data", "a.json: after line 0: arrays within each other, more than 100"},
	} {
		_, err := readAll(t, with(writeFile(t, c.name, c.content), func(cfg *Config) { cfg.RecordsAt = c.records }))
		if err == nil || filepath.Base(err.Error()) != filepath.Base(c.want) {
			t.Errorf("%s %.60q: %v, want %s", c.name, c.content, err, c.want)
		}
	}
}

// TestPageOfSmallRecords: what is held of a page is bounded also where its records are small and many.
func TestPageOfSmallRecords(t *testing.T) {
	p, held := page{include: authors}, 0
	for ; !p.closed; held++ {
		p.hold(&record{raw: []byte("1")}, 1)
	}
	if held > maxPage/perEntry {
		t.Errorf("%d records are held", held)
	}
}

// TestCutJSON: of JSON that ends too early there is what came before, and then an error, as of a cut archive or XML.
func TestCutJSON(t *testing.T) {
	const whole = `{"data":[{"id":"1","text":"a"},{"id":"2","text":"b"}],"includes":{}}`
	for content, want := range map[string][]string{
		`[{"id":"1","text":"a"},{"id":"2","te`: {"1: a", "rejected a.json:1, record 2: " + errEndsEarly.Error()},
		`[{"id":"1","text":"a"}`:               {"1: a"},
		`[{"id":"1","text":"a"},`:              {"1: a"},
	} {
		got, err := readAll(t, Default(writeFile(t, "a.json", content)))
		if lines := show(got); !errors.Is(err, errEndsEarly) || !slices.Equal(lines, want) {
			t.Errorf("%s: %q, %v, want %q", content, lines, err, want)
		}
	}
	paged := func(content string) ([]string, error) {
		got, err := readAll(t, with(writeFile(t, "a.json", content), func(c *Config) { c.RecordsAt, c.Include = "data", authors }))
		return show(got), err
	}
	for n := len(`{"data":[`); n < len(whole); n++ {
		if _, err := paged(whole[:n]); !errors.Is(err, errEndsEarly) {
			t.Errorf("%s: %v", whole[:n], err)
		}
	}
	if lines, err := paged(whole); err != nil || len(lines) != 2 {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestTopOfRecords: a dot says that records are not within others, whatever a preset has.
func TestTopOfRecords(t *testing.T) {
	cfg := with(writeFile(t, "a.jsonl", `{"id":"1","text":"a","data":[]}`), func(c *Config) { c.RecordsAt, c.Include = ".", authors })
	if got, err := readAll(t, cfg); err != nil || !slices.Equal(show(got), []string{"1: a"}) {
		t.Errorf("%q, %v", show(got), err)
	}
}

// TestLargeArrayIsNotHeld: of an array of 16 MB, in one line, what is held is one batch.
func TestLargeArrayIsNotHeld(t *testing.T) {
	some := strings.Repeat(`{"id":"1","text":"`+strings.Repeat("a", 1000)+`"},`, 1000)
	in := []io.Reader{strings.NewReader("[")}
	for range 16 {
		in = append(in, strings.NewReader(some))
	}
	in = append(in, strings.NewReader(`{"id":"last","text":""}]`))
	f, err := Open(with("-", func(c *Config) { c.Stdin = io.MultiReader(in...) }))
	if err != nil {
		t.Fatal(err)
	}
	before, n := liveHeap(), 0
	for err == nil {
		var b ingest.Batch
		b, err = f.Next(t.Context())
		if n += len(b.Posts); n == 8000 {
			if held := int64(liveHeap() - before); held > 6<<20 {
				t.Errorf("half-way %d bytes are held", held)
			}
		}
	}
	if err != io.EOF || n != 16001 {
		t.Errorf("%d posts, %v", n, err)
	}
}

// FuzzShapes: whatever a file is, it is read to its end, or to an error that names it, and every record is told of.
func FuzzShapes(f *testing.F) {
	for _, s := range []string{
		`[{"id":"1","text":"a"},{"id":"2"}]`, `{"data":[{"id":"1","text":"a","author_id":"7"}],"includes":{"users":[{"id":"7"}]}}`,
		"window.YTD.tweets.part0 = [{}]", "{\n\"id\":1,\"text\":\"a\"}\n[1]", "id;text\n1;\"a\n", "<rss><item><id>1</id></item></rss>",
		"[[{\"a\":[[]]}", "\"\\", "]}{", "\xff\xfea\x00",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, content string, deep bool) {
		got, err := readAll(t, with("-", func(c *Config) {
			c.Stdin = strings.NewReader(content)
			if deep {
				c.RecordsAt, c.Include = "data", authors
			}
		}))
		if err != nil && !strings.HasPrefix(err.Error(), "stdin: ") {
			t.Fatalf("the error names no file: %v", err)
		}
		for _, r := range got.Rejected {
			if r.Reason == "" || !strings.HasPrefix(r.Location, "stdin:") {
				t.Fatalf("rejected without place or reason: %+v", r)
			}
		}
	})
}

var authors = &Include{Beside: "includes", References: []Reference{{List: "users", Key: "id", From: "author_id", As: "author"}}}
