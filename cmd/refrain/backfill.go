package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/backfill"
	"refrain/ingest/file"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/text"
)

// backfillFlags are those of backfill: of the input and of the window as detect has them, and its own.
type backfillFlags struct {
	input  inputFlags
	window windowFlags

	slice, out, slices, keep, coverage string
	columns                            int
	events                             bool
}

func (f *backfillFlags) add(to *pflag.FlagSet) {
	cfg := backfill.Default()
	to.StringVar(&f.slice, "slice", "7d", "length of a slice: how much of the archive is worked on at once, by one core")
	to.StringVar(&f.out, "out", "", "folder for what is found: events-*.jsonl, manifest.json, dead-letters.jsonl")
	to.StringVar(&f.slices, "slices", "1/1", "i/n: work on every n-th slice, as the i-th of n machines or processes; i counts from 1, or from 0")
	to.IntVar(&f.columns, "columns", cfg.Columns,
		"passes over a slice, one slice at a time, each with so small a part of the window; for spans that do not fit")
	to.StringVar(&f.keep, "keep", "", "first: write posts-* too, the archive without the posts that repeat earlier ones")
	to.BoolVar(&f.events, "events", true, "write events; --events=false, with --keep first, writes posts alone, which takes far less disk")
	to.StringVar(&f.coverage, "coverage", "1",
		"with --keep first: least share of a post's words in sentences that repeat earlier posts, for the post to go")
}

// config is what they say.
func (f *backfillFlags) config(ctx context.Context, files []string, flags *pflag.FlagSet) (cfg backfill.Config, err error) {
	if len(files) == 0 {
		return cfg, usage("no files: name the archive's")
	}
	cfg = backfill.Default()
	cfg.Files = files
	for _, part := range []func(*backfill.Config) error{f.slicing, f.input.archive} {
		if err := part(&cfg); err != nil {
			return cfg, err
		}
	}
	if err := f.parseKeep(&cfg, flags); err != nil {
		return cfg, err
	}
	return cfg, f.windows(ctx, &cfg) // last: it may open GPUs
}

// slicing is where to write, and how the work is cut.
func (f *backfillFlags) slicing(cfg *backfill.Config) (err error) {
	if f.out == "" {
		return usage("--out is missing: say which folder to write to")
	}
	cfg.Out, cfg.Columns = f.out, f.columns
	if cfg.Slice, err = units.ParseDuration(f.slice); err != nil {
		return usage("--slice: %w", err)
	}
	if cfg.Slice < time.Second || cfg.Slice%time.Second != 0 {
		return usage("--slice %s: want whole seconds, 1s or more", f.slice)
	}
	if f.columns < 1 || f.columns > backfill.MaxColumns {
		return usage("--columns %d: want 1 to %d", f.columns, backfill.MaxColumns)
	}
	cfg.Part, cfg.Parts, err = parseSlices(f.slices)
	return err
}

// windows is what an event is, and with how many goroutines they are found.
func (f *backfillFlags) windows(ctx context.Context, cfg *backfill.Config) (err error) {
	if cfg.Window, err = f.window.config(ctx, max(f.window.workers, f.window.partitions)); err != nil {
		return err
	}
	cfg.Window.MinTokens = f.window.minTokens
	cfg.Partitions, cfg.Workers = f.window.partitions, f.window.workers
	return nil
}

func (f *backfillFlags) parseKeep(cfg *backfill.Config, flags *pflag.FlagSet) (err error) {
	if f.keep != "" && f.keep != "first" {
		return usage("--keep %q: want first, which keeps the first of all posts that say the same", f.keep)
	}
	cfg.KeepFirst, cfg.NoEvents = f.keep == "first", !f.events
	if cfg.NoEvents && !cfg.KeepFirst {
		return usage("--events=false is for --keep first: there would be nothing to write")
	}
	if flags.Changed("coverage") && !cfg.KeepFirst {
		return usage("--coverage is for --keep first")
	}
	if cfg.Coverage, err = text.ParseThreshold(f.coverage); err != nil {
		return usage("--coverage %q: want more than 0 and at most 1, as a decimal or a fraction", f.coverage)
	}
	return nil
}

// parseSlices reads i/n. Whoever counts machines from 0 has 0/n for n/n.
func parseSlices(s string) (part, parts int, err error) {
	i, n, ok := strings.Cut(s, "/")
	part, errPart := strconv.Atoi(i)
	parts, errParts := strconv.Atoi(n)
	const maxParts = 1 << 20
	if !ok || errors.Join(errPart, errParts) != nil || part < 0 || part > parts || parts < 1 || parts > maxParts {
		return 0, 0, usage("--slices %q: want i/n, as in 1/4, 2/4, 3/4 and 4/4 for four machines", s)
	}
	if part == 0 {
		part = parts
	}
	return part, parts, nil
}

