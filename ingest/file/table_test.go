package file

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
)

func TestTable(t *testing.T) {
	tests := []struct {
		name, content string
		want          []string
	}{
		{"only a header", "id,text\n", nil},
		{"quoted cells", "id,text\n1,\"a \"\"b\"\", c\"\n2,d\n", []string{`1: a "b", c`, "2: d"}},
		{"lines in a cell", "id,text\r\n1,\"a\r\n\r\nb\"\r\n,x\r\n3,c",
			[]string{"1: a\n\nb", "3: c", "rejected a.csv:5: id: missing or empty"}},
		{"columns in any order, byte order mark", "\ufefftext,id\na,1\n", []string{"1: a"}},
		{"empty lines", "\nid,text\n\n1,a\n\n", []string{"1: a"}},
		{"wrong number of fields", "id,text\n1,a\n2,b,c\n3\n4,d\n",
			[]string{"1: a", "4: d", "rejected a.csv:3: 3 fields, and the header has 2",
				"rejected a.csv:4: 1 fields, and the header has 2"}},
		{"a bare quote", "id,text\n1,a\n2,b\"c\"\n3,5\" disk,\"x\n4,d\n",
			[]string{"1: a", "4: d", `rejected a.csv:3: malformed CSV at column 4: bare " in non-quoted-field`,
				`rejected a.csv:4: malformed CSV at column 4: bare " in non-quoted-field`}},
		{"text after a quoted cell", "id,text\n1,\"a\" b\n2,\"c\nd\"e,\n3,f\n",
			[]string{"3: f", `rejected a.csv:2: malformed CSV at column 5: extraneous or missing " in quoted-field`,
				`rejected a.csv:3: malformed CSV at column 2: extraneous or missing " in quoted-field`}},
		{"a quote never closed", "id,text\n1,a\n2,\"b\n3,c\n",
			[]string{"1: a", "rejected a.csv:3: a quote opened here is never closed"}},
		{"a bad date", "id,text,created_at\n1,a,\n2,b,soon\n3,c,20\n",
			[]string{"1: a", "3: c", `rejected a.csv:3: created_at: "soon": a time in no known form, as 2018-10-10T20:19:24Z: ` +
				`others are described by --time-format (time_format), as '%d.%m.%Y %H:%M'`}},
		{"invalid UTF-8", "id,text,k\n1,a\xff,\xfe\n\xff,b,\n",
			[]string{"1: a\uFFFD", `note a.csv:2: text: invalid UTF-8 replaced by U+FFFD`,
				"rejected a.csv:3: id: not valid Unicode, and replacing it could make two names one"}},
		{"NUL", "id,text\n1,a\x00b\n", []string{"1: a\x00b"}},
		{"a text too long", "id,text\n1," + strings.Repeat("x", feed.MaxText+1) + "\n2,b\n",
			[]string{"2: b", "rejected a.csv:2: text: 1048577 bytes, and the limit is 1048576"}},
		{"a line too long", "id,text\n1," + strings.Repeat("x", MaxLine) + "\n2,b\n",
			[]string{"2: b", "rejected a.csv:2: a line of 8388611 bytes, and the limit is 8388608"}},
		{"a record too long", "id,text\n1,\"" + strings.Repeat("x\n", MaxLine/2) + "\n2,b\n",
			[]string{"2: b", "rejected a.csv:2: a record of more than 8388608 bytes: is a quote not closed?"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readAll(t, Default(writeFile(t, "a.csv", test.content)))
			if err != nil {
				t.Fatal(err)
			}
			// After a record that was given up within the limit, its rest is read as records of its own.
			if test.name == "a record too long" {
				for _, r := range got.Rejected[1:] {
					if r.Reason != "1 fields, and the header has 2" {
						t.Errorf("%s: %s", r.Location, r.Reason)
					}
				}
				got.Rejected = got.Rejected[:1]
			}
			wantLines(t, show(got), test.want)
		})
	}
}

func TestTableFields(t *testing.T) {
	fields, err := feed.ParseFields("text=body,author=user.name")
	if err != nil {
		t.Fatal(err)
	}
	if fields, err = fields.WithMeta([]string{`a "b"`, "text"}); err != nil {
		t.Fatal(err)
	}
	path := writeFile(t, "a.csv", "id,body,user.name,text,likes,\"a \"\"b\"\"\"\n1,hello,ann,own,,\"<1>\"\n")
	got, err := readAll(t, with(path, func(c *Config) { c.Fields = fields }))
	if err != nil {
		t.Fatal(err)
	}
	want := []feed.Post{{ID: "1", Text: "hello", Author: "ann", Meta: `{"a \"b\"":"<1>","text":"own"}`}}
	if diff := cmp.Diff(want, got.Posts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTableOfSeveralColumns: a field is the first of some, or all of them.
func TestTableOfSeveralColumns(t *testing.T) {
	fields, err := feed.ParseFields(`text=title+body|"old text",id=nr,author=user.name`)
	if err != nil {
		t.Fatal(err)
	}
	path := writeFile(t, "a.csv", "nr,title,body,old text,user.name\n1,Why?,Because.,,ann\n2,,,old,\n3,,,,\n")
	got, err := readAll(t, with(path, func(c *Config) { c.Fields = fields }))
	want := []feed.Post{{ID: "1", Text: "Why?\nBecause.", Author: "ann"}, {ID: "2", Text: "old"}, {ID: "3"}}
	if diff := cmp.Diff(want, got.Posts); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestTableHeader(t *testing.T) {
	tests := []struct{ content, want string }{
		{"id,body\n1,a\n",
			`a.csv: after line 1: header: no column "text" for the field text among ["id" "body"]: map one (text=COLUMN; refrain inspect says which it may be)`},
		{"nr,text\n1,a\n",
			`a.csv: after line 1: header: no column "id" for the field id among ["nr" "text"]: map one (id=COLUMN; refrain inspect says which it may be)`},
		{"id,text,x,x\n1,a,b,c\n", `a.csv: after line 1: header: two columns are called "x"`},
		{"id,te\"xt\n1,a\n", `a.csv: after line 1: header: malformed CSV at column 6: bare " in non-quoted-field`},
	}
	for _, test := range tests {
		_, err := readAll(t, Default(writeFile(t, "a.csv", test.content)))
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("error\n%v\nwant\n%s", err, test.want)
		}
	}
}

// FuzzCSV compares with encoding/csv reading the whole input at once. Where that finds nothing wrong, so do we,
// and the cells are the same; every record is a post or a rejection.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"1,a\n2,b\n", "1,\"a\n\"\"b\"\n2,c", "1,\"a\" x\n2,b\"c\n3,\"d", ",\n\"\",\"\"\n", "1,\"\r\n\"\n", "\"1\",\"2\r\n3",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		content := "id,text\n" + body
		got, err := readAll(t, with("-", func(c *Config) { c.Stdin, c.Format = strings.NewReader(content), "csv" }))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Posts {
			if p.Meta != "" {
				t.Fatalf("meta %s", p.Meta)
			}
		}
		posts, wrong := referencePosts(t, content)
		if wrong {
			return
		}
		wantLines(t, postLines(got.Posts), postLines(posts))
	})
}

