package backfill

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"slices"

	"refrain/feed"
)

// Two versions of a post that share a sentence share its events: a post's time and text are no part of an id. Within a slice
// and across slices the first one counts, in the order of the feed, and the others are left out. Which they are is known only
// when all slices are finished: then their ids are compared, so many at a time as memory holds.

// maxIDs is how many ids are compared at once, 32 bytes each.
var maxIDs = int64(8 << 20)

// told is an event: its id, the slice, by its place among all, and the line.
type told struct {
	id    feed.Hash
	slice int
	line  int64
}

// tellOnce removes events that were told before, and reports whether there were any.
func (b *backfill) tellOnce(all []Slice) (left bool, err error) {
	total := int64(0)
	for i := range all {
		total += all[i].Events
	}
	again := map[int]map[int64]bool{} // lines, by slice
	parts := total/maxIDs + 1
	for part := range parts {
		if err := b.findAgain(all, part, parts, again); err != nil {
			return false, err
		}
	}
	for i := range all {
		if again[i] == nil {
			continue
		}
		if err := b.leaveOut(&all[i], again[i]); err != nil {
			return false, err
		}
	}
	return len(again) > 0, nil
}

// findAgain compares the ids of one part, which is by their hash.
func (b *backfill) findAgain(all []Slice, part, parts int64, again map[int]map[int64]bool) error {
	var list []told
	for i := range all {
		err := eachID(b.dir.ids(all[i].Start), func(line int64, id feed.Hash) {
			if int64(id.Partition(int(parts))) == part {
				list = append(list, told{id, i, line})
			}
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(list, func(x, y told) int {
		return cmp.Or(bytes.Compare(x.id[:], y.id[:]), cmp.Compare(x.slice, y.slice), cmp.Compare(x.line, y.line))
	})
	for i := 1; i < len(list); i++ {
		if x := &list[i]; x.id == list[i-1].id {
			if again[x.slice] == nil {
				again[x.slice] = map[int64]bool{}
			}
			again[x.slice][x.line] = true
		}
	}
	return nil
}

// eachID visits the ids of a file.
func eachID(path string, visit func(line int64, id feed.Hash)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 256<<10)
	for line := int64(0); ; line++ {
		var id feed.Hash
		if _, err := io.ReadFull(r, id[:]); err != nil {
			return ignoreEOF(err)
		}
		visit(line, id)
	}
}

// leaveOut writes the events of a slice again without some of them. Until its report is written, the slice is not finished:
// the sizes of its files are not those that the old one has.
func (b *backfill) leaveOut(s *Slice, lines map[int64]bool) (err error) {
	var e eventOutput
	defer func() {
		if err != nil {
			e.abandon()
		}
	}()
	if err := e.open(b, s.Start, 1); err != nil {
		return err
	}
	events, err := os.Open(b.dir.events(s.Start))
	if err != nil {
		return err
	}
	defer events.Close()
	r := bufio.NewReaderSize(events, 256<<10)
	var failed error
	err = eachID(b.dir.ids(s.Start), func(n int64, id feed.Hash) {
		line, err := r.ReadBytes('\n')
		if failed == nil {
			failed = err
		}
		if failed == nil && !lines[n] {
			failed = e.append(id, line)
		}
	})
	if err = cmp.Or(err, failed); err != nil {
		return err
	}
	if err := e.commit(); err != nil {
		return err
	}
	s.Twice += s.Events - e.lines.Lines
	s.Events, s.Files[0] = e.lines.Lines, e.lines.Output
	return write(b.dir.report(s.Start), s)
}