const backfillHelp = "Read an archive, posts in any order, and write the events that detect finds when it reads them in the order of\n" +
	"their times: a file for each slice of time, which one core works on, after a run-in of one span. With --keep first\n" +
	"also the archive without its repeats, posts as they came: a post goes when sentences that repeat earlier posts have\n" +
	"all of its words, or as large a share as --coverage says.\n\n" +
	"What is finished stays: the same command goes on after a crash, a full disk or Ctrl-C. DIR/manifest.json says what\n" +
	"there is, with checksums; what is no post goes to DIR/dead-letters.jsonl. Until it is complete, DIR also takes the\n" +
	"posts once more, compressed, if they are more than 128 MB. FILEs may be compressed with gzip or zstd."

const backfillExample = "  refrain backfill --span 24h --slice 7d --out found posts-*.jsonl.zst\n" +
	"  refrain backfill --map id=tweet_id,text=content,created_at=date --span 7d --slice 30d --keep first \\\n" +
	"      --out deduplicated posts.csv\n" +
	"  refrain backfill --span 10d --slice 87600h --columns 4 --out found posts.jsonl\n" +
	"  parallel refrain backfill --workers 1 --slices {}/8 --out found posts.jsonl ::: $(seq 8)"

func (m *Main) backfill() *cobra.Command {
	var f backfillFlags
	cmd := &cobra.Command{
		Use:   "backfill --out DIR FILE...",
		Short: "Find the reuse in an archive of posts, on all cores, and write it without repeats",
		Long:  backfillHelp, Example: backfillExample,
		RunE: func(cmd *cobra.Command, files []string) error {
			cfg, err := f.config(cmd.Context(), files, cmd.Flags())
			if err != nil {
				return err
			}
			cfg.Window.OnForced = m.reportForced()
			return m.runBackfill(cmd.Context(), cfg)
		},
	}
	f.add(cmd.Flags())
	f.window.add(cmd.Flags())
	f.input.add(cmd.Flags())
	return cmd
}

// archive is how the files are to be read.
func (f *inputFlags) archive(cfg *backfill.Config) error {
	how := file.Config{RecordsAt: f.records}
	if err := f.flagged(f.File(&how)); err != nil {
		return err
	}
	cfg.Fields, cfg.RecordsAt, cfg.Include, cfg.Preset, cfg.HTML = how.Fields, how.RecordsAt, how.Include, f.Preset, f.HTML
	cfg.Format, cfg.Source, cfg.Strict, cfg.Batch = f.format, f.source, f.strict, f.batch
	cfg.Map, cfg.Timezone, cfg.TimeFormat, cfg.Encoding = f.Map, f.Timezone, f.TimeFormat, f.encoding
	return f.check()
}

// runBackfill shows how far it is, and what came of it.
func (m *Main) runBackfill(ctx context.Context, cfg backfill.Config) error {
	begin := time.Now()
	screen := &backfillProgress{status: terminal.NewStatus(m.Stderr, terminal.Detect(m.Stderr)), log: m.Stderr, begin: begin, drawn: begin}
	complaints := m.complaints()
	complaints.path = filepath.Join(cfg.Out, "dead-letters.jsonl")
	estimates := estimatePrinter{w: m.Stderr, cfg: &cfg, status: screen.status}
	cfg.Note, cfg.Progress, cfg.Estimate = complaints.tell, screen.show, estimates.print
	cfg.OnRecognised = m.announceFormat
	manifest, err := backfill.Run(ctx, cfg)
	screen.status.Clear()
	ended := complaints.end()
	if errors.Is(err, backfill.ErrNoPosts) {
		err = complaints.noPosts()
	}
	if err := errors.Join(err, ended); err != nil {
		return hint(err)
	}
	m.summariseBackfill(&cfg, &manifest, time.Since(begin))
	return nil
}