func postLines(posts []feed.Post) (lines []string) {
	for _, p := range posts {
		lines = append(lines, p.ID+": "+p.Text)
	}
	return lines
}

// referencePosts reads two columns the plain way. Wrong: the two need not agree, because a quote is misplaced,
// or because we skip lines of white space, which encoding/csv takes for a record.
func referencePosts(t *testing.T, content string) (posts []feed.Post, wrong bool) {
	r := csv.NewReader(strings.NewReader(content))
	r.FieldsPerRecord = -1
	for first := true; ; first = false {
		cells, err := r.Read()
		if err == io.EOF {
			return posts, false
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return nil, true
		}
		if err != nil {
			t.Fatal(err)
		}
		var p feed.Post
		if first || len(cells) != 2 {
			continue
		}
		_, errID := p.Set(feed.FieldID, cells[0])
		_, errText := p.Set(feed.FieldText, cells[1])
		if errID == nil && errText == nil && p.Complete(true) == nil {
			posts = append(posts, p)
		}
	}
}

// TestRecords: posts can be written again as they came, in any format, with the header of a table.
func TestRecords(t *testing.T) {
	for name, c := range map[string]struct {
		content, header string
		want            []string
	}{
		"a.csv": {"id,text\r\n1,\"a \"\"b\"\"\nc\"\r\n,none\n2,d\n3,e", "id,text\r\n",
			[]string{"1,\"a \"\"b\"\"\nc\"\r\n", "2,d\n", "3,e\r\n"}},
		"mark.csv": {"\ufeffid,text\n1,\"a\r\nb\"\n", "\ufeffid,text\n", []string{"1,\"a\r\nb\"\n"}},
		"a.jsonl": {"{\"id\":\"1\", \"text\":\"a\",\"x\":2}\r\nno post\n\n{\"id\":\"2\",\"text\":\"b\"}", "",
			[]string{`{"id":"1", "text":"a","x":2}` + "\r\n", `{"id":"2","text":"b"}` + "\r\n"}},
		"array.json": {"[{\"id\":\"1\", \"text\":\"a\"},\r\n5, {\"id\":\"2\",\n\"text\":\"b\"}]", "",
			[]string{`{"id":"1", "text":"a"}` + "\n", `{"id":"2", "text":"b"}` + "\n"}},
		"semicolons.csv": {"\ufeffid;text\r\n1;\"a;\r\nb\"\r\n", "\ufeffid;text\r\n", []string{"1;\"a;\r\nb\"\r\n"}},
		"a.txt":          {"one\n\ntwo\n", "", []string{"one\n", "two\n"}},
		"one.txt":        {"one", "", []string{"one\n"}},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		var stored bytes.Buffer
		cfg := Default(path)
		cfg.Records, cfg.Stored = true, &stored
		src, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var p Part
		var got []string
		for err == nil {
			if err = src.Read(t.Context(), &p); err == nil {
				src.NewDecoder().Decode(&p)
				for i := range p.Batch.Posts {
					got = append(got, string(p.Record(i)))
				}
			}
		}
		if !slices.Equal(got, c.want) || string(src.Header()) != c.header || stored.String() != c.content || err != io.EOF {
			t.Errorf("%s: %q under %q, want %q under %q; %d bytes stored; %v", name, got, src.Header(), c.want, c.header, stored.Len(), err)
		}
		_ = src.Close()
	}
}

// TestSeparatorLine: what Excel takes for itself, before the header, is no header.
func TestSeparatorLine(t *testing.T) {
	for _, first := range []string{"sep=;\r\n", "\"sep=;\"\n", "SEP=;\n"} {
		path := writeFile(t, "a.csv", "\xEF\xBB\xBF"+first+"id;text\n1;a, b, c, d\n")
		if got, err := readAll(t, Default(path)); err != nil || !slices.Equal(show(got), []string{"1: a, b, c, d"}) {
			t.Errorf("%q: %q, %v", first, show(got), err)
		}
		sample, err := ReadSample(t.Context(), Default(path), 10)
		if err != nil || len(sample.Records) != 1 || string(sample.Records[0]) != `{"id":"1","text":"a, b, c, d"}` {
			t.Errorf("%q: %s, %v", first, sample.Records, err)
		}
	}
}
