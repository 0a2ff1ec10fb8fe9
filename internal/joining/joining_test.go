package joining

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"refrain/ingest"
	"refrain/join"
	"refrain/join/units"
)

// read reads a file of some name and content; notes are the lines that it was told, without the folder.
func read(tb testing.TB, name, content string, change func(*Config)) (r *Records, notes []string, err error) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	cfg := Config{
		Path: path, ID: "id", Column: "text", Units: units.Words, Workers: 2,
		Note: func(b *ingest.Batch) {
			for _, r := range b.Rejected {
				notes = append(notes, strings.ReplaceAll(r.Location+": "+r.Reason, path, name))
			}
			for _, n := range b.Notes {
				notes = append(notes, strings.ReplaceAll(n.Location+": accepted: "+n.Text, path, name))
			}
		},
		Progress: func(bytes, size, records int64) {},
	}
	if change != nil {
		change(&cfg)
	}
	r, err = Read(tb.Context(), cfg)
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), path, name))
	}
	return r, notes, err
}

// shown is the records as their names and sizes.
func shown(r *Records) string {
	if r == nil {
		return ""
	}
	var all []string
	for i := range r.Len() {
		size := 0
		if r.Texts == nil {
			size = r.Sets.Size(i)
		} else {
			size = len(r.Texts[i])
		}
		all = append(all, fmt.Sprintf("%s:%d", r.Names.ID(i), size))
	}
	return strings.Join(all, " ")
}

func TestRead(t *testing.T) {
	texts := func(c *Config) { c.Texts = true }
	columns := func(c *Config) { c.ID, c.Column = "nr", "name" }
	strict := func(c *Config) { c.Strict = true }
	for _, c := range []struct {
		name, content string
		change        func(*Config)
		want, notes   string
		err           string
	}{
		{"a.jsonl", `{"id":"x","text":"one two two"}` + "\n\n" + `{"id":7,"text":"…"}`, nil, "x:2 7:0", "", ""},
		{"a.jsonl", `{"id":"x","text":"one","created_at":"never","source":[1],"lang":3,"author":{}}`, nil, "x:1", "", ""},
		{"a.jsonl", `{"id":"x","text":"one"}` + "\n" + `{"id":"y"}` + "\n" + `{"id":"z","text":"one two"}`, nil, "x:1 z:2",
			`a.jsonl:2: no field "text" among "id"`, ""},
		{"a.jsonl", `{"id":"x","text":"one"}` + "\n" + `{"id":"y"}`, strict, "", "", `a.jsonl:2: no field "text" among "id"`},
		{"a.jsonl", `{"id":"x","body":"one"}` + "\n" + `{"id":"y","body":"two"}`, nil, "", "",
			`a.jsonl:1: no field "text" among "id", "body", nor is there one in the 2 records read: --id and --column say which they are`},
		{"a.jsonl", `{"id":"x","body":"one"}` + "\n" + `{"id":"y","text":"two"}`, nil, "y:1", `a.jsonl:1: no field "text" among "id", "body"`, ""},
		{"a.jsonl", `{"id":"x","text":null}` + "\n" + `{"id":"y"}`, nil, "", "a.jsonl:1: text: missing\na.jsonl:2: no field \"text\" among \"id\"",
			"a.jsonl: not one line is a record"},
		{"a.jsonl", `{"id":"x","post":{"body":"one two"},"post.n":1}`, func(c *Config) { c.Column = "post.body" }, "x:2", "", ""},
		{"a.jsonl", `{"id":"x","text":"one",}`, nil, "", "a.jsonl:1: malformed JSON at byte 22: invalid character ',' at start of value",
			"a.jsonl: not one line is a record"},
		{"a.jsonl", `{"id":"x","text":"one"}` + "\n" + `{"id":"x","text":"one two"}` + "\n" + `{"id":"x","text":"a"}`, nil, "x:1 x:2 x:1",
			`a.jsonl:2: accepted: id "x" is that of an earlier record too: both are compared, and pairs name both by it`, ""},
		{"a.jsonl", "788 67374\n", nil, "", `a.jsonl:1: want a JSON object, got "788 67374"`, "a.jsonl: not one line is a record"},
		{"a.jsonl", `{"nr":"x","name":"a b","text":5}`, columns, "x:2", "", ""},
		{"a.json", `[{"id":"x","text":"one two"}, {"id":"y"}]`, nil, "x:2", `a.json:1, record 2: no field "text" among "id"`, ""},
		{"a.js", `a = [{"id":"x","body":"one"}, {"id":"y","body":"two"}]`, nil, "", "",
			`a.js:1, record 1: no field "text" among "id", "body", nor is there one in the 2 records read: --id and --column say which they are`},
		{"a.json", `{"data":[{"id":"x","text":"one two"}]}`, func(c *Config) { c.RecordsAt = "data" }, "x:2", "", ""},
		{"a.tsv", "id\ttext\nx\tone two\n", nil, "x:2", "", ""},
		{"a.tsv", "", nil, "", "", "a.tsv: an empty file: want a header that names the columns"},
		{"a.csv", "id;text\nx;one, two\n", nil, "x:2", "", ""},
		{"a.csv", "id,text,lang\nx,one two,5\ny,,\n", nil, "x:2 y:0", "", ""},
		{"a.csv", "nr,name\n1,\"a, b\"\n2\n", columns, "1:2", "a.csv:3: 1 fields, and the header has 2", ""},
		{"a.csv", "nr,title\n1,a\n", columns, "", "",
			`a.csv:1: no column "name" among "nr", "title": --id and --column say which they are`},
		{"a.csv", "", nil, "", "", "a.csv: an empty file: want a header that names the columns"},
		{"a.csv", "\n \n", nil, "", "", "a.csv: an empty file: want a header that names the columns"},
		{"a.csv", "\n\nid,title\n", nil, "", "", `a.csv:3: no column "text" among "id", "title": --id and --column say which they are`},
		{"a.csv", "id,text\n", nil, "", "", ""},
		{"a.txt", "one two\n\n…\nthree\n", nil, "0:2 2:0 3:1", "", ""},
		{"a.txt", "One two\n\n…\n", texts, "0:7 2:3", "", ""},
		{"a.sets", "3 1 2\n\n1 1\t1\n18446744073709551615\n", nil, "0:3 2:1 3:1", "", ""},
		{"a.sets.txt", "5 -5\n", nil, "0:2", "", ""},
		{"a.sets", "1 2\n3 4x\n", nil, "", "", `a.sets:2: "4x" is no whole number: want such with spaces between them`},
		{"a.sets", "1\n\n1.5\n", nil, "", "", `a.sets:3: "1.5" is no whole number: want such with spaces between them`},
		{"a.sets", "1,2\n", nil, "", "", `a.sets:1: "1,2" is no whole number: want such with spaces between them`},
		{"a.sets", "99999999999999999999\n", nil, "", "", `a.sets:1: "99999999999999999999" has more than 64 bits`},
		{"a.sets", "-1\n18446744073709551615\n", nil, "", "",
			"a.sets:1: has a negative number, and line 2 one of 2^63 or more: want one or the other"},
		{"a.sets", "", nil, "", "", ""},
		{"a.sets", "1 2 3\n4 5 6", func(c *Config) { c.Budget, c.Left = 1000, 100 }, "", "",
			"a.sets:2: what has been read takes more than the budget of 1.0 kB: give more (--budget), or join the file in parts, each " +
				"with itself and with every other"},
		{"a.csv", "a,\"b, \"\"c.d\"\n1,2 3\n", func(c *Config) { c.ID, c.Column = "a", "b, \"c.d" }, "1:2", "", ""},
		{"a.csv", "a,b\n1,2\n", func(c *Config) { c.ID, c.Column = "a", "a" }, "", "", `column "a": cannot have both ids and texts`},
	} {
		r, notes, err := read(t, c.name, c.content, c.change)
		if got := shown(r); got != c.want || strings.Join(notes, "\n") != c.notes || fmt.Sprint(err) != cmp.Or(c.err, "<nil>") {
			t.Errorf("%s %q:\n got %q, %q, %v\nwant %q, %q, %v", c.name, c.content, got, notes, err, c.want, c.notes, c.err)
		}
	}
}

