package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"refrain/lab/bench/peers/searchers"
	"refrain/text"
)

// TestMain lets the driver start the test as the process of an engine, as it starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "engine" || os.Args[1] == "join") {
		main()
		return
	}
	os.Exit(m.Run())
}

var half = text.Threshold{Num: 1, Den: 2}

// TestCompare runs the whole driver on a small feed, with no library installed: our own engines find what the definition
// says, and each other peer is named with the reason why it is not there.
func TestCompare(t *testing.T) {
	t.Setenv("REFRAIN_PEERS", t.TempDir())
	keep, posts := t.TempDir(), writePosts(t, 3, 400)
	mustCompare(t, "--data", posts, "--keep", keep, "--only", yardstick) // and again into the same folder
	s, table := mustCompare(t, "--data", posts, "--keep", keep, "--distinct", "700", "--thresholds", "0.5,0.9")
	if s.Distinct != 700 || s.Rows <= 700 {
		t.Errorf("%d rows of %d distinct sets, want 700 distinct and some twice", s.Rows, s.Distinct)
	}
	for _, r := range s.Results {
		if !isEngine(r.Peer) {
			if !strings.Contains(r.Skipped, "lab/bench/peers/install") || !strings.Contains(table, "Skipped: "+r.What) {
				t.Errorf("%s: skipped %q, want it to say what to do, and the table to say so", r.What, r.Skipped)
			}
			continue
		}
		if r.Found != r.True || r.Wrong != 0 || r.TrueNear == 0 || r.TrueNear == r.True || r.Rows != s.Rows {
			t.Errorf("%+v: want all pairs found, some near and some not", r.score)
		}
		if r.Candidates == 0 || r.Peer == yardstick && r.Candidates < r.Found || r.PeakBytes == 0 || r.SecondsLooking <= 0 {
			t.Errorf("%+v: want candidates, memory and time", r.report)
		}
	}
}

func isEngine(name string) bool {
	for _, e := range engines {
		if e.name == name {
			return true
		}
	}
	return false
}

// mustCompare runs the driver and returns what it says to machines and to people.
func mustCompare(t *testing.T, args ...string) (summary, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "figures.json")
	var table bytes.Buffer
	if err := run(t.Context(), append(args, "--json", path), &table, io.Discard); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s summary
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s, table.String()
}

