package cudatest

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

// Table is rows in a form that plain Go can scan: words of all rows, by their place in a signature.
type Table struct{ Planes [][]uint32 }

// Grow adds random rows, some of them equal or near to each other, and returns them.
func (t *Table) Grow(random *rand.Rand, n int) [][]uint32 {
	part := hammingtest.Planes(len(t.Planes), n, func() uint32 { return random.Uint32() & random.Uint32() & random.Uint32() })
	for range n / 20 {
		row := random.IntN(n)
		for w := range part {
			part[w][row] = 0
		}
	}
	for w := range part {
		t.Planes[w] = append(t.Planes[w], part[w]...)
	}
	return part
}

// Question is a batch in a form that plain Go can answer.
type Question struct {
	Queries [][]uint32
	Codes   [][][]uint32 // of the tokens of each; nil: nothing is known of them
	Classes []int
	Radii   [][]int // by class of the rows, then of the query
	Apart   [][]Apart
	Jobs    []Job
	Tables  []*Table // of the jobs
}

// Job is a job of a question: rows From to To of its table, queries First to Last, and the class of the rows.
type Job struct{ From, To, First, Last, Class int }

// Hit is the numbers of a query, a job and a row.
type Hit struct{ Query, Job, Row uint32 }

// Apart is what hashcodes.Holders allow: tokens whose codes are not inside a row's signature, and bits that it has alone.
type Apart struct{ Tokens, Further int }

// maxOnes is the number of bits that a code in a question has at most.
const maxOnes = 3

// NewQuestion has a job for each table, all of one width: some of its rows, and some of the queries, which are near to rows;
// and all kinds of radii. Two times in three the tokens of queries are known.
func NewQuestion(random *rand.Rand, queries int, tables ...*Table) *Question {
	q := &Question{Tables: tables}
	for range 1 + random.IntN(3) {
		q.addRadii(random, 1+queries/2)
	}
	for range queries {
		q.addQuery(random)
	}
	if random.IntN(3) > 0 {
		q.AddCodes(random)
	}
	for _, t := range tables {
		n := len(t.Planes[0])
		from, first := random.IntN(n+1), random.IntN(queries+1)
		q.Jobs = append(q.Jobs, Job{From: from, To: from + random.IntN(n-from+1), First: first,
			Last: first + random.IntN(queries-first+1), Class: random.IntN(len(q.Radii))})
	}
	return q
}

func (q *Question) words() int { return len(q.Tables[0].Planes) }

func (q *Question) addRadii(random *rand.Rand, classes int) {
	words, radii := q.words(), make([]int, classes)
	for i := range radii {
		radii[i] = []int{0, 1, 2, 3, 4 * words, 7 * words, 32*words - 1, 32 * words, -1, 1 << 40}[random.IntN(10)]
	}
	q.Radii, q.Apart = append(q.Radii, radii), append(q.Apart, make([]Apart, classes))
}

func (q *Question) addQuery(random *rand.Rand) {
	planes := q.Tables[random.IntN(len(q.Tables))].Planes
	signature := hammingtest.Row(planes, random.IntN(len(planes[0])))
	signature[random.IntN(len(planes))] ^= 1 << random.IntN(32)
	if random.IntN(3) == 0 { // of the bits of a row few, so that it has others alone
		for w := range signature {
			signature[w] &= random.Uint32() & random.Uint32()
		}
	}
	q.Queries, q.Codes = append(q.Queries, signature), append(q.Codes, nil)
	q.Classes = append(q.Classes, random.IntN(len(q.Radii[0])))
}

// NewWholeQuestion is NewQuestion where every query is compared with every row.
func NewWholeQuestion(random *rand.Rand, queries int, tables ...*Table) *Question {
	q := NewQuestion(random, queries, tables...)
	for i := range q.Jobs {
		j := &q.Jobs[i]
		j.From, j.To, j.First, j.Last = 0, len(q.Tables[i].Planes[0]), 0, queries
	}
	return q
}

// NewFlood is a question of which every pair is a hit.
func NewFlood(queries int, t *Table, from, to int) *Question {
	words := len(t.Planes)
	q := &Question{Radii: [][]int{{32 * words}}, Apart: [][]Apart{{{}}}, Tables: []*Table{t},
		Jobs: []Job{{From: from, To: to, Last: queries}}}
	for range queries {
		q.Queries, q.Codes, q.Classes = append(q.Queries, make([]uint32, words)), append(q.Codes, nil), append(q.Classes, 0)
	}
	return q
}