// TestFieldNowhere: what so many records lack nobody has, whatever comes behind them; one error says so, and nothing is told besides.
func TestFieldNowhere(t *testing.T) {
	content := strings.Repeat(`{"id":"x","body":"one"}`+"\n", 3*maxLacking) + `{"id":"y","text":"two"}`
	r, notes, err := read(t, "a.jsonl", content, nil)
	want := fmt.Sprintf(`a.jsonl:1: no field "text" among "id", "body", nor is there one in the %d records read: `+
		"--id and --column say which they are", maxLacking)
	if r != nil || notes != nil || fmt.Sprint(err) != want {
		t.Errorf("%v, %q, got %v, want %s", r, notes, err, want)
	}
	r, notes, err = read(t, "a.jsonl", content, func(c *Config) { c.Column = "body" })
	if err != nil || r.Len() != 3*maxLacking || len(notes) != 2 || r.Rejected != 1 {
		t.Errorf("%d records, %q, %v", r.Len(), notes, err)
	}
}

// TestLargeRecords: what is on its way is in the budget, of tables too.
func TestLargeRecords(t *testing.T) {
	var table strings.Builder
	table.WriteString("id,text\n")
	for i := range 60 {
		fmt.Fprintf(&table, "%d,%s\n", i, strings.Repeat(fmt.Sprintf("%d word ", i), 50_000))
	}
	grams := func(budget int64) func(*Config) {
		return func(c *Config) { c.Units, c.Budget, c.Left = mustUnits(t, "qgrams:3"), budget, budget }
	}
	if _, _, err := read(t, "a.csv", table.String(), grams(10e6)); err == nil || !strings.Contains(err.Error(), "more than the budget of 10.0 MB") {
		t.Errorf("of 10 MB: %v", err)
	}
	const budget = 100e6
	peak := make(chan uint64)
	stop := make(chan struct{})
	go func() { peak <- maxLive(stop) }()
	if _, _, err := read(t, "a.csv", table.String(), grams(budget)); err != nil {
		t.Error(err)
	}
	close(stop)
	if n := <-peak; n > budget {
		t.Errorf("%d bytes live, of a budget of %d", n, int(budget))
	}
}

