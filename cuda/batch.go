package cuda

import (
	"fmt"
	"math/bits"
	"slices"
)

// Batch is queries and the rows that they are compared with. Queries are of classes, and so are the rows of a job: the
// radius of a pair follows from the two. So a query is sent once, however many jobs compare it. Reset makes a batch
// ready; it keeps its memory for the next.
type Batch struct {
	words   int
	rows    int      // classes of rows
	classes int      // of queries
	queries []uint32 // entry() each: signature, class, sum of the weights that are not negative
	weights []uint32 // 8 a word of each: for each bit, what agreement counts, in a signed byte
	held    []uint32 // 2 each: where its holders begin, and how many words a bit has; 0 of a query that has none
	holders []uint64
	holding bool     // some query has holders, if only of no bit
	radii   []uint32 // by class of the rows, then of the query; signed
	apart   []uint32 // likewise: tokens + further<<16
	jobs    []Job

	parts   []part
	lane    *lane // while it runs
	seconds float64
}

// Job compares rows From to To of a table, To not included, with the queries First to Last of its batch, Last not
// included.
type Job struct {
	Rows        *Rows
	From, To    int
	First, Last int
	Class       int // of the rows
}

// Hit is a row within the radius of a query: the numbers of both, and that of the job.
type Hit struct{ Query, Job, Row uint32 }

// Reset empties the batch. Signatures have so many words, and there are so many classes of rows and queries, of which
// no pair is near as long as it has no radius.
func (b *Batch) Reset(words, rowClasses, queryClasses int) {
	b.words, b.rows, b.classes = words, rowClasses, queryClasses
	b.queries, b.weights, b.held, b.holders = b.queries[:0], b.weights[:0], b.held[:0], b.holders[:0]
	b.radii, b.apart, b.holding = b.radii[:0], b.apart[:0], false
	clear(b.jobs) // tables may be dropped
	b.jobs = b.jobs[:0]
	n := rowClasses * queryClasses
	b.radii, b.apart = slices.Grow(b.radii, n)[:n], slices.Grow(b.apart, n)[:n]
	clear(b.apart)
	for i := range b.radii {
		b.radii[i] = ^uint32(0)
	}
}

// maxBound is more than any radius or number of tokens or bits, also where weights count bits many times; it has half a word.
const maxBound = 1<<16 - 1

// SetRadius says how far apart rows and queries of two classes are at most; below 0 none is near.
func (b *Batch) SetRadius(rowClass, queryClass, radius int) {
	b.radii[rowClass*b.classes+queryClass] = uint32(int32(max(-1, min(radius, maxBound))))
}

// SetApart says, of queries with holders, how many of their tokens a row can lack at most, and how many bits it can have that
// the query lacks (hashcodes.Holders). The radius is no less than what these make together: further, and for each of
// the tokens as many bits as its code has at most.
func (b *Batch) SetApart(rowClass, queryClass, tokens, further int) {
	b.apart[rowClass*b.classes+queryClass] = uint32(max(0, min(tokens, maxBound)) | max(0, min(further, maxBound))<<16)
}

// AddQuery adds a query, of which a row within the radius is a hit. They are numbered in the order they come.
func (b *Batch) AddQuery(signature []uint32, class int) {
	if len(signature) != b.words {
		panic("cuda: a query's signature has another number of words than the batch's")
	}
	if class < 0 || class >= b.classes {
		panic(fmt.Sprintf("cuda: class %d of %d", class, b.classes))
	}
	b.queries = append(append(b.queries, signature...), uint32(class), uint32(onesOf(signature)))
	b.held = append(b.held, 0, 0)
	b.addWeights(signature)
}

// Hold gives the last query its holders: for each bit of its signature that is one, in their order, the tokens whose codes have
// it, as bits of so many words. Then a row is a hit if it also passes what SetApart says.
func (b *Batch) Hold(words int, holders []uint64) {
	number := b.size() - 1
	q, weights := b.queries[number*b.entry():], b.weights[8*b.words*number:]
	sum := &q[b.words+1]
	if words < 1 || len(holders) != words*int(*sum) {
		panic(fmt.Sprintf("cuda: %d words of holders, %d each, of %d bits", len(holders), words, *sum))
	}
	b.holding = true
	b.held[2*number], b.held[2*number+1] = uint32(len(b.holders)), uint32(words)
	b.holders = append(b.holders, holders...)
	for i, word := range q[:b.words] {
		for ; word != 0; word &= word - 1 {
			more := weight(holders[:words]) - 1
			if holders = holders[words:]; more > 0 { // it counts as often as tokens have it
				bit := bits.TrailingZeros32(word)
				weights[8*i+bit/4] += more << (bit % 4 * 8)
				*sum += more
			}
		}
	}
}

func onesOf(signature []uint32) (n int) {
	for _, word := range signature {
		n += bits.OnesCount32(word)
	}
	return n
}

// signs are, for each byte of a signature, a signed byte for each of its bits: 1 of a one, -1 of a zero.
var signs = func() (signs [256][2]uint32) {
	for value := range uint32(256) {
		for bit := range 8 {
			signs[value][bit/4] |= (0xff - value>>bit&1*0xfe) << (bit % 4 * 8)
		}
	}
	return signs
}()

// addWeights adds those of a query, as long as nothing is known of its tokens.
func (b *Batch) addWeights(signature []uint32) {
	for _, word := range signature {
		for range 4 {
			b.weights = append(b.weights, signs[word&255][:]...)
			word >>= 8
		}
	}
}

// weight is the number of tokens, as far as a signed byte goes; 1 of none.
func weight(holders []uint64) uint32 {
	n := 0
	for _, tokens := range holders {
		n += bits.OnesCount64(tokens)
	}
	return uint32(max(1, min(n, 127)))
}

// AddJob adds a job. They are numbered in the order they come.
func (b *Batch) AddJob(j Job) { b.jobs = append(b.jobs, j) }

// entry is the number of words of a query in queries.
func (b *Batch) entry() int { return b.words + 2 }

// query is the signature and the class of one.
func (b *Batch) query(number uint32) (signature []uint32, class uint32) {
	q := b.queries[int(number)*b.entry():]
	return q[:b.words], q[b.words]
}

func (b *Batch) size() int { return len(b.queries) / b.entry() }

// check panics where a job is none, which is the caller's bug.
func (b *Batch) check(j *Job, d *Device) {
	if j.Rows.device != d || j.Rows.freed {
		panic("cuda: rows of another device, or freed")
	}
	if j.Rows.words != b.words {
		panic("cuda: rows have another number of words than the batch")
	}
	if j.From < 0 || j.To < j.From || j.To > j.Rows.length {
		panic(fmt.Sprintf("cuda: rows %d to %d of %d", j.From, j.To, j.Rows.length))
	}
	if j.First < 0 || j.Last < j.First || j.Last > b.size() {
		panic(fmt.Sprintf("cuda: queries %d to %d of %d", j.First, j.Last, b.size()))
	}
	if j.Class < 0 || j.Class >= b.rows {
		panic(fmt.Sprintf("cuda: class %d of %d of rows", j.Class, b.rows))
	}
}
