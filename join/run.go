package join

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"refrain/text"
)

// joined is what the workers share, and do not change: all rows, and the index of a part of them.
type joined struct {
	*sets
	measure  text.Measure
	maxDepth int
	prefixes []uint32 // [n]: how many tokens of a row of n are posted
	signed   *signed  // of Ours
	from, to uint32   // the rows of the part
	indexes  []*index // of each collection
}

// indexFor is where x has its partners: in the other collection, if there are two.
func (j *joined) indexFor(x uint32) *index { return j.indexes[(j.side(x)+1)%len(j.indexes)] }

// prober finds the partners of rows among smaller ones of the part; it belongs to one goroutine.
type prober interface {
	// partners are those of x, valid until the next call.
	partners(x uint32) []hit
	counted() *Stats
}

func run(ctx context.Context, cfg Config, collections []*Collection, visit func(Pair) error) (stats Stats, err error) {
	begin := time.Now()
	e := newEstimate(cfg, collections)
	if err := e.check(cfg.Memory); err != nil {
		return Stats{}, err
	}
	s := newSets(collections)
	j := &joined{sets: s, measure: cfg.Measure, maxDepth: cfg.MaxDepth, prefixes: indexPrefixes(s, cfg.Measure)}
	if cfg.Algorithm == Ours {
		j.signed = newSigned(s, cfg.Model)
	}
	stats = Stats{Sets: len(s.origin), Tokens: len(s.tokens)}
	for from := uint32(0); from < s.len() && err == nil; from = j.to {
		j.post(len(collections), from, e.partEnd(j, from, cfg.Memory))
		for _, x := range j.indexes {
			stats.Postings += int64(len(x.entries))
		}
		stats.Prepare += time.Since(begin)
		begin = time.Now()
		err = j.look(ctx, cfg, &stats, visit)
		stats.Join += time.Since(begin)
		begin = time.Now()
	}
	return stats, err
}

// indexPrefixes computes them for the sizes that there are.
func indexPrefixes(s *sets, m text.Measure) []uint32 {
	prefixes := make([]uint32, len(s.first))
	for n := 1; n < len(s.first)-1; n++ {
		if s.first[n] < s.first[n+1] {
			prefixes[n] = uint32(m.IndexPrefix(n))
		}
	}
	return prefixes
}

// post makes the index of a part.
func (j *joined) post(collections int, from, to uint32) {
	j.from, j.to = from, to
	j.indexes = j.indexes[:0]
	for side := range collections {
		x := newIndex(j.sets, j.prefixes, side, from, to)
		if j.signed != nil {
			x.sign(j.signed)
		}
		j.indexes = append(j.indexes, x)
	}
}

func (j *joined) prober(cfg Config) prober {
	if cfg.Algorithm == Ours {
		return newOurs(j)
	}
	return newPaper(j, cfg.Algorithm)
}

// Rows are dealt to the workers in blocks, and the pairs of a block come in chunks: a row may have very many. Workers are ahead
// of visit by some blocks at most, each with one chunk that waits and one that is filled.
const (
	blockRows = 256
	chunkSize = 512
)

// block is some rows to look up, and what is found for them.
type block struct {
	from, to uint32
	pairs    chan []Pair
}

// look looks up all rows from the part's first on, and calls visit with what is found, in the order of the rows.
func (j *joined) look(ctx context.Context, cfg Config, stats *Stats, visit func(Pair) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo, order := make(chan *block), make(chan *block, 2*cfg.Workers)
	probers := make([]prober, cfg.Workers)
	var workers sync.WaitGroup
	for i := range probers {
		probers[i] = j.prober(cfg)
		workers.Go(func() { j.work(ctx, probers[i], todo) })
	}
	workers.Go(func() { j.deal(ctx, todo, order) })
	err := j.collect(ctx, cfg, order, visit)
	stop(err)
	workers.Wait()
	for _, p := range probers {
		stats.add(p.counted())
	}
	return err
}

// deal hands out the rows. A block is in order before it is to do: so the first block of order is always under way.
func (j *joined) deal(ctx context.Context, todo, order chan<- *block) {
	defer close(todo)
	defer close(order)
	for from := uint64(j.from); from < uint64(j.len()); from += blockRows {
		b := &block{uint32(from), uint32(min(from+blockRows, uint64(j.len()))), make(chan []Pair, 1)}
		for _, to := range []chan<- *block{order, todo} {
			select {
			case to <- b:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (j *joined) work(ctx context.Context, p prober, todo <-chan *block) {
	for b := range todo {
		var chunk []Pair
		for x := b.from; x < b.to && ctx.Err() == nil; x++ {
			hits := p.partners(x)
			slices.SortFunc(hits, func(g, h hit) int { return cmp.Compare(g.row, h.row) })
			p.counted().Pairs += int64(len(hits))
			for _, h := range hits {
				chunk = append(chunk, j.found(x, h))
				if len(chunk) == chunkSize {
					send(ctx, b.pairs, chunk)
					chunk = make([]Pair, 0, chunkSize)
				}
			}
		}
		send(ctx, b.pairs, chunk)
		close(b.pairs)
	}
}

func send(ctx context.Context, to chan<- []Pair, chunk []Pair) {
	if len(chunk) == 0 {
		return
	}
	select {
	case to <- chunk:
	case <-ctx.Done():
	}
}

func (j *joined) found(x uint32, h hit) Pair {
	a, b := j.pair(x, h.row)
	n, m := len(j.row(x)), len(j.row(h.row))
	return Pair{a, b, int(h.common), j.measure.Similarity.Value(int(h.common), n, m)}
}

// collect calls visit.
func (j *joined) collect(ctx context.Context, cfg Config, order <-chan *block, visit func(Pair) error) error {
	for b := range order {
		if err := eachPair(ctx, b.pairs, visit); err != nil {
			return err
		}
		if cfg.Progress != nil {
			cfg.Progress(int(b.to), int(j.len()))
		}
	}
	return context.Cause(ctx)
}

// eachPair visits the pairs of a block, which nobody may be looking for any more when ctx is done.
func eachPair(ctx context.Context, chunks <-chan []Pair, visit func(Pair) error) error {
	for {
		select {
		case chunk, ok := <-chunks:
			for _, p := range chunk {
				if err := visit(p); err != nil {
					return err
				}
			}
			if !ok {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
