package devicetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/cuda"
	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

// table is rows on the device and what is in them.
type table struct {
	rows   *cuda.Rows
	planes [][]uint32
}

// newTable appends random rows, some of them equal or near to each other, in parts of random length.
func newTable(tb testing.TB, d *cuda.Device, random *rand.Rand, words, n int) *table {
	tb.Helper()
	rows, err := d.NewRows(words, 0)
	if err != nil {
		tb.Fatal(err)
	}
	t := &table{rows: rows, planes: make([][]uint32, words)}
	for rows.Len() < n {
		t.append(tb, random, min(n-rows.Len(), 1+random.IntN(1+2*n/3)))
	}
	return t
}

func (t *table) append(tb testing.TB, random *rand.Rand, n int) {
	tb.Helper()
	part := hammingtest.Planes(len(t.planes), n, func() uint32 { return random.Uint32() & random.Uint32() & random.Uint32() })
	for range n / 20 {
		row := random.IntN(n)
		for w := range part {
			part[w][row] = 0
		}
	}
	if err := t.rows.Append(part); err != nil {
		tb.Fatal(err)
	}
	for w := range part {
		t.planes[w] = append(t.planes[w], part[w]...)
	}
}

func (t *table) free(tb testing.TB) {
	tb.Helper()
	if err := t.rows.Free(); err != nil {
		tb.Error(err)
	}
}

// question is a batch in a form that plain Go can answer.
type question struct {
	queries [][]uint32
	classes []int
	radii   [][]int // by class of the rows, then of the query
	jobs    []cuda.Job
	tables  []*table // of the jobs
}

// newQuestion has two jobs for each table, all of one width: some of its rows, and some of the queries, which are near to
// rows; and all kinds of radii.
func newQuestion(random *rand.Rand, queries int, tables ...*table) *question {
	words := len(tables[0].planes)
	q := &question{}
	for range 1 + random.IntN(3) {
		radii := make([]int, 1+queries/2)
		for i := range radii {
			radii[i] = []int{0, 1, 2, 3, 4 * words, 7 * words, 32*words - 1, 32 * words, -1, 1 << 40}[random.IntN(10)]
		}
		q.radii = append(q.radii, radii)
	}
	for range queries {
		planes := tables[random.IntN(len(tables))].planes
		signature := hammingtest.Row(planes, random.IntN(len(planes[0])))
		signature[random.IntN(words)] ^= 1 << random.IntN(32)
		q.queries, q.classes = append(q.queries, signature), append(q.classes, random.IntN(len(q.radii[0])))
	}
	for _, t := range slices.Concat(tables, tables) {
		n := len(t.planes[0])
		from, first := random.IntN(n+1), random.IntN(queries+1)
		q.add(t, cuda.Job{From: from, To: from + random.IntN(n-from+1), First: first,
			Last: first + random.IntN(queries-first+1), Class: random.IntN(len(q.radii))})
	}
	return q
}

func (q *question) add(t *table, j cuda.Job) {
	j.Rows = t.rows
	q.jobs, q.tables = append(q.jobs, j), append(q.tables, t)
}

// newFlood is a question of which every pair is a hit.
func newFlood(queries int, t *table) *question {
	words := len(t.planes)
	q := &question{radii: [][]int{{32 * words}}, queries: make([][]uint32, queries), classes: make([]int, queries)}
	for i := range q.queries {
		q.queries[i] = make([]uint32, words)
	}
	q.add(t, cuda.Job{To: len(t.planes[0]), Last: queries})
	return q
}

func (q *question) batch() *cuda.Batch {
	b := &cuda.Batch{}
	b.Reset(len(q.tables[0].planes), len(q.radii), len(q.radii[0]))
	for rows, radii := range q.radii {
		for class, radius := range radii {
			b.SetRadius(rows, class, radius)
		}
	}
	for i, signature := range q.queries {
		b.AddQuery(signature, q.classes[i])
	}
	for _, j := range q.jobs {
		b.AddJob(j)
	}
	return b
}

// ask wants what plain Go finds, each query's hits in order.
func (q *question) ask(tb testing.TB, d *cuda.Device) {
	tb.Helper()
	got := make([][]cuda.Hit, len(q.queries))
	if err := d.Scan(q.batch(), func(h cuda.Hit) { got[h.Query] = append(got[h.Query], h) }); err != nil {
		tb.Error(err)
		return
	}
	for i := range q.queries {
		if want := q.answer(i); !slices.Equal(got[i], want) {
			tb.Errorf("%d words, query %d: %d hits, want %d", len(q.queries[i]), i, len(got[i]), len(want))
			return
		}
	}
}

// answer is the hits of a query.
func (q *question) answer(query int) (hits []cuda.Hit) {
	for i, j := range q.jobs {
		if query < j.First || query >= j.Last {
			continue
		}
		part := make([][]uint32, len(q.tables[i].planes))
		for w := range part {
			part[w] = q.tables[i].planes[w][j.From:j.To]
		}
		for _, row := range hamming.Kernels()[0].Scan(nil, part, q.queries[query], q.radii[j.Class][q.classes[query]]) {
			hits = append(hits, cuda.Hit{Query: uint32(query), Job: uint32(i), Row: row + uint32(j.From)})
		}
	}
	return hits
}
