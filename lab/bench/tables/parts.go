package tables

import (
	"context"
	"slices"
	"time"

	"refrain/hashcodes"
	"refrain/lab/cpu"
	"refrain/sigstore"
	"refrain/text"
)

// Parts are where the time of the prefix engine goes, in µs a sentence.
type Parts struct {
	Search  float64 `json:"search"`
	Verify  float64 `json:"verify"`
	Add     float64 `json:"add"`
	Hits    int64   `json:"hits"`
	Matches int64   `json:"matches"`
}

// rowsAlone is what an index asks of its window, without one: all rows, numbered before anything is timed.
type rowsAlone struct {
	tokens      []uint32 // of all rows, ascending
	ends        []int
	known       []int // of a row: how many of its tokens a row before it holds; they come first
	signatures  []uint32
	codes       []uint32 // by token number
	words       int
	lent        hashcodes.Signature
	frequencies []uint32
	blocks      []int // first row of each
}

var _ sigstore.Rows = (*rowsAlone)(nil)

func (r *rowsAlone) Frequencies() []uint32 { return r.frequencies }

func (r *rowsAlone) Tokens(row sigstore.Row) []uint32 { return r.row(r.at(row)) }

// Signature is the OR of the tokens' codes.
func (r *rowsAlone) Signature(tokens []uint32) hashcodes.Signature {
	r.lent = append(r.lent[:0], make(hashcodes.Signature, r.words)...)
	r.sign(r.lent, tokens)
	return r.lent
}

func (r *rowsAlone) sign(sig hashcodes.Signature, tokens []uint32) {
	for _, n := range tokens {
		for w := range sig {
			sig[w] |= r.codes[int(n)*r.words+w]
		}
	}
}

func (r *rowsAlone) at(row sigstore.Row) int { return r.blocks[row.Block] + int(row.Row) }

func (r *rowsAlone) row(i int) []uint32 { return r.tokens[before(r.ends, i):r.ends[i]] }

func (r *rowsAlone) signature(i int) hashcodes.Signature {
	return r.signatures[i*r.words : (i+1)*r.words]
}

// number does what the window's dictionary does.
func number(c *corpus, m *hashcodes.Model) *rowsAlone {
	r := &rowsAlone{words: m.Words()}
	numbers, code := map[uint64]uint32{}, make(hashcodes.Signature, m.Words())
	for i := range c.len() {
		first, from := uint32(len(numbers)), len(r.tokens)
		for _, id := range c.set(i) {
			n, ok := numbers[id]
			if !ok {
				n = uint32(len(numbers))
				numbers[id] = n
				r.codes = append(r.codes, m.Code(code, id)...)
			}
			r.tokens = append(r.tokens, n)
		}
		row := r.tokens[from:]
		slices.Sort(row)
		r.signatures = append(r.signatures, make([]uint32, r.words)...)
		r.sign(r.signature(i), row)
		known, _ := slices.BinarySearch(row, first)
		r.ends, r.known = append(r.ends, len(r.tokens)), append(r.known, known)
	}
	r.frequencies = make([]uint32, len(numbers))
	return r
}

// parts drives the index of the prefix engine alone. To time its parts apart, a batch of rows is searched, then verified,
// then added; matches within a batch are counted apart, so that the sum is that of the detector.
func (c *Config) parts(ctx context.Context, s *corpus, t text.Threshold) (*Parts, error) {
	m, err := model()
	if err != nil {
		return nil, err
	}
	e, err := c.engine("prefix")
	if err != nil {
		return nil, err
	}
	c.status("match: θ %v, the index alone", t)
	d := &driver{bounds: hashcodes.NewBounds(text.Jaccard.At(t), m.Ones()), rows: number(s, m)}
	d.index = e(d.bounds, m)(d.rows)
	d.open(0)
	for from := 0; from < s.len(); from += partsBatch {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		d.batch(from, min(from+partsBatch, s.len()))
	}
	per := func(d time.Duration) float64 { return float64(d) / 1e3 / float64(max(1, s.len())) }
	return &Parts{Search: per(d.search), Verify: per(d.verify), Add: per(d.add), Hits: d.hits, Matches: d.matches}, nil
}

// partsBatch is small, so that few pairs are within one.
const partsBatch = 256

// driver runs an index without a window.
type driver struct {
	rows   *rowsAlone
	bounds *hashcodes.Bounds
	index  sigstore.Index

	queries             [partsBatch]sigstore.Query
	inBlock             int
	search, verify, add time.Duration
	hits, matches       int64
}

func (d *driver) open(first int) {
	d.index.Open()
	d.rows.blocks = append(d.rows.blocks, first)
	d.inBlock = 0
}

func (d *driver) batch(from, to int) {
	for i := from; i < to; i++ {
		q := &d.queries[i-from]
		*q = sigstore.Query{Tokens: d.rows.row(i)[:d.rows.known[i]], Size: len(d.rows.row(i)), Signature: d.rows.signature(i),
			Hits: q.Hits[:0]}
	}
	begin := cpu.Time()
	for i := range to - from {
		d.index.Search(d.queries[i : i+1])
	}
	searched := cpu.Time()
	for i := from; i < to; i++ {
		d.verifyHits(i, &d.queries[i-from])
	}
	verified := cpu.Time()
	d.verifyWithin(from, to)
	for _, t := range d.rows.tokens[before(d.rows.ends, from):d.rows.ends[to-1]] {
		d.rows.frequencies[t]++
	}
	if d.inBlock >= max(4096, from/2) { // about as the window's blocks close
		d.open(from)
	}
	adding := cpu.Time()
	for i := from; i < to; i++ {
		d.index.Add(d.rows.row(i), d.rows.signature(i))
	}
	d.inBlock += to - from
	d.search, d.verify, d.add = d.search+searched-begin, d.verify+verified-searched, d.add+cpu.Time()-adding
}

func (d *driver) verifyHits(i int, q *sigstore.Query) {
	d.hits += int64(len(q.Hits))
	for _, h := range q.Hits {
		if d.similar(i, d.rows.at(h)) {
			d.matches++
		}
	}
}

// verifyWithin counts the matches that a search of the whole batch at once misses, by comparing all.
func (d *driver) verifyWithin(from, to int) {
	for i := from; i < to; i++ {
		for k := from; k < i; k++ {
			if d.similar(i, k) {
				d.matches++
			}
		}
	}
}

// similar decides on the token sets, as the detector does.
func (d *driver) similar(i, k int) bool {
	x, y := d.rows.row(i), d.rows.row(k)
	b := d.bounds.For(len(x))
	m := len(y) - b.Min
	return m >= 0 && m < len(b.Overlap) && common(x, y) >= int(b.Overlap[m])
}

// common is the number of tokens that two rows share.
func common(x, y []uint32) (n int) {
	for i, k := 0, 0; i < len(x) && k < len(y); {
		switch {
		case x[i] == y[k]:
			n, i, k = n+1, i+1, k+1
		case x[i] < y[k]:
			i++
		default:
			k++
		}
	}
	return n
}
