package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/plan"
)

// archiveFlags are those of plan that are for --backfill alone.
const archiveFlags = "posts slice keep within"

func (f *planFlags) addArchive(to *pflag.FlagSet) {
	to.BoolVar(&f.isArchive, "backfill", false, "plan for an archive of such a feed, and refrain backfill")
	to.Float64Var(&f.archive.Posts, "posts", f.archive.Posts, "with --backfill: posts of the archive, as in 1e9")
	to.StringVar(&f.slice, "slice", "7d", "with --backfill: as of refrain backfill")
	to.StringVar(&f.keep, "keep", "", "with --backfill: first, as of refrain backfill")
	to.StringVar(&f.within, "within", units.FormatDuration(f.archive.Within),
		"with --backfill: how long it may take, on as many machines as that needs")
}

// parseArchive refuses what only one of both kinds of plans has.
func (f *planFlags) parseArchive(flags *pflag.FlagSet) (err error) {
	for name := range strings.FieldsSeq(archiveFlags) {
		if flags.Changed(name) && !f.isArchive {
			return usage("--%s is for --backfill", name)
		}
	}
	for name := range strings.FieldsSeq("peak max-hold network gpus gpu-memory") {
		if flags.Changed(name) && f.isArchive {
			return usage("--%s is not for --backfill", name)
		}
	}
	if f.keep != "" && f.keep != "first" {
		return usage("--keep %q: want first", f.keep)
	}
	f.archive.KeepFirst = f.keep == "first"
	var errSlice, errWithin error
	f.archive.Slice, errSlice = units.ParseDuration(f.slice)
	f.archive.Within, errWithin = units.ParseDuration(f.within)
	if err := errors.Join(errSlice, errWithin); err != nil {
		return usage("%w", err)
	}
	return nil
}

// backfill plans for an archive.
func (f *planFlags) backfill(w io.Writer, flags *pflag.FlagSet) error {
	costs := plan.DefaultCosts()
	r, err := plan.PlanBackfill(f.archive, f.feed, f.machine, costs)
	if errors.Is(err, plan.ErrTooLarge) {
		return usage("no number of machines does it within %s: give it more time (--within), shorten --slice, or take more cores",
			f.within)
	}
	if err != nil {
		return byFlag(err, flags)
	}
	if f.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Archive plan.Archive   `json:"archive"`
			Feed    plan.Feed      `json:"feed"`
			Machine plan.Machine   `json:"machine"`
			Costs   plan.Costs     `json:"costs"`
			Result  *plan.Backfill `json:"result"`
		}{f.archive, f.feed, f.machine, costs, &r})
	}
	var b strings.Builder
	f.printGroups(&b, flags, []struct{ title, names string }{
		{"Archive", archiveFlags + " posts-per-day sentences tokens distinct text-bytes post-bytes events"},
		{"Window", "span lateness measure threshold model bits ones texts"}, {"Machine", "cores memory"},
	})
	f.printBackfill(&b, &r)
	_, err = io.WriteString(w, b.String())
	return err
}

func (f *planFlags) printBackfill(b *strings.Builder, r *plan.Backfill) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-12s"+format+"\n", append([]any{name}, args...)...)
	}
	bytes := func(v float64) string { return units.Bytes(int64(v)) }
	fmt.Fprintln(b)
	line("machines", "%s, each with a part of the slices (--slices i/n): %s on all of them, %s on one", units.Thousands(r.Machines),
		hours(r.Hours), hours(r.OneHours))
	line("core hours", "%.3g: %.2g µs a post; and %.3g of run-ins, %.2g µs a post in them", r.CoreHours, r.PostMicros, r.RunInHours,
		r.RunInMicros)
	line("slices", "%s of %s, %s days in all; %d at once on a machine", units.Thousands(int64(r.Slices)), f.slice,
		units.Three(r.Days), r.AtOnce)
	if r.Columns > 1 {
		line("columns", "%d (--columns), since the window of one slice does not fit", r.Columns)
	}
	line("memory", "%s a machine: %d %s of %s, %s distinct sentences in all columns, by %s", bytes(r.Memory), r.AtOnce,
		terminal.Noun(r.AtOnce, "window"), bytes(r.WindowBytes), units.Count(r.WindowRows), r.Engine)
	line("disk", "%s of all machines, at most: %s of posts while it is at work, %s of events, %s of posts written again",
		bytes(r.Disk), bytes(r.RunBytes), bytes(r.EventBytes), bytes(r.PostBytes))
}

// hours writes a time as people plan with it.
func hours(h float64) string {
	switch {
	case h < 1./60:
		return units.Seconds(h * 3600)
	case h < 1:
		return fmt.Sprintf("%.0f min", h*60)
	}
	return fmt.Sprintf("%.1f h", h)
}
