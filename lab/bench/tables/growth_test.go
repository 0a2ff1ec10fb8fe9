package tables

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"refrain/detector"
	"refrain/internal/dataset"
)

// growthConfig has the engines of the product; it needs no data.
func growthConfig() *Config {
	engines := []Engine{{"prefix", detector.Prefix}, {"scan", detector.Scan}}
	return &Config{Runs: 1, Quick: true, Command: "refrain-lab bench growth", Engines: engines}
}

func smallGrowth() GrowthOptions {
	o := QuickGrowth()
	o.Rows, o.Lookups = []int{1000, 4000, 12_000}, 300
	return o
}

// TestGrowth: all engines look the same sentences up in the same windows, and find the same matches.
func TestGrowth(t *testing.T) {
	r, err := Growth(t.Context(), growthConfig(), smallGrowth())
	if err != nil {
		t.Fatal(err)
	}
	all := r.Figures.([]GrowthFigure)
	if len(all) != 18 || len(r.Grids) != 2 || len(r.Grids[0].Rows) != 9 {
		t.Fatalf("%d figures, %+v", len(all), r.Grids)
	}
	type cell struct {
		threshold string
		rows      int
	}
	matches := map[cell]float64{}
	for _, f := range all {
		k := cell{f.Threshold, f.Rows}
		if before, ok := matches[k]; ok && before != f.Matches {
			t.Errorf("%+v: others find %v matches", f, before)
		}
		matches[k] = f.Matches
		if f.Lookup <= 0 || f.Insert <= 0 || f.Bytes < 20 || f.Stall <= 0 || f.Process <= 0 || f.Candidates < f.Matches {
			t.Errorf("%+v", f)
		}
		if f.Met > 0 != (f.Engine != "scan") || f.Lists > 0 != (f.Engine == "prefix") {
			t.Errorf("what was read: %+v", f)
		}
	}
	if matches[cell{"0.6", 12_000}] == 0 {
		t.Error("no matches: nothing was tried")
	}
}

// TestGrowthInterrupted: what was measured until then is told.
func TestGrowthInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, measured := growthConfig(), 0
	c.Step = func(string, ...any) {
		if measured++; measured == 4 {
			cancel()
		}
	}
	r, err := Growth(ctx, c, smallGrowth())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Figures.([]GrowthFigure)); n != 4 || !strings.Contains(r.Markdown(), "interrupted: ") {
		t.Errorf("%d figures:\n%s", n, r.Markdown())
	}
	if _, err := Growth(ctx, c, smallGrowth()); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("before the first figure: %v", err)
	}
}

func TestGrowthOptions(t *testing.T) {
	for name, change := range map[string]func(o *GrowthOptions){
		"rows":       func(o *GrowthOptions) { o.Rows = []int{2, 1} },
		"no rows":    func(o *GrowthOptions) { o.Rows = nil },
		"lookups":    func(o *GrowthOptions) { o.Lookups = 0 },
		"engine":     func(o *GrowthOptions) { o.Engines = []string{"none"} },
		"thresholds": func(o *GrowthOptions) { o.Thresholds = []string{"2"} },
	} {
		o := smallGrowth()
		change(&o)
		if _, err := Growth(t.Context(), growthConfig(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

var full = flag.Bool("full", false, "the long versions of the tests")

// TestLikeness: made-up sentences cost about what real ones do. refrain-lab bench likeness shows all sizes.
func TestLikeness(t *testing.T) {
	if !*full {
		t.Skip("reads the whole data set: ./test all does, with -full")
	}
	c := growthConfig()
	c.Quick, c.Data = false, filepath.Dir(filepath.Dir(dataset.File(t, Ira)))
	o := DefaultLikeness()
	o.Rows = []int{400_000}
	r, err := Likeness(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Figures.([]LikenessFigure) {
		for name, of := range map[string]func(*Cost) float64{
			"entries with keys of one token": func(k *Cost) float64 { return k.Lists },
			"entries with keys of two":       func(k *Cost) float64 { return k.Pairs },
			"candidates":                     func(k *Cost) float64 { return k.Candidates },
		} {
			real, made := of(&f.Real), of(&f.MadeUp)
			t.Logf("θ %s: %s: real %.4g, made up %.4g", f.Threshold, name, real, made)
			if ratio := made / real; ratio < minLikeness[name] || ratio > 1/minLikeness[name] {
				t.Errorf("θ %s: %s: real %.4g, made up %.4g", f.Threshold, name, real, made)
			}
		}
	}
}

// minLikeness are least ratios of made up and real, and of real and made up.
var minLikeness = map[string]float64{
	"entries with keys of one token": .8, "entries with keys of two": .65, "candidates": .65,
}

// TestLikenessOfFew runs the table on small posts.
func TestLikenessOfFew(t *testing.T) {
	c := config(t, 3000)
	o := QuickLikeness()
	o.Rows = []int{500, 1500}
	r, err := Likeness(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	all := r.Figures.([]LikenessFigure)
	if len(all) != 4 || len(r.Grids) != 2 || len(r.Grids[0].Rows) != 2 {
		t.Fatalf("%d figures, %+v", len(all), r.Grids)
	}
	for _, f := range all {
		if f.Real.Lookup <= 0 || f.MadeUp.Lookup <= 0 || f.Real.Lists <= 0 || f.Real.Pairs <= 0 {
			t.Errorf("%+v", f)
		}
		if f.Real.Candidates < f.Real.Matches || f.Real.Matches <= 0 {
			t.Errorf("%+v", f)
		}
	}
}
