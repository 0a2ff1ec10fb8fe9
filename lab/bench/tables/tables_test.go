package tables

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/lab/report"
	"refrain/sigstore"
	"refrain/sigstore/prefix"
)

// config is for small posts of two files. Scan stands for auto.
func config(t *testing.T, posts int) *Config {
	t.Helper()
	data := t.TempDir()
	if err := os.Mkdir(filepath.Join(data, "stream"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"a", "b"} {
		var b bytes.Buffer
		for i := range posts {
			// Posts come in threes that differ by a word, and every seventh is like some of the first, late in the file too.
			n := i - i%3
			if i%7 == 6 {
				n = i % 99
			}
			fmt.Fprintf(&b, `{"id":"%d","created_at":%d,"text":"says %s%d that %d and %d be %d or %d with %d"}`+"\n",
				i, 1_700_000_000+i, file, n, n*7, n*11, n*13, n*17, i%50)
		}
		if err := os.WriteFile(filepath.Join(data, "stream", file+".jsonl"), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index := func(b *hashcodes.Bounds, _ *hashcodes.Model) sigstore.Engine { return prefix.New(b) }
	return &Config{Data: data, Runs: 2, Quick: true, Command: "refrain-lab bench", Engines: []Engine{
		{"prefix", index}, {"scan", detector.Scan}, {"auto", detector.Scan}}}
}

func TestKernels(t *testing.T) {
	r, err := Kernels(t.Context(), config(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	all := r.Figures.([]KernelFigure)
	if len(all) == 0 || len(all) != len(r.Grids[0].Rows) || len(all)%8 != 0 {
		t.Fatalf("%d figures, %d rows", len(all), len(r.Grids[0].Rows))
	}
	for _, f := range all {
		if f.PerSecond <= 0 || f.Bound <= 0 || f.Kernel == "go" && f.AgainstGo != 1 {
			t.Errorf("%+v", f)
		}
	}
}

func TestMatch(t *testing.T) {
	c := config(t, 3000)
	svg := filepath.Join(t.TempDir(), "x.svg")
	o := QuickMatch()
	o.Sentences, o.SVG = 2500, svg
	r, err := Match(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	all := r.Figures.([]MatchFigure)
	if len(all) != 8 || len(r.Grids) != 7 || len(r.Grids[6].Rows) != 3 || r.Plot != "x.svg" {
		t.Fatalf("%d figures, %d grids, plot %q", len(all), len(r.Grids), r.Plot)
	}
	for _, f := range all {
		if f.Sentences != 2500 || f.Looked != 2500 || f.CPU <= 0 || f.Matches < 100 || f.Matches > f.Candidates ||
			f.Growth[len(f.Growth)-1].Sentences != 2500 {
			t.Errorf("%+v", f)
		}
		if f.Engine == "prefix" && (f.Parts.Matches != f.Matches || f.Parts.Hits > f.Candidates) {
			t.Errorf("the index alone: %+v; the detector: %d matches of %d", f.Parts, f.Matches, f.Candidates)
		}
	}
	drawn, err := os.ReadFile(svg)
	if err != nil || bytes.Count(drawn, []byte("<polyline")) != 8 || bytes.Contains(drawn, []byte("NaN")) ||
		bytes.Contains(drawn, []byte("Inf")) {
		t.Errorf("%v: %s", err, drawn)
	}
}

// A sample takes the first batches, and later ones less and less often, but some in every step of the curves.
func TestSample(t *testing.T) {
	const all = 400_000
	some, full, f := sample{all: all}, MatchFigure{}, MatchFigure{}
	for from, to := 0, 0; from < all; from = to {
		to = nextBatch(from, all)
		p := Point{Sentences: to, CPU: 1, Wall: 1}
		full.Growth = append(full.Growth, p)
		if some.includes(from, to) {
			f.Growth = append(f.Growth, p)
		}
	}
	if n := len(f.Growth); n > 100 || n < 60 || f.Growth[19].Sentences != 12_000 {
		t.Errorf("%d batches of %d: %v", n, len(full.Growth), f.Growth)
	}
	for _, k := range curves([]MatchFigure{f, full}) {
		for i, v := range k.values {
			if v != 1 {
				t.Errorf("no batch in the step at %g", k.sizes[i])
			}
		}
	}
}

// An engine that loses matches is found out.
func TestMatchDisagrees(t *testing.T) {
	c := config(t, 2000)
	whole := c.Engines[0].Make
	c.Engines[0].Make = func(b *hashcodes.Bounds, m *hashcodes.Model) sigstore.Engine {
		e := whole(b, m)
		return func(rows sigstore.Rows) sigstore.Index { return lossy{e(rows)} }
	}
	o := QuickMatch()
	o.Sentences = 1000
	if _, err := Match(t.Context(), c, o); err == nil || !strings.Contains(err.Error(), "matches") {
		t.Errorf("match: got %v, want that the engines disagree", err)
	}
	if _, err := EngineGrid(t.Context(), c); err == nil || !strings.Contains(err.Error(), "matches") {
		t.Errorf("engines: got %v, want that the engines disagree", err)
	}
}

// lossy finds nothing.
type lossy struct{ sigstore.Index }

func (lossy) Search([]sigstore.Query) {}

func TestCrossings(t *testing.T) {
	figure := func(engine string, cost func(rows int) float64) MatchFigure {
		f := MatchFigure{Engine: engine, Threshold: "0.8"}
		for n := 1; n <= 400; n++ {
			c := cost(1000 * n)
			f.Growth = append(f.Growth, Point{Sentences: 1000 * n, CPU: c, Wall: c})
		}
		return f
	}
	flat := figure("prefix", func(int) float64 { return 10 })
	for _, c := range []struct {
		slope float64
		want  string
	}{{1e-4, "below "}, {1, "never"}, {1e-9, "always"}} {
		got := crossings([]MatchFigure{flat, figure("scan", func(rows int) float64 { return c.slope * float64(rows) })})
		if len(got) != 1 || !strings.Contains(got[0].String(), c.want) {
			t.Errorf("slope %g: %v, want %s", c.slope, got, c.want)
		}
		if at := got[0].at; at != 0 && (at < 95_000 || at > 105_000) {
			t.Errorf("they cross at %g, want 100,000", at)
		}
	}
}

func TestEngineGrid(t *testing.T) {
	r, err := EngineGrid(t.Context(), config(t, 3000))
	if err != nil {
		t.Fatal(err)
	}
	all := r.Figures.([]EngineFigure)
	if len(all) != 8 || len(r.Grids[0].Rows) != 8 {
		t.Fatalf("%d figures", len(all))
	}
	for _, f := range all {
		if f.Best == "" || f.Best == automatic || f.Ratio <= 0 || f.Lookup[f.Best] <= 0 || f.Matches == 0 {
			t.Errorf("%+v", f)
		}
	}
}

func TestTable5(t *testing.T) {
	r, err := Table5(t.Context(), config(t, 2000), Table5Options{Rows: 1000, Queries: 50})
	if err != nil {
		t.Fatal(err)
	}
	all := r.Figures.([]Table5Figure)
	if len(all) < 5 || len(r.Grids[0].Rows) != 10 || all[0].Cells[9].Hits < 50 || !all[len(all)-1].Window ||
		all[len(all)-1].Cells[9].Hits < 50 {
		t.Errorf("%d columns, %d rows, %d hits", len(all), len(r.Grids[0].Rows), all[0].Cells[9].Hits)
	}
	all[len(all)-1].Cells[9].Hits--
	if err := sameHits(all); err == nil || !strings.Contains(err.Error(), "prefix") {
		t.Errorf("got %v, want that the windows disagree", err)
	}
	if _, err := Table5(t.Context(), config(t, 10), Table5Options{Rows: 10, Queries: 50}); err == nil {
		t.Error("more queries than rows are no error")
	}
}

func TestStages(t *testing.T) {
	c := config(t, 2000)
	r, err := Stages(t.Context(), c, StagesOptions{File: filepath.Join(c.Data, "stream", "a.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	all := r.Figures.([]StageFigure)
	sum := 0.0
	for _, f := range all[:len(all)/2-1] {
		sum += f.CPU
	}
	if last := all[len(all)/2-1]; len(r.Grids) != 2 || last.Stage != "all" || last.CPU != sum || sum <= 0 {
		t.Errorf("%+v, want a sum of %g", last, sum)
	}
}

func TestFillMemory(t *testing.T) {
	c := config(t, 2000)
	var with, without MemoryFigure
	for _, f := range []*MemoryFigure{&with, &without} {
		var out bytes.Buffer
		if err := FillMemory(t.Context(), c, 1500, f == &with, &out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out.Bytes(), f); err != nil {
			t.Fatal(err)
		}
	}
	if with.Distinct != 1500 || with.Distinct != without.Distinct || with.Window <= without.Window ||
		with.Index != without.Index ||
		with.Index <= 0 || with.Window > with.Heap || with.Heap > with.RSS {
		t.Errorf("with texts %+v, without %+v", with, without)
	}
}

func TestSummary(t *testing.T) {
	const said = "1000 posts in 2ms (4 posts/s), 0 rejected, 0 changed\n1200 sentences compared, 1 too short, 0 " +
		"delivered again, 0 late\n" +
		"1 event; the window holds 70 texts, 80 occurrences, 1.0MB\n"
	var f DetectFigure
	if err := f.read(said); err != nil || f.Posts != 1000 || f.Sentences != 1200 || f.Events != 1 || f.Distinct != 70 {
		t.Errorf("%+v, %v", f, err)
	}
	if err := f.read("nothing"); err == nil {
		t.Error("no summary is no error")
	}
}

// A flood of n variants without a cap is every pair once; with a cap of most a look-up that has more verifies one more than
// that, and reports the first of them.
func TestFloodCaps(t *testing.T) {
	const n, most = 60, 20
	caps, err := config(t, 10).floodCaps(t.Context(), FloodOptions{Alone: n, MaxMatches: []int{most}})
	if err != nil || len(caps) != 2 {
		t.Fatal(caps, err)
	}
	for i, want := range []CapFigure{
		{MaxMatches: most, Lookups: n, Verifications: most*(most+1)/2 + (n-most-1)*(most+1),
			Events: most*(most+1)/2 + (n-most-1)*reported, Truncated: n - most - 1},
		{Lookups: n, Verifications: n * (n - 1) / 2, Events: n * (n - 1) / 2},
	} {
		got := caps[i]
		if got.CPU <= 0 {
			t.Errorf("%+v took no time", got)
		}
		if got.CPU = 0; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// What did not come counts as the greatest.
func TestFloodWaits(t *testing.T) {
	var f FloodFigure
	l := load{events: make([]time.Duration, 98), flooded: flooded{posts: map[string]bool{"f1": true, "f2": false}}}
	if f.steady(&l, 100, 0); f.P50 != 0 || wait(f.P99) != "did not come" || f.Events != 98 || f.Flagged != 1 ||
		f.FloodPosts != 2 {
		t.Errorf("%+v", f)
	}
	if f.steady(&l, 98, 0); f.P99 != 0 {
		t.Errorf("all came: %+v", f)
	}
}

func TestNoData(t *testing.T) {
	c := &Config{Data: t.TempDir(), Runs: 1, Quick: true}
	for name, measure := range map[string]func() (*report.Report, error){
		"match":    func() (*report.Report, error) { return Match(t.Context(), c, QuickMatch()) },
		"likeness": func() (*report.Report, error) { return Likeness(t.Context(), c, QuickLikeness()) },
		"engines":  func() (*report.Report, error) { return EngineGrid(t.Context(), c) },
		"table5":   func() (*report.Report, error) { return Table5(t.Context(), c, QuickTable5()) },
		"memory":   func() (*report.Report, error) { return Memory(t.Context(), c, 0) },
		"stages":   func() (*report.Report, error) { return Stages(t.Context(), c, StagesOptions{}) },
		"detect":   func() (*report.Report, error) { return Detect(t.Context(), c, DefaultDetect()) },
		"latency":  func() (*report.Report, error) { return Latency(t.Context(), c, QuickLatency()) },
		"flood":    func() (*report.Report, error) { return Flood(t.Context(), c, QuickFlood()) },
	} {
		if _, err := measure(); !errors.Is(err, ErrNoData) {
			t.Errorf("%s: %v, want ErrNoData", name, err)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := config(t, 2000)
	for name, measure := range map[string]func() (*report.Report, error){
		"kernels": func() (*report.Report, error) { return Kernels(ctx, c) },
		"match":   func() (*report.Report, error) { return Match(ctx, c, QuickMatch()) },
		"engines": func() (*report.Report, error) { return EngineGrid(ctx, c) },
		"table5":  func() (*report.Report, error) { return Table5(ctx, c, QuickTable5()) },
	} {
		if _, err := measure(); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("%s: %v, want that it was interrupted", name, err)
		}
	}
}
