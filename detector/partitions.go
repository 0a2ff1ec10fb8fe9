package detector

import (
	"fmt"
	"sync"

	"refrain/feed"
)

// Partitions is a window cut by the hash of the token set into several, as a topic cuts it, without the topic:
// every sentence is looked up in all of them and inserted into its own. Detect and Advance are for one
// goroutine; they share the work among several.
type Partitions struct {
	all      []*Partition
	workers  int
	reported recent
	lateness feed.Time
}

// NewPartitions returns so many windows, served by so many goroutines. The budget is shared evenly.
func NewPartitions(cfg Config, partitions, workers int) (*Partitions, error) {
	if partitions < 1 || workers < 1 {
		return nil, fmt.Errorf("partitions %d, workers %d: want at least 1", partitions, workers)
	}
	cfg.Budget /= int64(partitions)
	p := &Partitions{
		workers: min(workers, partitions), lateness: feed.Time(cfg.Lateness.Milliseconds()),
		reported: recent{ids: map[feed.Hash]feed.Time{}},
	}
	for range partitions {
		one, err := NewPartition(cfg)
		if err != nil {
			return nil, err
		}
		p.all = append(p.all, one)
	}
	return p, nil
}

// Detect looks each sentence up and inserts it, in order, and appends the matches; none that was reported
// before. It returns how many sentences were redeliveries.
func (p *Partitions) Detect(dst []feed.Match, batch []feed.Sentence) (matches []feed.Match, repeats int) {
	if len(p.all) == 1 {
		return p.all[0].detect(dst, batch)
	}
	fresh := p.fresh(batch)
	found := make([][][]feed.Match, len(p.all)) // [partition][sentence of fresh]
	p.each(func(q int) { found[q] = p.detectIn(q, fresh) })
	for i := range fresh {
		for q := range found {
			dst = p.appendNew(dst, found[q][i])
		}
	}
	return dst, len(batch) - len(fresh)
}

// detect looks each sentence up and inserts it.
func (p *Partition) detect(dst []feed.Match, batch []feed.Sentence) (matches []feed.Match, repeats int) {
	p.ahead = p.ahead[:0]
	for i := range batch {
		p.ahead = append(p.ahead, &batch[i])
	}
	p.Expect(p.ahead)
	for _, x := range p.ahead {
		if p.Has(x) {
			repeats++
			continue
		}
		dst = p.LookupNew(dst, x)
		p.Insert(x)
	}
	return dst, repeats
}

// fresh leaves out redeliveries, also of what is in the batch itself.
func (p *Partitions) fresh(batch []feed.Sentence) []*feed.Sentence {
	type identity struct {
		key     feed.Key
		version uint64
	}
	seen := make(map[identity]bool, len(batch))
	fresh := make([]*feed.Sentence, 0, len(batch))
	for i := range batch {
		x := &batch[i]
		id := identity{feed.Key{Time: x.Time, Source: x.Source, Post: x.Post, Index: x.Index}, x.Version}
		if !seen[id] && !p.all[x.Group.Partition(len(p.all))].Has(x) {
			fresh = append(fresh, x)
		}
		seen[id] = true
	}
	return fresh
}

// each runs f for every partition, on so many goroutines as there are workers.
func (p *Partitions) each(f func(q int)) {
	var wg sync.WaitGroup
	for w := range p.workers {
		wg.Go(func() {
			for q := w; q < len(p.all); q += p.workers {
				f(q)
			}
		})
	}
	wg.Wait()
}

func (p *Partitions) detectIn(q int, batch []*feed.Sentence) [][]feed.Match {
	one, found := p.all[q], make([][]feed.Match, len(batch))
	one.Expect(batch)
	for i, x := range batch {
		found[i] = one.LookupNew(nil, x)
		if x.Group.Partition(len(p.all)) == q {
			one.Insert(x)
		}
	}
	return found
}

// appendNew drops what another partition has reported: the match of y with the group of a late x is found
// in y's partition through x, and was found in x's partition if that group had an older row.
func (p *Partitions) appendNew(dst, matches []feed.Match) []feed.Match {
	for i := range matches {
		if p.reported.add(&matches[i]) {
			dst = append(dst, matches[i])
		}
	}
	return dst
}

// Advance moves the clock of every window on.
func (p *Partitions) Advance(w feed.Time) {
	p.each(func(q int) { p.all[q].Advance(w) })
	p.reported.forget(w - p.lateness)
}

// UpdateViews brings the views of the windows up to date.
func (p *Partitions) UpdateViews() {
	for _, one := range p.all {
		one.publish()
	}
}

// All are the windows, by partition.
func (p *Partitions) All() []*Partition { return p.all }

// recent holds the ids of events whose later sentence is not older than the lateness: a post in time can make
// no older sentence a repeat once more.
type recent struct {
	ids  map[feed.Hash]feed.Time
	next int // size at which to look for old ones
}

func (r *recent) add(m *feed.Match) bool {
	if _, ok := r.ids[m.ID]; ok {
		return false
	}
	r.ids[m.ID] = m.Later.Time
	return true
}

func (r *recent) forget(before feed.Time) {
	if len(r.ids) < r.next {
		return
	}
	for id, t := range r.ids {
		if t < before {
			delete(r.ids, id)
		}
	}
	r.next = 2*len(r.ids) + 4096
}
