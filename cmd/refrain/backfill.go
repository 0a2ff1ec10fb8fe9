package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/backfill"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/text"
)

// backfillFlags are those of backfill that detect does not have.
type backfillFlags struct {
	slice, out, slices, keep, coverage string
	columns                            int
}

func (f *backfillFlags) add(to *pflag.FlagSet) {
	cfg := backfill.Default()
	to.StringVar(&f.slice, "slice", "7d", "length of a slice: how much of the archive is worked on at once, by one core")
	to.StringVar(&f.out, "out", "", "folder for what is found: events-*.jsonl, manifest.json, dead-letters.jsonl")
	to.StringVar(&f.slices, "slices", "1/1", "i/n: work on every n-th slice, as the i-th of n machines or processes; i counts from 1, or from 0")
	to.IntVar(&f.columns, "columns", cfg.Columns,
		"passes over a slice, one slice at a time, each with so small a part of the window; for spans that do not fit")
	to.StringVar(&f.keep, "keep", "", "first: write posts-* too, the archive without the posts that repeat earlier ones")
	to.StringVar(&f.coverage, "coverage", "1",
		"with --keep first: least share of a post's words in sentences that repeat earlier posts, for the post to go")
}

// config is what they say.
func (f *backfillFlags) config(cfg *backfill.Config, flags *pflag.FlagSet) (err error) {
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
	if cfg.Part, cfg.Parts, err = parseSlices(f.slices); err != nil {
		return err
	}
	if f.columns < 1 {
		return usage("--columns %d: want 1 or more", f.columns)
	}
	return f.keepFirst(cfg, flags)
}

func (f *backfillFlags) keepFirst(cfg *backfill.Config, flags *pflag.FlagSet) (err error) {
	if f.keep != "" && f.keep != "first" {
		return usage("--keep %q: want first, which keeps the first of all posts that say the same", f.keep)
	}
	cfg.KeepFirst = f.keep == "first"
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

func (m *Main) backfill() *cobra.Command {
	var in inputFlags
	var window windowFlags
	var f backfillFlags
	cmd := &cobra.Command{
		Use:   "backfill --out DIR FILE...",
		Short: "Find the reuse in an archive of posts, on all cores, and write it without repeats",
		Long: "Read an archive, posts in any order, and write the events that detect finds when it reads them in the order of\n" +
			"their times: a file for each slice of time, which one core works on, after a run-in of one span. With --keep first\n" +
			"also the archive without its repeats, posts as they came: a post goes when sentences that repeat earlier posts have\n" +
			"all of its words, or as large a share as --coverage says.\n\n" +
			"What is finished stays: the same command goes on after a crash, a full disk or Ctrl-C. DIR/manifest.json says what\n" +
			"there is, with checksums; what is no post goes to DIR/dead-letters.jsonl. Until it is complete, DIR also takes the\n" +
			"posts once more, unpacked. FILEs may be compressed with gzip or zstd.",
		Example: "  refrain backfill --span 24h --slice 7d --out found posts-*.jsonl.zst\n" +
			"  refrain backfill --map id=tweet_id,text=content,created_at=date --span 7d --slice 30d --keep first \\\n" +
			"      --out deduplicated posts.csv\n" +
			"  refrain backfill --span 10d --slice 87600h --columns 4 --out found posts.jsonl\n" +
			"  parallel refrain backfill --workers 1 --slices {}/8 --out found posts.jsonl ::: $(seq 8)",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 0 {
				return usage("no files: name the archive's")
			}
			cfg := backfill.Default()
			if err := f.config(&cfg, cmd.Flags()); err != nil {
				return err
			}
			if err := in.archive(&cfg); err != nil {
				return err
			}
			if cfg.Window, err = window.config(); err != nil {
				return err
			}
			cfg.Window.MinTokens, cfg.Window.OnForced = window.minTokens, m.reportForced()
			cfg.Partitions, cfg.Workers, cfg.Files = window.partitions, window.workers, args
			return m.runBackfill(cmd.Context(), cfg)
		},
	}
	f.add(cmd.Flags())
	window.add(cmd.Flags())
	in.add(cmd.Flags())
	return cmd
}

// archive says how the files are to be read.
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
	status := terminal.NewStatus(m.Stderr, terminal.Detect(m.Stderr))
	screen := backfillProgress{status: status, log: m.Stderr, begin: time.Now(), drawn: time.Now()}
	notes := fewNotes{main: m, letters: cfg.Out}
	cfg.Note, cfg.Progress = notes.tell, screen.show
	begin := time.Now()
	manifest, err := backfill.Run(ctx, cfg)
	status.Clear()
	notes.end()
	switch {
	case errors.Is(err, backfill.ErrStopped):
		return fmt.Errorf("%w: the same command goes on where this one ended", err)
	case errors.Is(err, backfill.ErrNoPosts):
		return errNoPosts
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: make room, and the same command goes on; what is finished stays", err)
	case err != nil:
		return err
	}
	m.summariseBackfill(&cfg, &manifest, time.Since(begin))
	return nil
}

// fewNotes tells of the first records that are no posts, and that there are others.
type fewNotes struct {
	main      *Main
	letters   string
	told, all int
}

// maxNotes are enough to see what is wrong with a file.
const maxNotes = 10

func (n *fewNotes) tell(b *ingest.Batch) {
	n.all += len(b.Rejected) + len(b.Notes)
	left := maxNotes - n.told
	few := ingest.Batch{Rejected: b.Rejected[:min(left, len(b.Rejected))]}
	left -= len(few.Rejected)
	few.Notes = b.Notes[:min(left, len(b.Notes))]
	n.told += len(few.Rejected) + len(few.Notes)
	n.main.complaints().tell(&few)
}

func (n *fewNotes) end() {
	if more := n.all - n.told; more > 0 {
		fmt.Fprintf(n.main.Stderr, "and %s more; all that were refused are in %s/dead-letters.jsonl\n", units.Thousands(more),
			n.letters)
	}
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
	fmt.Fprintf(w, "%s compared, %s too short\n", of(found.Sentences, "sentence"), n(found.TooShort))
	fmt.Fprintf(w, "%s in %s: %s/events-*.jsonl\n", of(found.Events, "event"), of(int64(len(found.Slices)), "slice"), cfg.Out)
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
