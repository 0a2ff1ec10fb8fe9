package main

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"refrain/internal/joining"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/join"
	"refrain/join/edit"
)

// joinRun is one run of join.
type joinRun struct {
	main   *Main
	files  []joining.Config
	cfg    join.Config
	edit   int // the distance; −1: sets are compared
	output string
	budget int64
	status *terminal.Status
}

func (j *joinRun) run(ctx context.Context) error {
	j.status = terminal.NewStatus(j.main.Stderr, terminal.Detect(j.main.Stderr))
	defer j.status.Clear()
	begin := time.Now()
	records, err := j.read(ctx)
	if ctx.Err() != nil {
		return errStopped
	}
	if err != nil {
		return err
	}
	reading := time.Since(begin)
	pairs := joining.NewWriter(j.main.Stdout, j.output, j.edit >= 0, records)
	var summary []string
	if j.edit >= 0 {
		summary, err = j.strings(ctx, records, pairs)
	} else {
		summary, err = j.sets(ctx, records, pairs)
	}
	err = errors.Join(err, pairs.Close())
	if ctx.Err() != nil {
		err = errors.New("interrupted: the pairs so far are out")
	}
	j.status.Clear()
	if err != nil && ctx.Err() == nil {
		return err // a summary would tell of a join that was none
	}
	j.summarise(records, reading, summary)
	return err
}

// read reads the files one after the other.
func (j *joinRun) read(ctx context.Context) (all []*joining.Records, err error) {
	left := j.budget
	for _, cfg := range j.files {
		cfg.Budget = max(1, left)
		cfg.Note = func(line string) { fmt.Fprintln(j.main.Stderr, line) }
		begin := time.Now()
		cfg.Progress = func(bytes, size, records int64) { j.status.Set(readingLine(bytes, size, records, time.Since(begin))) }
		r, err := joining.Read(ctx, cfg)
		if err != nil {
			return nil, err
		}
		all, left = append(all, r), left-r.Bytes()
	}
	if len(all) == 2 {
		return all, joining.CheckIntegers(all[0], all[1])
	}
	return all, nil
}

func readingLine(bytes, size, records int64, elapsed time.Duration) string {
	line := "reading: " + units.Bytes(bytes)
	if size > 0 {
		line += fmt.Sprintf(" of %s, %d %%", units.Bytes(size), 100*bytes/size)
	}
	return line + fmt.Sprintf(" · %s records · %s/s", units.Thousands(records), units.Bytes(int64(float64(bytes)/elapsed.Seconds())))
}

// sets joins them, and says before what that will take.
func (j *joinRun) sets(ctx context.Context, records []*joining.Records, pairs *joining.Writer) (summary []string, err error) {
	a, b := &records[0].Sets, (*join.Collection)(nil)
	count, tokens := a.Len(), a.Tokens()
	if len(records) == 2 {
		b = &records[1].Sets
		count, tokens = count+b.Len(), tokens+b.Tokens()
	}
	cfg, held := j.cfg, held(records)
	cfg.Memory = max(1, j.budget-held)
	j.announce("%s %s of %s tokens hold %s; joining them takes %s more, at most, of a budget of %s", units.Thousands(count),
		terminal.Noun(count, "set"), units.Thousands(tokens), units.FormatBytes(held),
		units.FormatBytes(min(cfg.Memory, join.Memory(cfg, a, b))), units.FormatBytes(j.budget))
	begin := time.Now()
	cfg.Progress = func(done, total int) { j.status.Set(joinLine(done, total, pairs.Count(), time.Since(begin))) }
	var stats join.Stats
	if b == nil {
		stats, err = join.Self(ctx, cfg, a, pairs.Write)
	} else {
		stats, err = join.Two(ctx, cfg, a, b, pairs.Write)
	}
	return []string{fmt.Sprintf("%v, %v: put in order in %v, joined in %v", cfg.Algorithm, cfg.Measure,
		stats.Prepare.Round(time.Millisecond), stats.Join.Round(time.Millisecond)), stats.String()}, err
}

func held(records []*joining.Records) (bytes int64) {
	for _, r := range records {
		bytes += r.Bytes()
	}
	return bytes
}

// announce prints a line in place of the status.
func (j *joinRun) announce(format string, args ...any) {
	j.status.Clear()
	fmt.Fprintf(j.main.Stderr, format+"\n", args...)
}

// strings joins texts as they are.
func (j *joinRun) strings(ctx context.Context, records []*joining.Records, pairs *joining.Writer) (summary []string, err error) {
	cfg := edit.Default()
	cfg.Distance, cfg.Workers = j.edit, j.cfg.Workers
	a, b := records[0].Texts, records[len(records)-1].Texts
	count := records[0].Len()
	if len(records) == 2 {
		count += records[1].Len()
	}
	const perString = 40 // and 16 for each of the first grams, and 4 for each worker
	more := int64(count) * (perString + 16*(int64(cfg.Q)*int64(cfg.Distance)+1) + 4*int64(cfg.Workers))
	j.announce("%s %s hold %s; joining them takes %s more, at most, of a budget of %s", units.Thousands(count),
		terminal.Noun(count, "string"), units.FormatBytes(held(records)), units.FormatBytes(more), units.FormatBytes(j.budget))
	if held(records)+more > j.budget {
		return nil, fmt.Errorf("joining takes %s, and --budget is %s: give more, or a lesser --edit",
			units.FormatBytes(held(records)+more), units.FormatBytes(j.budget))
	}
	begin := time.Now()
	visit := func(p edit.Pair) error {
		j.status.Set(fmt.Sprintf("joining: %s pairs · %s", units.Thousands(pairs.Count()), time.Since(begin).Round(time.Second)))
		return pairs.WriteDistance(p.A, p.B, p.Distance, max(utf8.RuneCountInString(a[p.A]), utf8.RuneCountInString(b[p.B])))
	}
	var stats edit.Stats
	if len(records) == 1 {
		stats, err = edit.Self(ctx, cfg, a, visit)
	} else {
		stats, err = edit.Two(ctx, cfg, a, b, visit)
	}
	return []string{fmt.Sprintf("edit distance %d: joined in %v", j.edit, time.Since(begin).Round(time.Millisecond)),
		fmt.Sprintf("candidates %d, verified %d, pairs %d", stats.Candidates, stats.Verified, stats.Pairs)}, err
}

func joinLine(done, total, pairs int, elapsed time.Duration) string {
	return fmt.Sprintf("joining: %s of %s sets, %d %% · %s pairs · %s", units.Thousands(done), units.Thousands(total),
		100*done/max(1, total), units.Thousands(pairs), elapsed.Round(time.Second))
}

// summarise says on stderr what was done.
func (j *joinRun) summarise(records []*joining.Records, reading time.Duration, summary []string) {
	w, count, rejected, repeated := j.main.Stderr, 0, 0, 0
	for _, r := range records {
		count, rejected, repeated = count+r.Len(), rejected+r.Rejected, repeated+r.Repeated
	}
	fmt.Fprintf(w, "%d %s read in %v, %d rejected, %d with the id of an earlier one\n", count, terminal.Noun(count, "record"),
		reading.Round(time.Millisecond), rejected, repeated)
	for _, line := range summary {
		fmt.Fprintln(w, line)
	}
}
