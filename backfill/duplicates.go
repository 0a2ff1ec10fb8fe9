package backfill

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sync"

	"refrain/feed"
)

// Two versions of a post that share a sentence share its events: a post's time and text are no part of an id. Within a slice
// and across slices the first one counts, in the order of the feed, and the others are duplicates. Which they are is known only
// when all slices are finished: then their ids are compared, so many at a time as memory holds.

// maxIDs is how many ids are compared at once, 32 bytes each.
var maxIDs = int64(8 << 20)

// eventRef names an event: its id, the slice, by its place among all, and the line.
type eventRef struct {
	id    feed.Hash
	slice int
	line  int64
}

// compare orders by id, and of one id by place. Ids are hashes: nearly always their first bytes differ.
func (x *eventRef) compare(y *eventRef) int {
	if a, b := binary.BigEndian.Uint64(x.id[:]), binary.BigEndian.Uint64(y.id[:]); a != b {
		return cmp.Compare(a, b)
	}
	return cmp.Or(bytes.Compare(x.id[:], y.id[:]), cmp.Compare(x.slice, y.slice), cmp.Compare(x.line, y.line))
}

// lines are those of the files of events, by slice. Any goroutine may add some.
type lines struct {
	mu      sync.Mutex
	bySlice map[int]map[int64]bool
}

func (l *lines) add(slice int, line int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bySlice[slice] == nil {
		l.bySlice[slice] = map[int64]bool{}
	}
	l.bySlice[slice][line] = true
}

// removeDuplicates removes events whose id an event before them has. What that leaves of a slice its report says.
func (b *backfill) removeDuplicates(finished map[feed.Time]*report) error {
	all := slices.SortedFunc(maps.Values(finished), func(x, y *report) int { return cmp.Compare(x.Start, y.Start) })
	total := int64(0)
	for _, r := range all {
		total += r.Events
	}
	duplicates := &lines{bySlice: map[int]map[int64]bool{}}
	if err := b.findAllDuplicates(all, total, duplicates); err != nil {
		return err
	}
	for i, lines := range duplicates.bySlice {
		if err := b.rewrite(all[i], lines); err != nil {
			return err
		}
	}
	return nil
}

// findAllDuplicates compares all ids, a part of them at a time.
func (b *backfill) findAllDuplicates(all []*report, total int64, duplicates *lines) error {
	parts := int(total/maxIDs + 1)
	for part := range parts {
		refs, err := b.refs(all, part, parts)
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		for _, some := range refs {
			wg.Go(func() { findDuplicates(some, duplicates) })
		}
		wg.Wait()
	}
	return nil
}

// findDuplicates compares the ids of some events: of those that have one id all are there.
func findDuplicates(refs []eventRef, duplicates *lines) {
	slices.SortFunc(refs, func(x, y eventRef) int { return x.compare(&y) })
	for i := 1; i < len(refs); i++ {
		if refs[i].id == refs[i-1].id {
			duplicates.add(refs[i].slice, refs[i].line)
		}
	}
}

// refs are the events of one part, by their hash, dealt to so many as workers are.
func (b *backfill) refs(all []*report, part, parts int) (refs [][]eventRef, err error) {
	workers := b.cfg.Workers
	refs = make([][]eventRef, workers)
	for i, r := range all {
		err := b.eachID(r, func(line int64, id feed.Hash) {
			if n := id.Partition(parts * workers); n/workers == part {
				refs[n%workers] = append(refs[n%workers], eventRef{id, i, line})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// rewrite writes the events of a slice again without some of them. Until its new report is written the slice is not finished: its
// file has not the size that the old one names.
func (b *backfill) rewrite(r *report, duplicates map[int64]bool) error {
	before := *r
	events, err := b.copyWithout(r, duplicates)
	if err != nil {
		return err
	}
	r.Duplicates += before.Events - r.Events
	r.Files = append(r.Files, before.Files[1:]...)
	if err := errors.Join(events.sync(), events.publish(), syncFolder(b.dir.out)); err != nil {
		events.abandon()
		return err
	}
	return b.dir.addReports([]*report{r})
}

// copyWithout copies the events of a slice, and says in its report what they are then.
func (b *backfill) copyWithout(r *report, duplicates map[int64]bool) (events *output, err error) {
	ids, err := b.idsOf(r)
	if err != nil {
		return nil, err
	}
	e, err := b.newEvents(r.Start)
	if err != nil {
		return nil, err
	}
	err = eachLine(b.dir.events(r.Start), func(n int64, line []byte) error {
		if duplicates[n] {
			return nil
		}
		return e.append(ids[n], line)
	})
	if err == nil {
		err = e.end(r)
	}
	if err != nil {
		e.abandon()
	}
	return e.lines, err
}

// idsOf are all ids of a slice.
func (b *backfill) idsOf(r *report) (ids []feed.Hash, err error) {
	err = b.eachID(r, func(_ int64, id feed.Hash) { ids = append(ids, id) })
	return ids, err
}