// writePosts writes files of posts, each of one sentence, a third of them changed or repeated ones.
func writePosts(t *testing.T, files, posts int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for f := range files {
		var lines bytes.Buffer
		var before []string
		for p := range posts {
			words := make([]string, 5+r.IntN(8))
			for i := range words {
				words[i] = fmt.Sprintf("w%d", r.IntN(60+r.IntN(900)))
			}
			if before != nil && r.IntN(3) == 0 {
				words = slices.Clone(before)
				if r.IntN(2) == 0 {
					words[r.IntN(len(words))] = fmt.Sprintf("w%d", r.IntN(60))
				}
			}
			before = words
			fmt.Fprintf(&lines, `{"id":"%d-%d","created_at":"2016-01-01T00:00:00Z","text":%q}`+"\n", f, p, strings.Join(before, " "))
		}
		must(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.jsonl", f)), lines.Bytes(), 0o600))
	}
	return folder
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestForeign has a script in the place of a peer: what it reports is counted, and when it fails it says why.
func TestForeign(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("REFRAIN_PEERS", cache)
	must(t, os.Mkdir(filepath.Join(cache, "bin"), 0o755))
	posts := writePosts(t, 1, 300)
	for _, test := range []struct{ name, script, skipped string }{
		// Pair (1, 0) and nothing else; rows 10 of what it was given.
		{"runs", `printf '\001\000\000\000\000\000\000\000' >"$out"; echo '{"rows":10,"looked":10,"candidates":7,"note":"a note"}'`, ""},
		{"fails", `echo some trouble >&2; exit 3`, "some trouble"},
		{"says nothing", `: >"$out"`, "report"},
	} {
		t.Run(test.name, func(t *testing.T) {
			script := "#!/bin/sh\nwhile [ \"$1\" != --out ]; do shift; done\nout=$2\n" + test.script + "\n"
			must(t, os.WriteFile(filepath.Join(cache, "bin", "minhashlsh"), []byte(script), 0o755))
			s, table := mustCompare(t, "--data", posts, "--thresholds", "0.3", "--only", "minhash-lsh")
			r := s.Results[1]
			if test.skipped != "" {
				if !strings.Contains(r.Skipped, test.skipped) {
					t.Errorf("skipped %q, want %q in it", r.Skipped, test.skipped)
				}
				return
			}
			if r.Found+r.Wrong != 1 || r.Rows != 10 || r.Candidates != 7 || !strings.Contains(table, "a note") {
				t.Errorf("%+v %+v: want one pair of ten rows", r.score, r.report)
			}
		})
	}
}

// TestInstalled runs the real peers, where REFRAIN_PEERS names the folder that holds them.
func TestInstalled(t *testing.T) {
	if os.Getenv("REFRAIN_PEERS") == "" {
		t.Skip("REFRAIN_PEERS does not say where lab/bench/peers/install has put them")
	}
	s, table := mustCompare(t, "--data", writePosts(t, 2, 300), "--thresholds", "0.8")
	t.Log(table)
	for _, r := range s.Results {
		if r.Skipped != "" {
			t.Logf("skipped: %s: %s", r.What, r.Skipped)
			continue
		}
		if r.Wrong > 0 || 2*r.Found < r.True || r.Rows != s.Rows || r.Looked*r.Every < r.Rows {
			t.Errorf("%s: %+v %+v: want no wrong pair and half of the true ones", r.What, r.score, r.report)
		}
	}
}

func TestMix(t *testing.T) {
	long, short := &stream{name: "long"}, &stream{name: "short"}
	for i := range uint64(90) {
		long.add([]uint64{i % 60, 1000})
	}
	for i := range uint64(30) {
		short.add([]uint64{2000 + i})
	}
	c := mix([]*stream{long, short}, 1<<20, 1, 0)
	if c.rows() != 90 || c.distinct != 90 {
		t.Errorf("%d rows, %d distinct: want 60 and 30 of each once", c.rows(), c.distinct)
	}
	c = mix([]*stream{long, short}, 40, 2, 0)
	if c.distinct != 40 || c.sources[0].Rows != 30 || c.sources[1].Rows != 10 {
		t.Errorf("%d distinct of %v: want 30 of the long one and 10 of the short", c.distinct, c.sources)
	}
	c = mix([]*stream{long, short}, 1<<20, 2, 0)
	if c.rows() != 120 || c.distinct != 90 {
		t.Errorf("%d rows, %d distinct: want all 120 of 90", c.rows(), c.distinct)
	}
	for row := range c.rows() {
		for other := range row {
			if same := slices.Equal(c.set(row), c.set(other)); same != (c.groups[row] == c.groups[other]) {
				t.Fatalf("rows %d and %d are in groups %d and %d, same set: %v", row, other, c.groups[row], c.groups[other], same)
			}
		}
	}
	if c = mix([]*stream{long, short}, 1<<20, 2, 7); c.rows() != 7 {
		t.Errorf("%d rows, want 7", c.rows())
	}
}

// TestFormat writes the example of the format's description and reads it back as an engine does.
func TestFormat(t *testing.T) {
	c := &collection{}
	c.add([]uint64{7, 9}, 0)
	c.add([]uint64{9}, 1)
	c.number()
	must(t, c.sign(64, 1))
	if !slices.Equal(c.order, []uint64{7, 9}) || !slices.Equal(c.numbers, []uint32{0, 1, 1}) {
		t.Errorf("order %v, numbers %v: want 7 9 and 0 1 1", c.order, c.numbers)
	}
	folder := t.TempDir()
	must(t, c.write(folder))
	in, err := openRows(folder, 2)
	must(t, err)
	defer in.close()
	if !in.next() || !slices.Equal(in.block.set(0), c.set(0)) || !slices.Equal(in.block.set(1), c.set(1)) ||
		!slices.Equal(in.block.codes, c.codes) {
		t.Errorf("read %+v, want %+v", in.block, c)
	}
	if in.next() || in.err != nil {
		t.Errorf("after the end: %v, want neither a row nor an error", in.err)
	}
}

// TestBlocks reads more rows than a block holds.
func TestBlocks(t *testing.T) {
	c := randomCollection(t, 2*blockRows+5, 4)
	folder := t.TempDir()
	must(t, c.write(folder))
	in, err := openRows(folder, c.rows()-1)
	must(t, err)
	defer in.close()
	row := 0
	for in.next() {
		for i := range in.block.rows() {
			got, want := in.block.signature(i), c.codes[row*c.words:(row+1)*c.words]
			if in.block.first+i != row || !slices.Equal(in.block.set(i), c.set(row)) || !slices.Equal(got, want) {
				t.Fatalf("row %d is row %d: %v, want %v", row, in.block.first+i, in.block.set(i), c.set(row))
			}
			row++
		}
	}
	if row != c.rows()-1 || in.err != nil {
		t.Errorf("%d rows, %v: want %d", row, in.err, c.rows()-1)
	}
}

func randomCollection(t *testing.T, rows, size int) *collection {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	s := &stream{}
	for range rows {
		var set []uint64
		for range 1 + r.IntN(size) {
			set = append(set, r.Uint64N(50))
		}
		s.add(text.Set(set))
	}
	c := mix([]*stream{s}, 1<<20, 2, 0)
	c.number()
	must(t, c.sign(64, 1))
	return c
}

// TestCheck spoils a truth in each of the two ways.
func TestCheck(t *testing.T) {
	c := randomCollection(t, 200, 6)
	of := make([]bool, len(c.order))
	var truth []pair
	for row := range c.rows() {
		truth = append(truth, c.before(half, row, of)...)
	}
	if len(truth) < 10 {
		t.Fatalf("%d pairs: nothing to try", len(truth))
	}
	must(t, c.check(half, truth, c.rows()))
	if err := c.check(half, slices.Delete(slices.Clone(truth), 5, 6), c.rows()); err == nil {
		t.Error("a pair is missing, and the check does not say so")
	}
	for row := 1; row < c.rows(); row++ {
		if p := pair(row) << 32; !slices.Contains(truth, p) {
			if err := c.check(half, append(slices.Clone(truth), p), c.rows()); err == nil {
				t.Errorf("rows %d and 0 are not similar, and the check does not say so", row)
			}
			return
		}
	}
}

func TestScored(t *testing.T) {
	c := &collection{groups: []uint32{0, 1, 0, 2, 0}}
	at := func(later, earlier int) pair { return pair(later)<<32 | pair(earlier) }
	truth := []pair{at(1, 0), at(2, 0), at(2, 1), at(3, 0), at(4, 0)}
	got := c.scored(truth, []pair{at(1, 0), at(2, 0), at(3, 1), at(4, 0), at(4, 3)}, 5, 1)
	if want := (score{True: 5, Found: 3, TrueNear: 3, FoundNear: 1, Wrong: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	got = c.scored(truth, []pair{at(2, 1)}, 4, 2) // rows 0 and 2 are looked up
	if want := (score{True: 2, Found: 1, TrueNear: 1, FoundNear: 1}); got != want {
		t.Errorf("every second of four: %+v, want %+v", got, want)
	}
}

func TestReadSentences(t *testing.T) {
	lines := `{"tokens":["a","b","a"],"compared":true}
{"tokens":["c"],"compared":false}
{"tokens":["d"],"compared":true}
`
	var o options
	s, err := readSentences(strings.NewReader(lines), "f", o.progress())
	must(t, err)
	if s.len() != 2 || !slices.Equal(s.set(0), text.Set([]uint64{text.ID("a"), text.ID("b")})) ||
		!slices.Equal(s.set(1), []uint64{text.ID("d")}) {
		t.Errorf("%d sets, the first %v", s.len(), s.set(0))
	}
	if _, err := readSentences(strings.NewReader(lines+"{"), "f", o.progress()); err == nil ||
		!strings.Contains(err.Error(), "f: sentence 4") {
		t.Errorf("error %v, want one that names the place", err)
	}
}

// TestAtRows interpolates.
func TestAtRows(t *testing.T) {
	r := result{report: report{Growth: []point{{100, 1}, {200, 3}}}}
	for rows, want := range map[int]float64{50: 1e4, 100: 1e4, 150: 2e6 / 150, 200: 1.5e4, 201: 0} {
		if got := r.atRows(rows); got != want {
			t.Errorf("atRows(%d) = %v, want %v", rows, got, want)
		}
	}
}

func TestTable5(t *testing.T) {
	t.Setenv("REFRAIN_PEERS", t.TempDir())
	var out bytes.Buffer
	must(t, run(t.Context(), []string{"table5", "--data", writePosts(t, 2, 300), "--rows", "500", "--queries", "20",
		"--runs", "1"}, &out, io.Discard))
	for _, want := range []string{"| 50 |", "| 500 |", "plain Go", "PM-Tree", "window, prefix engine, θ 0.8",
		"skipped: FAISS Flat", "run lab/bench/peers/install"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	differ := table5{Columns: []column{{Cells: []searchers.Cell{{Hits: 3}}},
		{Name: "other", Cells: []searchers.Cell{{Hits: 4}}}}}
	if err := differ.agree(); err == nil {
		t.Error("columns with different hits agree")
	}
}

// TestUsage tries what a user can get wrong.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--thresholds", "2"}, {"--only", "nobody"}, {"--distinct", "0"}, {"surplus"}, {"--data", t.TempDir()},
		{"table5", "--rows", "5"}, {"table5", "--queries", "1000", "--rows", "100"}, {"engine", "nobody"},
	} {
		if err := run(context.Background(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
