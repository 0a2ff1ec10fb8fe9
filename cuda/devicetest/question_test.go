package devicetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/cuda"
	"refrain/cuda/cudatest"
)

// table is rows on the device and what is in them.
type table struct {
	rows *cuda.Rows
	cudatest.Table
}

// newTable appends random rows in parts of random length.
func newTable(tb testing.TB, d *cuda.Device, random *rand.Rand, words, n int) *table {
	tb.Helper()
	rows, err := d.NewRows(words, 0)
	if err != nil {
		tb.Fatal(err)
	}
	t := &table{rows: rows, Table: cudatest.Table{Planes: make([][]uint32, words)}}
	for rows.Len() < n {
		t.append(tb, random, min(n-rows.Len(), 1+random.IntN(1+2*n/3)))
	}
	return t
}

func (t *table) append(tb testing.TB, random *rand.Rand, n int) {
	tb.Helper()
	if err := t.rows.Append(t.Grow(random, n)); err != nil {
		tb.Fatal(err)
	}
}

func (t *table) free(tb testing.TB) {
	tb.Helper()
	if err := t.rows.Free(); err != nil {
		tb.Error(err)
	}
}

// question is one of tables on the device.
type question struct {
	*cudatest.Question
	tables []*table // of the jobs
}

// newQuestion has two jobs for each table.
func newQuestion(random *rand.Rand, queries int, tables ...*table) *question {
	q := &question{tables: slices.Concat(tables, tables)}
	var contents []*cudatest.Table
	for _, t := range q.tables {
		contents = append(contents, &t.Table)
	}
	q.Question = cudatest.NewQuestion(random, queries, contents...)
	return q
}

// newFlood is a question of which every pair is a hit.
func newFlood(queries int, t *table) *question {
	return &question{Question: cudatest.NewFlood(queries, &t.Table, 0, len(t.Planes[0])), tables: []*table{t}}
}

func (q *question) batch() *cuda.Batch {
	b := &cuda.Batch{}
	q.Fill(b)
	for i, j := range q.Jobs {
		b.AddJob(cuda.Job{Rows: q.tables[i].rows, From: j.From, To: j.To, First: j.First, Last: j.Last, Class: j.Class})
	}
	return b
}

// ask wants what plain Go finds, each query's hits in order.
func (q *question) ask(tb testing.TB, d *cuda.Device) {
	tb.Helper()
	got := make([][]cudatest.Hit, len(q.Queries))
	if err := d.Scan(q.batch(), func(h cuda.Hit) { got[h.Query] = append(got[h.Query], cudatest.Hit(h)) }); err != nil {
		tb.Error(err)
		return
	}
	for i := range q.Queries {
		if want := q.Answer(i); !slices.Equal(got[i], want) {
			tb.Errorf("%d words, query %d: %d hits, want %d", len(q.Queries[i]), i, len(got[i]), len(want))
			return
		}
	}
}
