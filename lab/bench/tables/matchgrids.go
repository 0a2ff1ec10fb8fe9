package tables

import (
	"fmt"

	"refrain/internal/units"
	"refrain/lab/report"
	"refrain/text"
)

func matchGrid(figures []MatchFigure, t text.Threshold) report.Grid {
	g := report.Grid{Caption: fmt.Sprintf("**θ %s**", decimal(t)),
		Head: []string{"engine", "µs a sentence, CPU", "by the clock", "against PPJoin", "candidates a sentence", "looked up",
			"matches", "window, bytes a sentence"}}
	last := figures[len(figures)-1]
	for _, f := range figures {
		bytes, against := "-", "-"
		if f.Bytes > 0 {
			bytes = fmt.Sprint(f.Bytes / int64(max(1, f.Sentences)))
		}
		if last.Engine == yardstick {
			against = units.Times(last.CPU / f.CPU)
		}
		lookedUp := "all"
		if f.Looked < f.Sentences {
			lookedUp = "a sample of " + units.Thousands(f.Looked)
		}
		g.Add(f.Engine, units.Three(f.CPU), units.Three(f.Wall), against,
			units.Three(float64(f.Candidates)/float64(max(1, f.Looked))), lookedUp, units.Thousands(int(f.Matches)), bytes)
	}
	return g
}

// growthGrid is ten steps of the window.
func growthGrid(figures []MatchFigure) report.Grid {
	g := report.Grid{Caption: "µs a sentence, CPU / by the clock, of the sentences up to so many in the window " +
		"since the line before:", Head: []string{"window"}}
	for _, f := range figures {
		g.Head = append(g.Head, f.Engine)
	}
	all := figures[0].Sentences
	for step := range 10 {
		above, upTo := step*all/10, (step+1)*all/10
		row, some := []any{units.Thousands(upTo)}, false
		for _, f := range figures {
			from, to := f.between(above, upTo)
			row, some = append(row, units.Three(meanBetween(f.Growth, from, to, Point.cpu))+" / "+
				units.Three(meanBetween(f.Growth, from, to, Point.wall))), some || from < to
		}
		if some {
			g.Add(row...)
		}
	}
	return g
}

// between are the points of windows above a size and up to another.
func (f *MatchFigure) between(above, upTo int) (from, to int) {
	for i, p := range f.Growth {
		if p.Sentences <= above {
			from = i + 1
		}
		if p.Sentences <= upTo {
			to = i + 1
		}
	}
	return from, to
}

// crossingGrid says where the scan is the cheaper engine.
func crossingGrid(all []crossing) report.Grid {
	g := report.Grid{Caption: "**Where scan and prefix cross**, by processor time a sentence:",
		Head: []string{"θ", "scan is cheaper", "both there, µs", "in a window of about", "prefix there, µs", "scan there, µs",
			"scan against prefix"}}
	for _, x := range all {
		both := "-"
		if x.at > 0 {
			both = units.Three(x.value)
		}
		g.Add(x.threshold, x.String(), both, units.Thousands(int(x.last)), units.Three(x.prefix), units.Three(x.scan),
			units.Times(x.scan/x.prefix))
	}
	return g
}

func (c *Config) matchNotes(r *report.Report, all []MatchFigure) {
	r.Note("%s, fewer where they take more than %v together, the engines in turns; token ids in, batches of %s, "+
		"span %.0f h; collection of garbage included", c.medians(), minEngineTime, units.Thousands(matchBatch), long.Hours())
	r.Note("an engine's figure is the whole detector: dictionary, look-up, verification, insertion with text and "+
		"post id, match; PPJoin keeps token numbers only and is given the order of the tokens up front; it is left "+
		"out below θ %g, where it takes many minutes", minPlainThreshold)
	r.Note("scan looks up a sample: all of a batch whenever the window has grown by a tenth, or by a fiftieth of " +
		"all; sentences between are only inserted and not timed, and the batch stands for them")
	r.Note("all found the same number of matches in every batch that they looked up")
	for _, f := range all {
		if p := f.Parts; p != nil {
			r.Note("prefix, θ %s: search %s, verification %s, add %s µs a sentence: the index alone %s of %s (one run, "+
				"driven without a window)",
				f.Threshold, units.Three(p.Search), units.Three(p.Verify), units.Three(p.Add), units.Three(p.Search+p.Verify+p.Add),
				units.Three(f.CPU))
		}
	}
	r.Note("where they cross: the last change counts, on curves whose steps grow by a third; a change before it is noise")
}
