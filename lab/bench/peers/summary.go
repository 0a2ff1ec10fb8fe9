package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"refrain/internal/units"
	reports "refrain/lab/report"
)

// conditions say under which figures came about.
type conditions struct {
	Machine  string   `json:"machine"`
	Go       string   `json:"go"`
	Date     string   `json:"date"`
	Command  string   `json:"command"`
	Rows     int      `json:"rows"`
	Distinct int      `json:"distinct"`
	Tokens   int      `json:"tokens"`
	Bytes    int64    `json:"bytes"` // of the arrays that all peers read
	Sources  []source `json:"sources"`
}

func (c *collection) conditions() conditions {
	return conditions{
		Machine: reports.Machine(), Go: runtime.Version(), Date: time.Now().UTC().Format(time.DateOnly),
		Command: "go run ./lab/bench/peers " + strings.Join(os.Args[1:], " "),
		Rows:    c.rows(), Distinct: c.distinct, Tokens: len(c.tokens), Bytes: c.bytes(), Sources: c.sources,
	}
}

// writer prints, and keeps the first error for the end.
type writer struct {
	out io.Writer
	err error
}

func (w *writer) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
	}
}

func (c *conditions) print(w *writer) {
	w.line("Machine: %s, %s. Date: %s. Command: `%s`.", c.Machine, c.Go, c.Date, strings.TrimSpace(c.Command))
	var sources []string
	for _, s := range c.Sources {
		sources = append(sources, fmt.Sprintf("%s (%s)", s.File, units.Thousands(s.Rows)))
	}
	w.line("Data: %s sentences of %s distinct token sets, %.1f tokens each, mixed in proportion: %s.\n",
		units.Thousands(c.Rows),
		units.Thousands(c.Distinct), float64(c.Tokens)/float64(c.Rows), strings.Join(sources, ", "))
}

// summary is the whole of the first table.
type summary struct {
	conditions
	Bits      int      `json:"bits"`
	Ones      int      `json:"ones"`
	Checked   int      `json:"checked"`
	Results   []result `json:"results"`
	yardstick *result
}

func (o *options) summarise(c *collection, results []result) *summary {
	return &summary{conditions: c.conditions(), Bits: o.bits, Ones: o.ones, Checked: o.sample, Results: results}
}

func (s *summary) print(out io.Writer) error {
	w := &writer{out: out}
	s.conditions.print(w)
	for i := range s.Results {
		r := &s.Results[i]
		if i == 0 || s.Results[i-1].Threshold != r.Threshold {
			w.line("%s### Jaccard >= %s\n", separator(i), r.Threshold)
			w.line("| | rows | µs a row | against PPJoin | recall | near | precision of candidates | candidates a row | " +
				"peak memory | process |")
			w.line("|---|---|---|---|---|---|---|---|---|---|")
		}
		if r.Peer == yardstick {
			s.yardstick = r
		}
		if r.Skipped == "" {
			w.line("%s", s.row(r))
		}
	}
	s.notes(w)
	return w.err
}

func separator(i int) string {
	if i == 0 {
		return ""
	}
	return "\n"
}

func (s *summary) row(r *result) string {
	name := r.What
	if r.Note != "" {
		name += " (" + r.Note + ")"
	}
	rows := units.Thousands(r.Rows)
	if r.Every > 1 {
		rows += fmt.Sprintf(", %s looked up", units.Thousands(r.Looked))
	}
	against := "1 x"
	if r.Peer != yardstick {
		against = fmt.Sprintf("%.2g x", r.microseconds()/s.yardstick.atRows(r.Rows))
	}
	return fmt.Sprintf("| %s | %s | %.2f | %s | %s | %s | %s | %.2f | %s | %.0f s |", name, rows, r.microseconds(), against,
		share(r.Found, r.True), share(r.FoundNear, r.TrueNear), share(r.Found, r.Candidates),
		float64(r.Candidates)/float64(max(1, r.Looked)), units.Bytes(r.PeakBytes), r.TotalSeconds)
}

// share is a part of a whole: 1 only when it is all of it.
func share(part, total int) string {
	switch {
	case total == 0:
		return "-"
	case part == total:
		return "1"
	}
	return fmt.Sprintf("%.4f", min(float64(part)/float64(total), 0.9999))
}

func (s *summary) notes(w *writer) {
	w.line("\nOne thread each, a process each. µs a row: to take it in and to look it up among those before it, " +
		"verification included; start")
	w.line("and reading only in the last column. A peer with fewer rows was given fewer or ran out of time; its " +
		"recall is among the")
	w.line("rows it looked up, and it is compared with PPJoin at as many rows. Near: recall on pairs of sets that " +
		"are not the same.")
	w.line("Peak memory holds what a peer read of the arrays, %s in all; Go engines stream theirs. Signatures: %d "+
		"bits, %d a token.",
		units.Bytes(s.Bytes), s.Bits, s.Ones)
	w.line("The truth is PPJoin's, every pair verified, and for %d rows compared with brute force.", s.Checked)
	wrong := false
	for _, r := range s.Results {
		if r.Wrong > 0 {
			wrong = true
			w.line("%s at %s reported %d pairs that are not true.", r.What, r.Threshold, r.Wrong)
		}
		if r.Skipped != "" {
			w.line("Skipped: %s at %s: %s.", r.What, r.Threshold, r.Skipped)
		}
	}
	if !wrong {
		w.line("After verification no peer reported a pair that is not true.")
	}
}
