package paper

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"refrain/hashcodes"
	"refrain/internal/dataset"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/lab/report"
	"refrain/text"
)

func TestMain(m *testing.M) {
	quick.queries, quick.sentences, quick.words = 50, 200, 50
	os.Exit(m.Run())
}

// Ten sentences by hand. Words 1 to 10 have the codes of bits 1 to 10, word 11 has none, and the others one bit, 31.
//
//	group 0  1 2 3 4 5        three times  bits 1 2 3 4 5
//	group 1  1 2 3 4 5 11     once         the same: cosine 5/sqrt(30) = 0.91, Jaccard 5/6
//	group 2  1 2 3 4 6        twice        two bits differ: cosine 4/5, Jaccard 4/6
//	group 3  1 2 3 4          once         one bit differs: cosine 4/sqrt(20) = 0.89, Jaccard 4/5
//	group 4  1 2 7 8 9        once         six bits differ, cosine 2/5
//	group 5  1 2 3 4 11 12    twice        two bits differ (5, 31), cosine 4/sqrt(30) = 0.73
func byHand(t *testing.T, queries ...uint32) (*collection, *hashcodes.Model) {
	t.Helper()
	s := &corpus.Sentences{
		Sets: [][]uint64{{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 11}, {1, 2, 3, 4, 6}, {1, 2, 3, 4}, {1, 2, 7, 8, 9},
			{1, 2, 3, 4, 11, 12}},
		Groups: []uint32{0, 1, 0, 2, 3, 4, 5, 2, 0, 5},
	}
	var entries []hashcodes.Entry
	for w := range uint64(12) {
		e := hashcodes.Entry{Token: w + 1, Positions: []uint8{uint8(w + 1)}}
		switch e.Token {
		case 11:
			e.Positions = nil
		case 12:
			e.Positions = []uint8{31}
		}
		entries = append(entries, e)
	}
	m, err := hashcodes.New(hashcodes.Description{Bits: 32, Ones: 2, Learner: "hand", TextVersion: text.Version}, entries)
	if err != nil {
		t.Fatal(err)
	}
	p := newCollection("hand", s, 0, 1)
	p.queries = queries
	if err := p.search(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, m
}

func TestByHand(t *testing.T) {
	p, m := byHand(t, 0)
	c, err := p.count(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		d int
		truth
		found
	}{
		// By cosine 7 sentences are similar to the query, itself counted; by Jaccard 5.
		{0, truth{self: true}, found{4, 4, 7}},
		{0, truth{}, found{3, 3, 6}},
		{1, truth{self: true}, found{5, 5, 7}},
		{2, truth{self: true}, found{9, 7, 7}},
		{2, truth{}, found{8, 6, 6}},
		{5, truth{self: true}, found{9, 7, 7}},
		{6, truth{self: true}, found{10, 7, 7}},
		{0, truth{jaccard: true, self: true}, found{4, 4, 5}},
		{1, truth{jaccard: true}, found{4, 4, 4}},
		{2, truth{jaccard: true, self: true}, found{9, 5, 5}},
	} {
		if got := c.within(want.d, want.truth); got != want.found {
			t.Errorf("d = %d, Jaccard %v, self %v: %+v, want %+v", want.d, want.jaccard, want.self, got, want.found)
		}
	}
	if f := c.within(2, truth{}); f.precision() != 0.75 || f.recall() != 1 {
		t.Errorf("precision %g, recall %g", f.precision(), f.recall())
	}
	if f := c.within(0, truth{jaccard: true}); f.precision() != 1 || f.recall() != 0.75 {
		t.Errorf("precision %g, recall %g", f.precision(), f.recall())
	}
	for recall, want := range map[float64]int{0.5: 0, 0.7: 1, 1: 2} {
		if got := c.reaching(recall, truth{self: true}); got != want {
			t.Errorf("recall %g is reached at %d, want %d", recall, got, want)
		}
	}
	if l := c.level("hand", "hand", "hand", 0.7, truth{self: true}); l.Candidates != 5 || l.Truth != 7 || l.Distance != 1 {
		t.Errorf("%+v", l)
	}
}

// Queries add up, and one that nothing is like has a recall of 1 when itself is not counted.
func TestQueries(t *testing.T) {
	p, m := byHand(t, 0, 4, 0)
	c, err := p.count(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.within(0, truth{self: true}), (found{9, 9, 15}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	p, m = byHand(t, 4)
	if c, err = p.count(t.Context(), m); err != nil || c.within(0, truth{}).recall() != 1 ||
		c.within(0, truth{}).precision() != 1 {
		t.Errorf("%+v, %v", c.within(0, truth{}), err)
	}
}

// What is verified is what was counted.
func TestVerify(t *testing.T) {
	p, m := byHand(t, 0, 4)
	tab := p.table(m, 1)
	for d, want := range map[int]float64{0: 2.5, 2: 5, 5: 5.5, 6: 10} {
		c, err := p.count(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		v, err := tab.verify(t.Context(), d)
		if err != nil || v.Candidates != want || v.Candidates != float64(c.candidates[d])/2 || v.Queries != 2 {
			t.Errorf("d = %d: %+v, %v; want %g candidates, counted %d", d, v, err, want, c.candidates[d])
		}
	}
	if v, err := tab.first(3).verify(t.Context(), 32); err != nil || v.Candidates != 3 || v.Sentences != 3 {
		t.Errorf("%+v, %v", v, err)
	}
}

// The search for what is similar misses nothing that comparing all pairs finds.
func TestSearchIsComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := &corpus.Sentences{}
	for i := range uint32(600) {
		n := 4 + r.IntN(30)
		set := map[uint64]bool{}
		for len(set) < n {
			set[uint64(r.IntN(20+n))] = true
		}
		if i%3 > 0 { // like the one before
			set = map[uint64]bool{uint64(1000 + i): true}
			for _, token := range s.Sets[i-1][r.IntN(2):] {
				set[token] = true
			}
		}
		var list []uint64
		for token := range set {
			list = append(list, token)
		}
		slices.Sort(list)
		s.Sets, s.Groups = append(s.Sets, list), append(s.Groups, i)
	}
	p := newCollection("random", s, 600, 1)
	if err := p.search(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, byJaccard := 0, 0
	for q, list := range p.neighbours {
		want := map[neighbour]bool{}
		x := s.Sets[p.queries[q]]
		for g, y := range s.Sets {
			n := text.Intersection(x, y)
			if 25*n*n >= 16*len(x)*len(y) {
				want[neighbour{uint32(g), 5*n >= 4*(len(x)+len(y)-n)}] = true
			}
		}
		for _, n := range list {
			if !want[n] {
				t.Fatalf("%v is not similar to group %d", n, p.queries[q])
			}
			if n.jaccard {
				byJaccard++
			}
		}
		if len(want) != len(list) {
			t.Fatalf("query %d: %d similar groups, want %d", q, len(list), len(want))
		}
		all += len(list)
	}
	if all < 900 || byJaccard < 600 || byJaccard == all {
		t.Errorf("%d similar pairs, %d by Jaccard, prove little", all, byJaccard)
	}
}

// No query's token set is learned from.
func TestWithoutQueries(t *testing.T) {
	p, _ := byHand(t, 0, 5)
	got := slices.Collect(p.withoutQueries())
	if len(got) != 5 || len(got[0]) != 6 || len(got[1]) != 5 || len(got[2]) != 4 {
		t.Errorf("got %v", got)
	}
}

// writeData writes a data set with small files for some corpora.
func writeData(t *testing.T, names ...string) string {
	t.Helper()
	data := t.TempDir()
	words := strings.Fields("we they all some few more less than then when here there over under bank oil rate ship plan year")
	for i, name := range names {
		c, err := corpus.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(i), 7))
		var b bytes.Buffer
		w := compressor(t, &b, c.File)
		for range 300 {
			var post []string
			for range 8 {
				post = append(post, words[min(r.IntN(20), r.IntN(20))]+words[r.IntN(20)])
			}
			line, err := json.Marshal(map[string]any{"id": "1", "lang": "en", "created_at": 1_700_000_000,
				"text": strings.Join(post, " ")})
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + r.IntN(2) {
				if _, err := w.Write(append(line, '\n')); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(data, c.File)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

func compressor(t *testing.T, to io.Writer, name string) io.WriteCloser {
	if strings.HasSuffix(name, ".gz") {
		return gzip.NewWriter(to)
	}
	w, err := zstd.NewWriter(to)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Every table comes out of small files, is written between its markers with its plot beside it, and is the same again
// from the models that were kept.
func TestTables(t *testing.T) {
	data := writeData(t, append(corpora, "pheme", "ag_news", "xwlb", "zhihu")...)
	folder := t.TempDir()
	run := func(models string) map[string]string {
		c := &eval.Config{Data: data, Quick: true, Seed: 1, Command: "refrain-lab eval", Folder: folder, Models: models}
		got := map[string]string{}
		for name, measure := range map[string]func(context.Context, *eval.Config) (*report.Report, error){
			"table1": Table1, "table2": Table2, "table3": Table3, "table4": Table4, "fig4": Figure4, "fig5": Figure5,
			"fig7": Figure7, "fig8": Figure8, "ner": NER, "solver": Solver,
		} {
			r, err := measure(t.Context(), c)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if r.Name != name || len(r.Grids) == 0 || r.Data == "" || r.Figures == nil {
				t.Errorf("%s: %+v", name, r)
			}
			for _, g := range r.Grids {
				for _, row := range g.Rows {
					if len(row) != len(g.Head) {
						t.Errorf("%s: a row of %d cells below %d heads: %v", name, len(row), len(g.Head), row)
					}
				}
			}
			if strings.HasPrefix(name, "fig") {
				svg, err := os.ReadFile(filepath.Join(folder, "eval-"+name+".svg"))
				if err != nil || r.Plot != "eval-"+name+".svg" || strings.Count(string(svg), "<polyline") < 6 ||
					strings.Contains(string(svg), "NaN") {
					t.Errorf("%s: %v, %d bytes", name, err, len(svg))
				}
			}
			if name != "fig7" && name != "fig8" { // there are times in these
				got[name] = r.Markdown()
			}
		}
		return got
	}
	models := t.TempDir()
	first := run(models)
	again := run(models)
	for name, markdown := range first {
		if again[name] != markdown {
			t.Errorf("%s differs:\n%s\n%s", name, markdown, again[name])
		}
	}
}

// A table whose context has ended says so, wherever it is.
func TestInterrupted(t *testing.T) {
	data := writeData(t, corpora...)
	for _, after := range []time.Duration{0, 20 * time.Millisecond, 200 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		c := &eval.Config{Data: data, Quick: true, Seed: 1}
		_, err := Table3(ctx, c)
		cancel()
		if err != nil && !strings.Contains(err.Error(), "interrupted") || err == nil && after == 0 {
			t.Errorf("after %v: %v", after, err)
		}
	}
}

// A quick run on the real data stays quick, and its figures make sense.
func TestQuickOnRealData(t *testing.T) {
	data := filepath.Dir(filepath.Dir(dataset.File(t, "news/reuters21578_to_1987-03-31.jsonl.gz")))
	for _, name := range []string{"stream/weibo_ced_2010-2012.jsonl.zst"} {
		dataset.File(t, name)
	}
	c := &eval.Config{Data: data, Quick: true, Seed: 1}
	r, err := Table2(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Figures.([]Found) {
		if f.Candidates < f.Queries || f.Truth[0].Recall < f.Truth[1].Recall || f.Truth[0].Recall <= 0 ||
			f.Truth[0].Precision <= 0 {
			t.Errorf("%+v", f)
		}
	}
}
