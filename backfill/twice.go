package backfill

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
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
func (b *backfill) tellOnce(finished map[feed.Time]*report) (left bool, err error) {
	all := slices.SortedFunc(maps.Values(finished), func(x, y *report) int { return cmp.Compare(x.Start, y.Start) })
	total := int64(0)
	for _, r := range all {
		total += r.Events
	}
	again := map[int]map[int64]bool{} // lines, by slice
	parts := total/maxIDs + 1
	for part := range parts {
		if err := b.findAgain(all, part, parts, again); err != nil {
			return false, err
		}
	}
	for i, lines := range again {
		if err := b.leaveOut(all[i], lines); err != nil {
			return false, err
		}
	}
	return len(again) > 0, nil
}

// findAgain compares the ids of one part, which is by their hash.
func (b *backfill) findAgain(all []*report, part, parts int64, again map[int]map[int64]bool) error {
	var list []told
	for i, r := range all {
		err := b.eachID(r, func(line int64, id feed.Hash) {
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

// leaveOut writes the events of a slice again without some of them. Until its new report is written the slice is not finished:
// its file has not the size that the old one names.
func (b *backfill) leaveOut(r *report, lines map[int64]bool) (err error) {
	var e eventOutput
	defer func() {
		if err != nil {
			e.abandon()
		}
	}()
	before := *r
	ids, err := b.idsOf(r)
	if err != nil {
		return err
	}
	if err := e.open(b, r.Start, 1); err != nil {
		return err
	}
	err = eachLine(b.dir.events(r.Start), func(n int64, line []byte) error {
		if lines[n] {
			return nil
		}
		return e.append(ids[n], line)
	})
	if err != nil {
		return err
	}
	if err := e.end(r); err != nil {
		return err
	}
	r.Twice += before.Events - r.Events
	r.Files = append(r.Files, before.Files[1:]...)
	if err := errors.Join(e.lines.sync(), e.lines.publish(), syncFolder(b.dir.out)); err != nil {
		return err
	}
	return b.dir.addReports([]*report{r})
}

// idsOf are all ids of a slice.
func (b *backfill) idsOf(r *report) (ids []feed.Hash, err error) {
	err = b.eachID(r, func(_ int64, id feed.Hash) { ids = append(ids, id) })
	return ids, err
}
