package backfill

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sync/errgroup"

	"refrain/feed"
)

// committer makes slices durable, several at once: syncing a disk takes as long for many files as for one, and short slices are
// found faster than that. A slice is finished when its report is in the journal of its part.
type committer struct {
	b     *backfill
	queue chan *written
	stop  func() // ends the work on slices
	ended chan error
}

// written is a slice that is found and not finished.
type written struct {
	report  *report
	outputs []*output
}

// maxUncommitted bounds the slices that wait, each with open files.
const maxUncommitted = 64

// syncsAtOnce is how many files are synced side by side: the file system makes one write of what it has for all of them.
const syncsAtOnce = 16

func (b *backfill) newCommitter(stop func()) *committer {
	c := &committer{b, make(chan *written, maxUncommitted), stop, make(chan error, 1)}
	go func() { c.ended <- c.run() }()
	return c
}

// end waits for what is in the queue. Nothing comes any more.
func (c *committer) end() error {
	close(c.queue)
	return <-c.ended
}

func (c *committer) run() (err error) {
	for one := range c.queue {
		all := []*written{one}
		for len(all) < maxUncommitted && len(c.queue) > 0 {
			all = append(all, <-c.queue)
		}
		if err == nil {
			err = c.commit(all)
		}
		if err != nil {
			c.stop()
			abandon(all)
		}
	}
	return err
}

func abandon(all []*written) {
	for _, w := range all {
		for _, o := range w.outputs {
			o.abandon()
		}
	}
}

// commit finishes slices: what they have is synced, then named, then reported.
func (c *committer) commit(all []*written) error {
	if err := syncAll(all); err != nil {
		return err
	}
	var reports []*report
	for _, w := range all {
		if err := w.publish(); err != nil {
			return err
		}
		reports = append(reports, w.report)
	}
	if err := syncFolder(c.b.dir.out); err != nil {
		return err
	}
	if err := c.b.dir.addReports(reports); err != nil {
		return err
	}
	c.b.progress.finish(len(all))
	return nil
}

// syncAll syncs the files of slices, several at a time.
func syncAll(all []*written) error {
	var eg errgroup.Group
	eg.SetLimit(syncsAtOnce)
	for _, w := range all {
		for _, o := range w.outputs {
			eg.Go(o.sync)
		}
	}
	return eg.Wait()
}

// publish gives the files of a slice their names.
func (w *written) publish() error {
	for _, o := range w.outputs {
		if err := o.publish(); err != nil {
			return err
		}
	}
	return nil
}

// journalName is the name of the journal of a part: a report a line.
const journalName = "finished.jsonl"

// addReports appends reports to the journal of this part. A line that a crash has cut is none, and ends where the next begins.
func (d directory) addReports(reports []*report) error {
	lines := []byte("\n")
	for _, r := range reports {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	f, err := os.OpenFile(d.journal(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Sync(), f.Close(), syncFolder(d.part))
}

// reports are those of all slices that are finished, by any part, and whose files are there. Of several the last one counts that
// has the sizes of the files.
func (d directory) reports() (map[feed.Time]*report, error) {
	all := map[feed.Time]*report{}
	var errs []error
	for _, path := range mustGlob(d.work(), "part-*/"+journalName) {
		errs = append(errs, d.readJournal(path, all))
	}
	return all, errors.Join(errs...)
}

// readJournal adds the reports of a journal, unless it was removed, since all is done. What is no JSON a crash has left.
func (d directory) readJournal(path string, all map[feed.Time]*report) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if !json.Valid(lines.Bytes()) {
			continue
		}
		var r report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if d.hasAll(r.Files) {
			all[r.Start] = &r
		}
	}
	return lines.Err()
}
