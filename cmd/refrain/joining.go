package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"refrain/internal/joining"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/join"
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
	pairs := joining.NewWriter(j.main.Stdout, j.output, records)
	if j.edit >= 0 {
		return errors.New("not yet")
	}
	stats, err := j.sets(ctx, records, pairs)
	err = errors.Join(err, pairs.Close())
	if ctx.Err() != nil {
		err = errors.New("interrupted: the pairs so far are out")
	}
	j.status.Clear()
	j.summarise(records, stats, reading)
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
func (j *joinRun) sets(ctx context.Context, records []*joining.Records, pairs *joining.Writer) (join.Stats, error) {
	held, count, tokens := int64(0), 0, 0
	for _, r := range records {
		held, count, tokens = held+r.Bytes(), count+r.Sets.Len(), tokens+r.Sets.Tokens()
	}
	var b *join.Collection
	if len(records) == 2 {
		b = &records[1].Sets
	}
	cfg := j.cfg
	cfg.Memory = max(1, j.budget-held)
	fmt.Fprintf(j.main.Stderr, "%s %s of %s tokens hold %s; joining them takes %s more, of a budget of %s\n", units.Thousands(count),
		terminal.Noun(count, "set"), units.Thousands(tokens), units.FormatBytes(held),
		units.FormatBytes(min(cfg.Memory, join.Memory(cfg, &records[0].Sets, b))), units.FormatBytes(j.budget))
	begin := time.Now()
	cfg.Progress = func(done, total int) { j.status.Set(joinLine(done, total, pairs.Count(), time.Since(begin))) }
	if b == nil {
		return join.Self(ctx, cfg, &records[0].Sets, pairs.Write)
	}
	return join.Two(ctx, cfg, &records[0].Sets, b, pairs.Write)
}

func joinLine(done, total, pairs int, elapsed time.Duration) string {
	return fmt.Sprintf("joining: %s of %s sets, %d %% · %s pairs · %s", units.Thousands(done), units.Thousands(total),
		100*done/max(1, total), units.Thousands(pairs), elapsed.Round(time.Second))
}

// summarise says on stderr what was done.
func (j *joinRun) summarise(records []*joining.Records, s join.Stats, reading time.Duration) {
	w := j.main.Stderr
	rejected, repeated := 0, 0
	for _, r := range records {
		rejected, repeated = rejected+r.Rejected, repeated+r.Repeated
	}
	if rejected+repeated > 0 {
		fmt.Fprintf(w, "%d lines rejected, %d ids of earlier records\n", rejected, repeated)
	}
	fmt.Fprintf(w, "%s, %v: read in %v, put in order in %v, joined in %v\n", j.cfg.Algorithm, j.cfg.Measure, reading.Round(time.Millisecond),
		s.Prepare.Round(time.Millisecond), s.Join.Round(time.Millisecond))
	fmt.Fprintln(w, s.String())
}
