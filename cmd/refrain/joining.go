package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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
	const headroom = 16 << 20 // buffers, and room for garbage
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(j.budget + headroom))
	begin := time.Now()
	records, err := j.read(ctx)
	if ctx.Err() != nil {
		return errStopped
	}
	if err != nil {
		return err
	}
	reading := time.Since(begin)
	summary, err := j.join(ctx, records)
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
		cfg.Budget, cfg.Left = j.budget, max(1, left)
		r, err := j.readFile(ctx, cfg)
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

func (j *joinRun) readFile(ctx context.Context, cfg joining.Config) (*joining.Records, error) {
	complaints, begin := j.main.complaints(), time.Now()
	defer func() { _ = complaints.end() }() // without letters nothing can fail
	cfg.Note, cfg.OnRecognised = complaints.tell, j.announceFormat
	cfg.Progress = func(bytes, size, records int64) { j.status.Set(readingLine(bytes, size, records, time.Since(begin))) }
	r, err := joining.Read(ctx, cfg)
	if err == nil && r.Len() == 0 {
		j.announce("%s: no records", r.Path)
	}
	return r, err
}

func (j *joinRun) announceFormat(path, what string) {
	j.status.Clear()
	j.main.announceFormat(path, what)
}

func readingLine(bytes, size, records int64, elapsed time.Duration) string {
	line := "reading: " + units.Bytes(bytes)
	if size > 0 {
		line += fmt.Sprintf(" of %s, %d %%", units.Bytes(size), 100*bytes/size)
	}
	return line + fmt.Sprintf(" · %s records · %s/s", units.Thousands(records), units.Bytes(int64(float64(bytes)/elapsed.Seconds())))
}

// join joins what was read, and says before what that will take. Its error may be that of the output.
func (j *joinRun) join(ctx context.Context, records []*joining.Records) (summary []string, err error) {
	if err := j.announceMemory(records); err != nil {
		return nil, err
	}
	pairs := joining.NewWriter(j.main.Stdout, j.output, j.edit >= 0, records)
	if j.edit >= 0 {
		summary, err = j.strings(ctx, records, pairs)
	} else {
		summary, err = j.sets(ctx, records, pairs)
	}
	if end := pairs.Close(); err == nil {
		err = end
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted: the pairs so far are out")
	}
	return summary, err
}

// announceMemory says what the records hold and the join will take, or why it cannot be.
func (j *joinRun) announceMemory(records []*joining.Records) error {
	count, tokens := 0, 0
	for _, r := range records {
		count, tokens = count+r.Len(), tokens+r.Sets.Tokens()
	}
	held, least := held(records), j.minMemory(records)
	if held+least > j.budget {
		return fmt.Errorf("in memory: %s %s, %s; joining takes %s more at least, and --budget is %s: want %s or more, or a join in parts, "+
			"each of a file with itself and with every other", units.Thousands(count), terminal.Noun(count, "record"), units.FormatBytes(held),
			units.FormatBytes(least), units.FormatBytes(j.budget), units.FormatLeastBytes(held+least))
	}
	what := fmt.Sprintf("%s of %s %s", terminal.Noun(count, "set"), units.Thousands(tokens), terminal.Noun(tokens, "token"))
	if j.edit >= 0 {
		what = terminal.Noun(count, "string")
	}
	j.announce("in memory: %s %s, %s; joining takes %s more, at most, of a budget of %s", units.Thousands(count), what,
		units.FormatBytes(held), units.FormatBytes(min(j.budget-held, j.maxMemory(records))), units.FormatBytes(j.budget))
	return nil
}

// minMemory is the least that a join of records can do with; nil: of any.
func (j *joinRun) minMemory(records []*joining.Records) int64 {
	if j.edit >= 0 {
		return edit.Memory(j.editConfig(), texts(records)...)
	}
	a, b := sets(records)
	return join.MinMemory(j.cfg, a, b)
}

// maxMemory is what it takes where it can.
func (j *joinRun) maxMemory(records []*joining.Records) int64 {
	if j.edit >= 0 {
		return j.minMemory(records) // there are no parts
	}
	a, b := sets(records)
	return join.Memory(j.cfg, a, b)
}

func (j *joinRun) editConfig() edit.Config {
	cfg := edit.Default()
	cfg.Distance, cfg.Workers = j.edit, j.cfg.Workers
	return cfg
}

// sets are those of one file, or of two.
func sets(records []*joining.Records) (a, b *join.Collection) {
	switch len(records) {
	case 0:
		return &join.Collection{}, nil
	case 1:
		return &records[0].Sets, nil
	}
	return &records[0].Sets, &records[1].Sets
}

func texts(records []*joining.Records) (sides [][]string) {
	for _, r := range records {
		sides = append(sides, r.Texts)
	}
	return sides
}

func held(records []*joining.Records) (bytes int64) {
	for _, r := range records {
		bytes += r.Bytes()
	}
	return bytes
}

func (j *joinRun) sets(ctx context.Context, records []*joining.Records, pairs *joining.Writer) (summary []string, err error) {
	a, b := sets(records)
	cfg, begin := j.cfg, time.Now()
	cfg.Memory = j.budget - held(records)
	cfg.Progress = func(done, total int) { j.status.Set(joinLine(done, total, pairs.Count(), time.Since(begin))) }
	var stats join.Stats
	if b == nil {
		stats, err = join.Self(ctx, cfg, a, pairs.Write)
	} else {
		stats, err = join.Two(ctx, cfg, a, b, pairs.Write)
	}
	stats.Pairs = int64(pairs.Count()) // of a join that was stopped, more are found than are out
	return []string{fmt.Sprintf("%v, %v: put in order in %v, joined in %v", cfg.Algorithm, cfg.Measure,
		stats.Prepare.Round(time.Millisecond), stats.Join.Round(time.Millisecond)), stats.String()}, err
}

// announce prints a line in place of the status.
func (j *joinRun) announce(format string, args ...any) {
	j.status.Clear()
	fmt.Fprintf(j.main.Stderr, format+"\n", args...)
}

// strings joins texts as they are.
func (j *joinRun) strings(ctx context.Context, records []*joining.Records, pairs *joining.Writer) (summary []string, err error) {
	a, b := records[0].Texts, records[len(records)-1].Texts
	begin := time.Now()
	visit := func(p edit.Pair) error {
		j.status.Set(fmt.Sprintf("joining: %s pairs · %s", units.Thousands(pairs.Count()), time.Since(begin).Round(time.Second)))
		return pairs.WriteDistance(p.A, p.B, p.Distance, max(utf8.RuneCountInString(a[p.A]), utf8.RuneCountInString(b[p.B])))
	}
	var stats edit.Stats
	if len(records) == 1 {
		stats, err = edit.Self(ctx, j.editConfig(), a, visit)
	} else {
		stats, err = edit.Two(ctx, j.editConfig(), a, b, visit)
	}
	return []string{fmt.Sprintf("edit distance %d: joined in %v", j.edit, time.Since(begin).Round(time.Millisecond)),
		fmt.Sprintf("candidates %d, verified %d, pairs %d", stats.Candidates, stats.Verified, pairs.Count())}, err
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