// AddCodes gives most of the queries tokens whose codes make their signatures, and pairs of classes what holders allow.
func (q *Question) AddCodes(random *rand.Rand) {
	for i, signature := range q.Queries {
		if q.Codes[i] = nil; random.IntN(4) > 0 {
			q.Codes[i] = codesOf(random, signature)
		}
	}
	for rows, radii := range q.Radii {
		for class, radius := range radii {
			tokens := random.IntN(1 + max(0, min(radius, 200*maxOnes))/maxOnes)
			q.Apart[rows][class] = Apart{tokens, max(0, radius-maxOnes*tokens)}
		}
	}
}

// codesOf makes a signature of the codes of some tokens, of 200 at most.
func codesOf(random *rand.Rand, signature []uint32) (codes [][]uint32) {
	var ones []int
	for w, word := range signature {
		for ; word != 0; word &= word - 1 {
			ones = append(ones, 32*w+bits.TrailingZeros32(word))
		}
	}
	add := func(positions ...int) {
		code := make([]uint32, len(signature))
		for _, bit := range positions {
			code[bit/32] |= 1 << (bit % 32)
		}
		codes = append(codes, code)
	}
	add()                      // a token without a bit
	for _, bit := range ones { // each bit is someone's
		add(bit, ones[random.IntN(len(ones))])
	}
	for range random.IntN(3) * random.IntN(67) * min(1, len(ones)) {
		add(ones[random.IntN(len(ones))], ones[random.IntN(len(ones))], ones[random.IntN(len(ones))])
	}
	return codes
}

// Holders are, for each bit of a query, the tokens that have it, in so many words; 0 where it has none.
func (q *Question) Holders(query int) (words int, holders []uint64) {
	codes := q.Codes[query]
	words = (len(codes) + 63) / 64
	for bit := range 32 * len(q.Queries[query]) {
		if q.Queries[query][bit/32]>>(bit%32)&1 == 0 {
			continue
		}
		of := make([]uint64, words)
		for t, code := range codes {
			of[t/64] |= uint64(code[bit/32]>>(bit%32)&1) << (t % 64)
		}
		holders = append(holders, of...)
	}
	return words, holders
}

// Batch is a *cuda.Batch.
type Batch interface {
	Reset(words, rowClasses, queryClasses int)
	SetRadius(rowClass, queryClass, radius int)
	SetApart(rowClass, queryClass, tokens, further int)
	AddQuery(signature []uint32, class int)
	Hold(words int, holders []uint64)
}

// Fill makes a batch of all but the jobs.
func (q *Question) Fill(b Batch) {
	b.Reset(q.words(), len(q.Radii), len(q.Radii[0]))
	for rows, radii := range q.Radii {
		for class, radius := range radii {
			b.SetRadius(rows, class, radius)
			b.SetApart(rows, class, q.Apart[rows][class].Tokens, q.Apart[rows][class].Further)
		}
	}
	for i, signature := range q.Queries {
		b.AddQuery(signature, q.Classes[i])
		if words, holders := q.Holders(i); words > 0 {
			b.Hold(words, holders)
		}
	}
}

// Answer is the hits of a query, by job and row.
func (q *Question) Answer(query int) (hits []Hit) {
	for i, j := range q.Jobs {
		if query < j.First || query >= j.Last {
			continue
		}
		part := make([][]uint32, q.words())
		for w := range part {
			part[w] = q.Tables[i].Planes[w][j.From:j.To]
		}
		class := q.Classes[query]
		for _, row := range hamming.Kernels()[0].Scan(nil, part, q.Queries[query], q.Radii[j.Class][class]) {
			if q.passes(query, hammingtest.Row(part, int(row)), q.Apart[j.Class][class]) {
				hits = append(hits, Hit{Query: uint32(query), Job: uint32(i), Row: row + uint32(j.From)})
			}
		}
	}
	return hits
}

// passes says whether a row, which is within the radius, passes the holders of a query, by their definition.
func (q *Question) passes(query int, row []uint32, may Apart) bool {
	if q.Codes[query] == nil {
		return true
	}
	outside, further := 0, 0
	for _, code := range q.Codes[query] {
		if slices.ContainsFunc(pairs(code, row), func(p [2]uint32) bool { return p[0]&^p[1] != 0 }) {
			outside++
		}
	}
	for _, p := range pairs(q.Queries[query], row) {
		further += bits.OnesCount32(p[1] &^ p[0])
	}
	return outside <= may.Tokens && further <= may.Further
}

func pairs(x, y []uint32) (both [][2]uint32) {
	for w := range x {
		both = append(both, [2]uint32{x[w], y[w]})
	}
	return both
}
