package tables

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"refrain/internal/units"
	"refrain/lab/bench/stages"
	"refrain/lab/report"
)

// StagesOptions are what Stages asks besides.
type StagesOptions struct {
	File  string // "": the ira file
	Posts int    // 0: all
}

// StageFigure is one stage of the route: medians of the runs, a post.
type StageFigure struct {
	Span   string  `json:"span"`
	Stage  string  `json:"stage"`
	CPU    float64 `json:"cpu"` // µs
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`
}

// Stages says where the time of a post goes.
func Stages(ctx context.Context, c *Config, o StagesOptions) (*report.Report, error) {
	if o.File == "" {
		var err error
		if o.File, err = c.file(size(c, Ira, smallFile)); err != nil {
			return nil, err
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // else the collector works beside the stages, on their account
	r := c.report("stages", "Where the time of a post goes in `detect`: the stages one after the other on one "+
		"thread, θ 0.8, engine auto.",
		filepath.Base(o.File))
	var all []StageFigure
	for _, span := range []string{"24h", "87600h"} {
		figures, t, err := c.stages(ctx, o, span)
		if err != nil {
			return nil, err
		}
		g := report.Grid{Caption: fmt.Sprintf("**span %s**: %s posts, %s sentences compared, %s events", span,
			units.Thousands(t.Posts), units.Thousands(t.Sentences), units.Thousands(t.Events)),
			Head: []string{"stage", "µs/post, CPU", "allocations/post", "bytes/post", "what it does"}}
		for i, f := range figures {
			what := ""
			if i < len(t.Stages) {
				what = t.Stages[i].WhatItDoes
			}
			g.Add(f.Stage, units.Three(f.CPU), fmt.Sprintf("%.2f", f.Allocs), units.Thousands(int(f.Bytes)), what)
		}
		c.step("stages: span %s: %.2f µs a post", span, figures[len(figures)-1].CPU)
		all, r.Grids = append(all, figures...), append(r.Grids, g)
	}
	r.Figures = all
	r.Note("%s; a stage pays for the collection of garbage while it runs", c.medians())
	return r, nil
}

// stages runs the route several times; the last figure is the sum.
func (c *Config) stages(ctx context.Context, o StagesOptions, span string) ([]StageFigure, *stages.Table, error) {
	m, err := model()
	if err != nil {
		return nil, nil, err
	}
	engine, err := c.engine(automatic)
	if err != nil {
		return nil, nil, err
	}
	long, err := time.ParseDuration(span)
	if err != nil {
		return nil, nil, err
	}
	var runs []stages.Table
	for run := range c.Runs {
		c.status("stages: span %s, run %d of %d", span, run+1, c.Runs)
		cfg := stages.Default()
		cfg.Path, cfg.Posts = o.File, o.Posts
		cfg.Window.Span, cfg.Window.Model, cfg.Window.Engine = long, m, engine
		t, err := stages.Measure(ctx, cfg)
		if err := interrupted(ctx); err != nil {
			return nil, nil, err
		}
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, t)
	}
	return stageMedians(runs, span), &runs[0], nil
}

func stageMedians(runs []stages.Table, span string) (figures []StageFigure) {
	all := StageFigure{Span: span, Stage: "all"}
	for i, s := range runs[0].Stages {
		f := StageFigure{Span: span, Stage: s.Name}
		for _, part := range []struct {
			to    *float64
			value func(stages.Stage) float64
		}{
			{&f.CPU, func(s stages.Stage) float64 { return float64(s.CPU) / 1e3 }},
			{&f.Allocs, func(s stages.Stage) float64 { return float64(s.Allocs) }},
			{&f.Bytes, func(s stages.Stage) float64 { return float64(s.Bytes) }},
		} {
			var values []float64
			for _, t := range runs {
				values = append(values, part.value(t.Stages[i])/float64(max(1, t.Posts)))
			}
			*part.to = median(values)
		}
		all.CPU, all.Allocs, all.Bytes = all.CPU+f.CPU, all.Allocs+f.Allocs, all.Bytes+f.Bytes
		figures = append(figures, f)
	}
	return append(figures, all)
}