// hint says what to do about an error of a backfill.
func hint(err error) error {
	switch {
	case errors.Is(err, backfill.ErrStopped):
		return fmt.Errorf("%w: the same command goes on where this one ended", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: make room, and the same command goes on; what is finished stays", err)
	}
	return err
}

// estimatePrinter says what a backfill takes, and what would take less: each once. Any goroutine may use it, one at a time.
type estimatePrinter struct {
	w      io.Writer
	cfg    *backfill.Config
	status *terminal.Status
	warned bool
}

func (p *estimatePrinter) print(e backfill.Estimate) {
	var lines []string
	if !e.Exact {
		lines = append(lines, p.disk(e))
	}
	if e.BetterSlice > 0 && !p.warned {
		p.warned = true
		lines = append(lines, p.slices(e))
	}
	if len(lines) == 0 {
		return
	}
	p.status.Clear()
	fmt.Fprintln(p.w, strings.Join(lines, "\n"))
}

// disk is what it takes of the disk.
func (p *estimatePrinter) disk(e backfill.Estimate) string {
	line := fmt.Sprintf("disk: %s/work will take about %s until the end", p.cfg.Out, units.Bytes(e.RunBytes))
	if e.PostBytes > 0 {
		line += fmt.Sprintf(", the posts that are kept %s at most", units.Bytes(e.PostBytes))
	}
	if !p.cfg.NoEvents {
		line += ", and the events some 1 kB for each sentence that repeats"
	}
	if e.Free >= 0 {
		line += fmt.Sprintf("; %s are free", units.Bytes(e.Free))
	}
	if e.Free >= 0 && e.Free < e.RunBytes+e.PostBytes {
		line += ": that may be too little"
	}
	return line
}

// slices is what they cost, and which would cost less.
func (p *estimatePrinter) slices(e backfill.Estimate) string {
	span, slice := p.cfg.Window.Span, p.cfg.Slice
	reads := func(slice time.Duration) string { return units.Three(1 + float64(span)/float64(slice)) }
	more := " and more"
	if e.Exact {
		more = ""
	}
	return fmt.Sprintf("slow: %s%s slices of %s, each with a run-in of %s: a post is read %s times. With --slice %s, and another --out, "+
		"it would be %s times", units.Thousands(e.Slices), more, units.FormatDuration(slice), units.FormatDuration(span), reads(slice),
		units.FormatDuration(e.BetterSlice), reads(e.BetterSlice))
}

// backfillProgress shows how far a backfill is, by a line that is redrawn, or where there is no terminal by one a minute. Any
// goroutine may use it.
type backfillProgress struct {
	status *terminal.Status
	log    io.Writer

	mu           sync.Mutex
	begin, drawn time.Time
	gathering    bool
}

func (p *backfillProgress) show(at backfill.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, interval := time.Now(), time.Minute
	if p.status.Active() {
		interval = 100 * time.Millisecond
	}
	if p.gathering != at.Gathering {
		p.begin, p.gathering = now, at.Gathering
	}
	if now.Sub(p.drawn) < interval {
		return
	}
	p.drawn = now
	line := p.line(at, now.Sub(p.begin))
	if !p.status.Active() {
		fmt.Fprintln(p.log, line)
	}
	p.status.Set(line)
}

func (p *backfillProgress) line(at backfill.Progress, elapsed time.Duration) string {
	rate := units.Thousands(int64(float64(at.Posts)/max(elapsed.Seconds(), 1e-3))) + " posts/s"
	if at.Gathering {
		return fmt.Sprintf("sorting by time · %s of %s · %s", units.Bytes(at.Bytes), units.Bytes(at.TotalBytes), rate)
	}
	line := fmt.Sprintf("slices · %d of %d finished · %d %% of the posts · %s", at.Slices, at.TotalSlices,
		100*at.Posts/max(1, at.TotalPosts), rate)
	if left := terminal.Remaining(at.Posts, at.TotalPosts, elapsed); left != "" {
		line += " · " + left + " left"
	}
	return line
}

// summariseBackfill says what was found, on stderr.
func (m *Main) summariseBackfill(cfg *backfill.Config, found *backfill.Manifest, elapsed time.Duration) {
	w, n := m.Stderr, units.Thousands[int64]
	of := func(count int64, noun string) string { return n(count) + " " + terminal.Noun(int(count), noun) }
	fmt.Fprintf(w, "%s in %v, %s rejected, %s changed, %s delivered again\n", of(found.Posts, "post"),
		elapsed.Round(time.Millisecond), n(found.Rejected), n(found.Changed), n(found.Redelivered))
	if found.Skipped > 0 {
		fmt.Fprintf(w, "%s left out, as the preset says\n", of(found.Skipped, "other record"))
	}
	fmt.Fprintf(w, "%s compared, %s too short\n", of(found.Sentences, "sentence"), n(found.TooShort))
	if !cfg.NoEvents {
		fmt.Fprintf(w, "%s in %s: %s/events-*.jsonl\n", of(found.Events, "event"), of(int64(len(found.Slices)), "slice"), cfg.Out)
	}
	if cfg.KeepFirst {
		fmt.Fprintf(w, "%s kept: %s/posts-*\n", of(found.Kept, "post"), cfg.Out)
	}
	if found.Rejected > 0 {
		fmt.Fprintf(w, "%s refused: %s/dead-letters.jsonl\n", n(found.Rejected), cfg.Out)
	}
	if found.Untimed > 0 {
		fmt.Fprintf(w, "%s without a time: each counts as written when the post before it in its file was, the year 1970 before "+
			"there is one (a column of times is named by --map created_at=COLUMN)\n", n(found.Untimed))
	}
	if found.Forced > 0 {
		fmt.Fprintf(w, "the budget dropped %s texts and occurrences before their time: events are missing\n", n(found.Forced))
	}
	if found.Truncated > 0 {
		fmt.Fprintf(w, "%s sentences repeat more than --max-matches texts: their further events are left out\n", n(found.Truncated))
	}
	if found.Complete {
		fmt.Fprintf(w, "complete: %s/manifest.json\n", cfg.Out)
	} else {
		fmt.Fprintf(w, "%d %s not finished yet, of other --slices: %s/manifest.json\n", len(found.Unfinished),
			terminal.Noun(len(found.Unfinished), "slice"), cfg.Out)
	}
}
