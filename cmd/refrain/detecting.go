package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/detection"
	"refrain/internal/output"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/text"
)

// detecting is one run of detect.
type detecting struct {
	main        *Main
	src         *file.Source
	windows     *detector.Partitions
	minTokens   int
	measure     text.Measure
	span        time.Duration
	defaultSpan bool // nobody asked for it
	out         outputFlags
	filter      output.Filter
	letters     *ingest.DeadLetters // of what is rejected; nil: it is only told
	complaints  *complaints
	status      *terminal.Status // on stderr
	first, last feed.Time        // of the posts
}

func (d *detecting) run(ctx context.Context) error {
	begin := time.Now()
	d.status = terminal.NewStatus(d.main.Stderr, terminal.Detect(d.main.Stderr))
	out := output.New(output.Config{
		To: d.main.Stdout, Format: d.out.format, Top: d.out.top, Group: d.out.group, Measure: d.measure, Status: d.status, Filter: d.filter,
	})
	progress := terminal.NewProgress(d.status, d.src.Size())
	d.complaints = d.main.complaints()
	d.complaints.letters = d.letters
	counts, err := detection.Run(ctx, detection.Config{
		Source: d.src, Windows: d.windows, MinTokens: d.minTokens, Note: d.note, Write: out.Write,
		Progress: progress.Update,
	})
	if ctx.Err() != nil {
		err = errInterrupted
	}
	progress.Done()
	err = errors.Join(err, d.complaints.end())
	if closed := out.Close(); !errors.Is(err, closed) { // what is full is full at the end too
		err = errors.Join(err, closed)
	}
	if err == nil && counts.Posts == 0 && counts.Rejected+counts.Skipped > 0 {
		err = d.complaints.noPosts()
	}
	d.summarise(counts, out, time.Since(begin))
	return err
}

// note tells of what is wrong with a batch, and sees how far apart posts are.
func (d *detecting) note(b *ingest.Batch) {
	d.complaints.tell(b)
	for i := range b.Posts {
		t := b.Posts[i].Time
		if d.last == 0 || t < d.first {
			d.first = t
		}
		d.last = max(d.last, t)
	}
}

// What is said where not one record is a post: most likely the file is another's.
var (
	errNoPosts    = errors.New("not one line is a post, for the reasons above; refrain inspect FILE shows what it has")
	errOtherNames = errors.New("not one line is a post; if its fields have other names, say so: --map text=body,id=uri; refrain inspect " +
		"FILE shows which it has")
	errOtherPreset = errors.New("not one record is a post as the preset has it: the file is another's, or has none; refrain inspect FILE " +
		"says what it is")
)

var errInterrupted = fmt.Errorf("%w; the events so far are out", errStopped)

// summarise says what was done, on stderr.
func (d *detecting) summarise(c detection.Counts, out *output.Filtered, elapsed time.Duration) {
	s := detector.Total(d.windows.All())
	w := d.main.Stderr
	fmt.Fprintf(w, "%d %s in %v (%.0f posts/s), %d rejected, %d changed\n", c.Posts, terminal.Noun(c.Posts, "post"),
		elapsed.Round(time.Millisecond), float64(c.Posts)/elapsed.Seconds(), c.Rejected, c.Changed)
	if c.Skipped > 0 {
		fmt.Fprintf(w, "%d other %s left out, as the preset says\n", c.Skipped, terminal.Noun(c.Skipped, "record"))
	}
	fmt.Fprintf(w, "%d %s compared, %d too short, %d delivered again, %d late\n", c.Sentences,
		terminal.Noun(c.Sentences, "sentence"), c.TooShort, c.Redelivered, s.Late)
	fmt.Fprintf(w, "%d %s; the window holds %d %s, %d %s, %s\n", out.Written, terminal.Noun(out.Written, "event"), s.Groups,
		terminal.Noun(s.Groups, "text"), s.Occurrences, terminal.Noun(s.Occurrences, "occurrence"), units.FormatBytes(s.Bytes))
	if out.LeftOut > 0 {
		fmt.Fprintf(w, "%d %s more left out, as asked for\n", out.LeftOut, terminal.Noun(out.LeftOut, "event"))
	}
	if apart := d.last.Time().Sub(d.first.Time()); d.defaultSpan && apart > d.span {
		fmt.Fprintf(w, "the posts are of %.1f days; a repeat counts within %s (--span)\n", apart.Hours()/24, units.FormatDuration(d.span))
	}
	if s.Forced > 0 {
		fmt.Fprintf(w, "the budget dropped %d %s before their time: %s, events may be missing\n", s.Forced,
			terminal.Noun(int(s.Forced), "text"), reach(s.Span, d.span))
	}
	if s.ForcedOccurrences > 0 {
		fmt.Fprintf(w, "the budget dropped %d %s of texts that stayed: events may be missing\n", s.ForcedOccurrences,
			terminal.Noun(int(s.ForcedOccurrences), "occurrence"))
	}
	if s.Truncated > 0 {
		fmt.Fprintf(w, "%d sentences repeat more than --max-matches texts: their further events are left out\n", s.Truncated)
	}
}

// reach says how far back a window of a budget reached at the end.
func reach(effective, span time.Duration) string {
	if effective < span {
		return fmt.Sprintf("the window reached back only %v at the end", effective)
	}
	return fmt.Sprintf("though the window held its whole span of %v again at the end", span)
}
