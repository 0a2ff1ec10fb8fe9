package cuda

import "fmt"

// Batch is queries and the rows that they are compared with. Queries are of classes, and so are the rows of a job: the
// radius of a pair follows from the two. So a query is sent once, however many jobs compare it. Reset makes a batch
// ready; it keeps its memory for the next.
type Batch struct {
	words   int
	rows    int      // classes of rows
	classes int      // of queries
	queries []uint32 // words + 1 each: signature, class
	radii   []uint32 // by class of the rows, then of the query; signed
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
	b.queries, b.radii = b.queries[:0], b.radii[:0]
	clear(b.jobs) // tables may be dropped
	b.jobs = b.jobs[:0]
	for range rowClasses * queryClasses {
		b.radii = append(b.radii, ^uint32(0))
	}
}

// SetRadius says how far apart rows and queries of two classes are at most; below 0 none is near.
func (b *Batch) SetRadius(rowClass, queryClass, radius int) {
	b.radii[rowClass*b.classes+queryClass] = uint32(int32(max(-1, min(radius, 32*b.words))))
}

// AddQuery adds a query. They are numbered in the order they come.
func (b *Batch) AddQuery(signature []uint32, class int) {
	if len(signature) != b.words {
		panic("cuda: a query's signature has another number of words than the batch's")
	}
	if class < 0 || class >= b.classes {
		panic(fmt.Sprintf("cuda: class %d of %d", class, b.classes))
	}
	b.queries = append(append(b.queries, signature...), uint32(class))
}

// AddJob adds a job. They are numbered in the order they come.
func (b *Batch) AddJob(j Job) { b.jobs = append(b.jobs, j) }

// query is the signature and the class of one.
func (b *Batch) query(number uint32) (signature []uint32, class uint32) {
	q := b.queries[int(number)*(b.words+1):]
	return q[:b.words], q[b.words]
}

func (b *Batch) size() int { return len(b.queries) / (b.words + 1) }

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
