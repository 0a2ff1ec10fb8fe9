package join

import (
	"context"
	"iter"
	"sync"
	"time"
)

// part is what is joined at once: some rows, or some tokens. It is cut into blocks, which finders take side by side.
type part interface {
	// blocks yields them in order: ranges of whatever the part goes through.
	blocks(yield func(from, to uint32) bool)
	// finder returns one for a goroutine.
	finder() finder
	postings() int64
	// total is where the last block ends.
	total() uint32
}

// finder finds the pairs of blocks.
type finder interface {
	// find emits the pairs of a block, as members of rows, in an order that depends on nothing else, until emit says no.
	find(from, to uint32, emit func(x, y uint32, common int) bool)
	counted() *Stats
}

func run(ctx context.Context, cfg Config, collections []*Collection, visit func(Pair) error) (stats Stats, err error) {
	e := newEstimate(cfg, collections)
	if err := e.check(cfg.Memory); err != nil {
		return Stats{}, err
	}
	begin := time.Now()
	s, err := setsOf(ctx, cfg, collections)
	if err != nil {
		return Stats{}, err
	}
	stats.Sets = len(s.members)
	for _, c := range collections {
		stats.Tokens += c.Tokens()
	}
	for p := range partsOf(s, cfg, e) {
		stats.Parts++
		stats.Postings += p.postings()
		stats.Prepare += time.Since(begin)
		begin = time.Now()
		l := looking{part: p, cfg: cfg, collections: collections}
		err = l.run(ctx, &stats, visit)
		stats.Join += time.Since(begin)
		if err != nil {
			break
		}
		begin = time.Now()
	}
	return stats, err
}

func setsOf(ctx context.Context, cfg Config, collections []*Collection) (*sets, error) {
	if cfg.Algorithm == Ours {
		return newPrefixes(ctx, collections, cfg.Measure.Prefix)
	}
	return newSets(ctx, collections)
}

func partsOf(s *sets, cfg Config, e *estimate) iter.Seq[part] {
	if cfg.Algorithm != Ours {
		return papers(s, cfg, e)
	}
	if e.byToken {
		return func(yield func(part) bool) {
			for p := range byTokens(s, cfg, e) {
				if !yield(p) {
					return
				}
			}
			byRows(s, cfg, e.long, s.longRows())(yield)
		}
	}
	return byRows(s, cfg, e, 0)
}

// Pairs of a block come in chunks: a set may have very many. Workers are ahead of visit by some blocks at most, each with one
// chunk that waits and one that is filled.
const chunkSize = 512

// block is a piece of a part, and what is found for it.
type block struct {
	from, to uint32
	pairs    chan []Pair
}

// looking is the join of one part.
type looking struct {
	part
	cfg         Config
	collections []*Collection
}

// run has the workers find all pairs of the part, and calls visit with them in the order of blocks.
func (l *looking) run(ctx context.Context, stats *Stats, visit func(Pair) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo, order := make(chan *block), make(chan *block, 2*l.cfg.Workers)
	finders := make([]finder, l.cfg.Workers)
	var workers sync.WaitGroup
	for i := range finders {
		finders[i] = l.finder()
		workers.Go(func() { l.work(ctx, finders[i], todo) })
	}
	workers.Go(func() { l.deal(ctx, todo, order) })
	err := l.collect(ctx, order, visit)
	stop(err)
	workers.Wait()
	for _, f := range finders {
		stats.add(f.counted())
	}
	return err
}

// deal hands out the blocks. One is in order before it is to do: so the first of order is always under way.
func (l *looking) deal(ctx context.Context, todo, order chan<- *block) {
	defer close(todo)
	defer close(order)
	l.blocks(func(from, to uint32) bool {
		b := &block{from, to, make(chan []Pair, 1)}
		return put(ctx, order, b) && put(ctx, todo, b)
	})
}

func put[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *looking) work(ctx context.Context, f finder, todo <-chan *block) {
	for b := range todo {
		var chunk []Pair
		f.find(b.from, b.to, func(x, y uint32, common int) bool {
			f.counted().Pairs++
			if chunk = append(chunk, l.pair(x, y, common)); len(chunk) < chunkSize {
				return true
			}
			full := chunk
			chunk = make([]Pair, 0, chunkSize)
			return put(ctx, b.pairs, full)
		})
		if len(chunk) > 0 {
			put(ctx, b.pairs, chunk)
		}
		close(b.pairs)
		if ctx.Err() != nil {
			return
		}
	}
}

// pair is two members of rows as their collections know them.
func (l *looking) pair(x, y uint32, common int) Pair {
	a, b := pairOf(x, y)
	n, m := l.collections[0].Size(a), l.collections[len(l.collections)-1].Size(b)
	return Pair{a, b, common, l.cfg.Measure.Similarity.Value(common, n, m)}
}

// collect calls visit.
func (l *looking) collect(ctx context.Context, order <-chan *block, visit func(Pair) error) error {
	for b := range order {
		if err := eachPair(ctx, b.pairs, visit); err != nil {
			return err
		}
		if l.cfg.Progress != nil {
			l.cfg.Progress(int(b.to), int(l.total()))
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
