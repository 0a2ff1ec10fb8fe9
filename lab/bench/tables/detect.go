package tables

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"refrain/detector"
	"refrain/internal/units"
	"refrain/lab/report"
)

// DetectOptions are what Detect asks besides.
type DetectOptions struct {
	File  string // "": the ira file
	Spans []string
}

// DefaultDetect is the table's, and a quick run's: the span of the program, and one that lets nothing go.
func DefaultDetect() DetectOptions {
	return DetectOptions{Spans: []string{units.FormatDuration(detector.Default().Span), units.FormatDuration(long)}}
}

// DetectFigure is `detect` at one span.
type DetectFigure struct {
	Span      string  `json:"span"`
	Texts     bool    `json:"keepsTexts"`
	Posts     int     `json:"posts"`
	PerSecond float64 `json:"perSecond"` // posts, from the start of the process to its end
	CPU       float64 `json:"cpu"`       // µs a post
	Sentences int     `json:"sentences"`
	Distinct  int     `json:"distinct"` // sentences in the window at the end
	Events    int     `json:"events"`
	Peak      int64   `json:"peak"` // bytes, RSS
}

// Detect measures the program end to end, as a process of its own.
func Detect(ctx context.Context, c *Config, o DetectOptions) (*report.Report, error) {
	if err := wantSome("spans", o.Spans); err != nil {
		return nil, err
	}
	if o.File == "" {
		var err error
		if o.File, err = c.file(size(c, Ira, smallFile)); err != nil {
			return nil, err
		}
	}
	r := c.report("detect", "`refrain detect --span SPAN FILE > /dev/null`, θ 0.8, reading and decompressing, "+
		"start and end of the process included.",
		filepath.Base(o.File))
	g := report.Grid{Head: []string{"span", "posts/s", "CPU, µs a post", "peak RSS", "distinct sentences in the window",
		"peak RSS a distinct sentence", "events"}}
	var all []DetectFigure
	for i := range len(o.Spans) + 1 { // the last span without texts too
		span, texts := o.Spans[min(i, len(o.Spans)-1)], i < len(o.Spans)
		f, err := c.detect(ctx, o.File, span, texts)
		if err != nil {
			return nil, err
		}
		if !texts {
			span += ", --texts=false"
		}
		c.step("detect --span %s: %s posts/s, %s", span, units.Three(f.PerSecond), units.Bytes(f.Peak))
		each := "-"
		if f.Distinct > 0 {
			each = units.Thousands(int(f.Peak)/f.Distinct) + " B"
		}
		g.Add(span, units.Three(f.PerSecond), units.Three(f.CPU), units.Bytes(f.Peak), units.Thousands(f.Distinct), each,
			units.Thousands(f.Events))
		all = append(all, *f)
	}
	r.Data += fmt.Sprintf(": %s posts, %s sentences compared", units.Thousands(all[0].Posts), units.Thousands(all[0].Sentences))
	r.Grids, r.Figures = []report.Grid{g}, all
	r.Note("%s, a process each, the peak the greatest of them; it holds what decompressing takes (64 MB of the ira file)",
		c.medians())
	return r, nil
}

// smallFile is what quick runs read.
const smallFile = "stream/pheme_ottawa_germanwings.jsonl.gz"

func (c *Config) detect(ctx context.Context, file, span string, texts bool) (*DetectFigure, error) {
	var rates, cpus []float64
	f := &DetectFigure{Span: span, Texts: texts}
	for run := range c.Runs {
		c.status("detect --span %s, run %d of %d", span, run+1, c.Runs)
		begin := time.Now()
		p, err := c.run(ctx, "detect", "--span", span, "--texts="+strconv.FormatBool(texts), file)
		if err != nil {
			return nil, err
		}
		took := time.Since(begin)
		if err := f.read(p.stderr.String()); err != nil {
			return nil, err
		}
		state := p.cmd.ProcessState
		rates = append(rates, float64(f.Posts)/took.Seconds())
		cpus = append(cpus, float64(state.UserTime()+state.SystemTime())/1e3/float64(max(1, f.Posts)))
		f.Peak = max(f.Peak, p.peak)
	}
	f.PerSecond, f.CPU = median(rates), median(cpus)
	return f, nil
}

// summary is what detect says at its end.
var summary = regexp.MustCompile(`(?m)^(\d+) posts? in [\s\S]*?^(\d+) sentences? compared[\s\S]*?^(\d+) events?; the window holds (\d+) texts?`)

func (f *DetectFigure) read(stderr string) error {
	found := summary.FindStringSubmatch(stderr)
	if found == nil {
		return fmt.Errorf("detect says nothing that can be read: %s", lastLines(stderr, 5))
	}
	for i, to := range []*int{&f.Posts, &f.Sentences, &f.Events, &f.Distinct} {
		n, err := strconv.Atoi(found[i+1])
		if err != nil {
			return err
		}
		*to = n
	}
	return nil
}