// maxLive is how large the live heap was at most, as the collector saw it, until stop.
func maxLive(stop <-chan struct{}) (most uint64) {
	for {
		runtime.GC()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		most = max(most, live[0].Value.Uint64())
		select {
		case <-stop:
			return most
		default:
		}
	}
}

// TestOrder: many parts, cut by several workers, keep their order.
func TestOrder(t *testing.T) {
	var content, want strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&content, "%d %d\n", i, i+1)
		fmt.Fprintf(&want, " %d:2", i)
	}
	r, _, err := read(t, "a.sets", content.String(), func(c *Config) { c.Workers = 4 })
	if err != nil || shown(r) != strings.TrimSpace(want.String()) {
		t.Errorf("another order, %v", err)
	}
}

func TestWriter(t *testing.T) {
	r, _, err := read(t, "a.jsonl", `{"id":"b","text":"x"}`+"\n"+`{"id":"a, \"1\"","text":"x"}`+"\n"+`{"id":"","text":"x"}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines, _, err := read(t, "a.txt", "\nx\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		format    string
		distances bool
		records   []*Records
		want      string
	}{
		{"jsonl", false, []*Records{r}, `{"a":"a, \"1\"","b":"b","similarity":0.8}`},
		{"jsonl", false, []*Records{r, r}, `{"a":"b","b":"a, \"1\"","similarity":0.8}`},
		{"jsonl", true, []*Records{r, r}, `{"a":"b","b":"a, \"1\"","distance":1,"similarity":0.75}`},
		{"csv", false, []*Records{r}, "a,b,similarity\n\"a, \"\"1\"\"\",b,0.8"},
		{"csv", true, []*Records{r}, "a,b,distance,similarity\n\"a, \"\"1\"\"\",b,1,0.75"},
		{"jsonl", false, []*Records{lines, r}, `{"a":1,"b":"a, \"1\"","similarity":0.8}`},
	} {
		var out bytes.Buffer
		w := NewWriter(&out, c.format, c.distances, c.records)
		if c.distances {
			err = w.WriteDistance(0, 1, 1, 4)
		} else {
			err = w.Write(join.Pair{A: 0, B: 1, Common: 4, Similarity: .8})
		}
		if err := errors.Join(err, w.Close()); err != nil || out.String() != c.want+"\n" || w.Count() != 1 {
			t.Errorf("got %q, %v, want %q", out.String(), err, c.want)
		}
	}
}

// FuzzSets: what is read as whole numbers is what encoding/json takes for such, and all else is an error that names the line.
func FuzzSets(f *testing.F) {
	f.Add("1 2 3\n\n4")
	f.Add("-1\t5\r\n007 x")
	f.Add("18446744073709551616")
	f.Add("\xff\x00 1e3 +4 0x10")
	f.Fuzz(func(t *testing.T, content string) {
		r, _, err := read(t, "a.sets", content, nil)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "a.sets:") {
				t.Errorf("%q: %v", content, err)
			}
			return
		}
		want := []string(nil)
		for i, line := range strings.Split(strings.TrimPrefix(content, "\ufeff"), "\n") {
			fields := strings.Fields(line)
			for k, field := range fields {
				number := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(field, "-"), "+"), "0")
				var n json.Number
				if err := json.Unmarshal([]byte(cmp.Or(number, "0")), &n); err != nil || strings.ContainsAny(field, ".eE") {
					t.Fatalf("%q: %q was read as a number", content, field)
				}
				fields[k] = cmp.Or(number, "0")
				if strings.HasPrefix(field, "-") && fields[k] != "0" {
					fields[k] = "-" + number
				}
			}
			slices.Sort(fields)
			if n := len(slices.Compact(fields)); n > 0 {
				want = append(want, fmt.Sprintf("%d:%d", i, n))
			}
		}
		if got := shown(r); got != strings.Join(want, " ") {
			t.Errorf("%q: got %s, want %s", content, got, want)
		}
	})
}

// FuzzRecords: files of every other format give records or an error, each rejected line is told, and all of it ends.
func FuzzRecords(f *testing.F) {
	f.Add("jsonl", `{"id":"x","text":"one two"}`)
	f.Add("csv", "id,text\n1,\"a\"\"b\"\n2,\"")
	f.Add("text", "one\n\xff\n")
	f.Fuzz(func(t *testing.T, format, content string) {
		r, notes, err := read(t, "a", content, func(c *Config) { c.Format, c.Units = format, mustUnits(t, "qgrams:3") })
		if err != nil {
			return
		}
		if r.Len() != r.Sets.Len() || r.Rejected > len(notes) {
			t.Errorf("%s %q: %d records, %d sets, %d rejected, %q", format, content, r.Len(), r.Sets.Len(), r.Rejected, notes)
		}
	})
}

func mustUnits(tb testing.TB, s string) units.Unit {
	tb.Helper()
	u, err := units.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}
