package edit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// join is one join at work.
type join struct {
	Config
	rows  []row
	two   bool // collections
	visit func(Pair) error

	lock  sync.Mutex // of stats
	stats Stats
}

func (j *join) add(s Stats) {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.stats.Candidates += s.Candidates
	j.stats.Verified += s.Verified
	j.stats.Pairs += s.Pairs
}

// run goes through the strings by the length of the grams that they are looked up by.
func (j *join) run(ctx context.Context) error {
	for from := 0; from < len(j.rows); {
		q := j.gramLength(j.rows[from].length)
		to := j.endOf(q, from)
		if err := j.lookUp(ctx, q, from, to); err != nil {
			return err
		}
		from = to
	}
	return ctx.Err()
}

// gramLength is how long the grams are by which a string of n characters is looked up: as long as it has more than
// edits can touch. 0: it is within the distance of all that are no longer.
func (j *join) gramLength(n int32) int { return min(j.Q, int(n)/(j.Distance+1)) }

// endOf is the first row from from on whose grams are not of q characters.
func (j *join) endOf(q, from int) int {
	at, _ := slices.BinarySearchFunc(j.rows[from:], q+1,
		func(r row, q int) int { return cmp.Compare(j.gramLength(r.length), q) })
	return from + at
}

// startOf is the first row with so many characters.
func startOf(rows []row, length int) int {
	at, _ := slices.BinarySearchFunc(rows, length, func(r row, n int) int { return cmp.Compare(int(r.length), n) })
	return at
}

// tier is the rows that are looked up by grams of one length, with the shorter ones that these may be similar to.
type tier struct {
	*join
	*tokens
	rows     []row
	first    int // of rows: the first that is looked up
	width    int // tokens of a prefix
	prefixes []uint32
	lists    [2]lists // by collection
}

// lookUp visits the pairs of which rows from to to−1 are the later.
func (j *join) lookUp(ctx context.Context, q, from, to int) error {
	low := startOf(j.rows, int(j.rows[from].length)-j.Distance)
	t := &tier{join: j, rows: j.rows[low:to], first: from - low, width: q*j.Distance + 1}
	if q > 0 {
		if err := t.index(ctx, q); err != nil {
			return err
		}
	}
	return t.search(ctx)
}

const (
	countedRows = 1 << 16 // are enough to tell rare tokens from others
	maxBits     = 26      // of a token
)

// index makes the prefixes of all rows, and the lists of what rows hold in theirs.
func (t *tier) index(ctx context.Context, q int) error {
	if len(t.rows) > math.MaxUint32/t.width {
		return fmt.Errorf("%d strings with %d grams each in an index: want fewer strings, or shorter grams",
			len(t.rows), t.width)
	}
	t.tokens = newTokens(q, bitsFor(int64(len(t.rows)*t.width)))
	g := &grams{tokens: t.tokens}
	for i := 0; i < len(t.rows); i += 1 + len(t.rows)/countedRows {
		g.count(t.rows[i].text)
	}
	t.prefixes = make([]uint32, len(t.rows)*t.width)
	if err := t.fillPrefixes(ctx); err != nil {
		return err
	}
	for side := range t.sides() {
		t.lists[side] = t.listsOf(uint8(side))
	}
	return nil
}

// fillPrefixes makes the prefixes, as many at once as there are workers.
func (t *tier) fillPrefixes(ctx context.Context) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range t.Workers {
		wait.Go(func() {
			g := &grams{tokens: t.tokens}
			for i := int(next.Add(1)) - 1; i < len(t.rows) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				g.prefix(t.prefix(i), t.rows[i].text)
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

// prefix is where the first tokens of a row are; shorter rows have fewer.
func (t *tier) prefix(i int) []uint32 {
	grams := int(t.rows[i].length) - t.q + 1
	return t.prefixes[i*t.width:][:min(t.width, grams)]
}

func (j *join) sides() int {
	if j.two {
		return 2
	}
	return 1
}

// partner is the collection in which the rows of another are looked up.
func (j *join) partner(side uint8) uint8 {
	if j.two {
		return 1 - side
	}
	return side
}
