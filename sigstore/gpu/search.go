package gpu

import (
	"cmp"
	"errors"
	"slices"

	"refrain/cuda"
	"refrain/hashcodes"
	"refrain/hashcodes/hamming"
	"refrain/sigstore"
)

// search is the memory of searches, which the next one uses again.
type search struct {
	queries    []boundedQuery
	tasks      []task
	jobs       []cuda.Job
	slots      []hamming.Query // those of the jobs, one job after the other
	cpuQueries []hamming.Query // those of a pass on the CPU
}

// boundedQuery is a query and its bounds. They are in order of size: since greater sets have greater partners, those whose
// partners may have a size are then neighbours.
type boundedQuery struct {
	*sigstore.Query
	bounds *hashcodes.SizeBounds
}

// task is a band and the queries whose partners may have its size.
type task struct {
	band     *band
	block    uint32
	size     int
	from, to int // in queries
}

// Search asks the device for half as many at once where its memory is short. What it has answered stays answered.
func (x *index) Search(queries []sigstore.Query) {
	for n := len(queries); x.cpu == nil && len(queries) > 0; {
		n = min(n, len(queries))
		err := x.run(queries[:n])
		switch {
		case err == nil:
			queries = queries[n:]
		case errors.Is(err, cuda.ErrMemory) && n > 1:
			x.logFull()
			n /= 2
		default:
			x.fallBack(err)
		}
	}
	if len(queries) > 0 {
		x.cpu.Search(queries)
	}
}

// run appends hits only when all of it has gone well.
func (x *index) run(queries []sigstore.Query) error {
	s := &x.search
	defer s.release()
	s.begin(queries, x.cfg.Bounds)
	x.plan()
	for i := range s.tasks {
		t := &s.tasks[i]
		if n := t.band.onHost(); n > 0 {
			t.band.cost += (n + pass) * (t.to - t.from)
		}
		if t.band.cost >= x.cfg.minDeviceCost {
			if err := x.send(t.band); err != nil {
				return err
			}
		}
	}
	if s.load(); len(s.jobs) > 0 {
		if err := x.cfg.Device.Scan(s.jobs); err != nil {
			return err
		}
	}
	s.answer()
	return nil
}

func (s *search) begin(queries []sigstore.Query, bounds *hashcodes.Bounds) {
	for i := range queries {
		s.queries = append(s.queries, boundedQuery{&queries[i], bounds.For(queries[i].Size)})
	}
	slices.SortFunc(s.queries, func(a, b boundedQuery) int { return cmp.Compare(a.Size, b.Size) })
}

// plan lists the tasks: for each size the queries, and with these the bands of all blocks.
func (x *index) plan() {
	s := &x.search
	t := task{}
	for t.size = s.queries[0].bounds.Min; t.size <= s.queries[len(s.queries)-1].bounds.Max; t.size++ {
		for t.from < len(s.queries) && s.queries[t.from].bounds.Max < t.size {
			t.from++
		}
		for t.to < len(s.queries) && s.queries[t.to].bounds.Min <= t.size {
			t.to++
		}
		if t.from >= t.to {
			continue
		}
		for n, b := range x.blocks {
			if t.band, t.block = b.bands[t.size], x.first+uint32(n); t.band != nil {
				s.tasks = append(s.tasks, t)
			}
		}
	}
}

// load makes the jobs of the bands that are on the device.
func (s *search) load() {
	n := 0
	for i := range s.tasks {
		if t := &s.tasks[i]; t.band.onDevice > 0 {
			n += t.to - t.from
		}
	}
	s.slots = resized(s.slots, n)
	rest := s.slots
	for i := range s.tasks {
		if t := &s.tasks[i]; t.band.onDevice > 0 {
			n := t.to - t.from
			s.fill(rest[:n], t)
			s.jobs = append(s.jobs, cuda.Job{Rows: t.band.table, To: t.band.onDevice, Queries: rest[:n]})
			rest = rest[n:]
		}
	}
}

// fill makes the queries of a task, without hits.
func (s *search) fill(slots []hamming.Query, t *task) {
	for i, a := range s.queries[t.from:t.to] {
		slots[i] = hamming.Query{Signature: a.Signature, Radius: int(a.bounds.Radius[t.size-a.bounds.Min]),
			Hits: slots[i].Hits[:0]}
	}
}

// answer turns the device's hits into the queries', and compares the rows that are not there.
func (s *search) answer() {
	jobs := s.jobs
	for i := range s.tasks {
		t := &s.tasks[i]
		if t.band.onDevice > 0 {
			s.collect(t, jobs[0].Queries, t.band.numbers)
			jobs = jobs[1:]
		}
		if t.band.onHost() > 0 {
			s.cpuQueries = resized(s.cpuQueries, t.to-t.from)
			s.fill(s.cpuQueries, t)
			hamming.ScanBlock(t.band.planes, s.cpuQueries)
			s.collect(t, s.cpuQueries, t.band.numbers[t.band.onDevice:])
		}
	}
}

// collect names the rows that were hit.
func (s *search) collect(t *task, slots []hamming.Query, numbers []uint32) {
	for i := range slots {
		q := s.queries[t.from+i]
		for _, row := range slots[i].Hits {
			q.Hits = append(q.Hits, sigstore.Row{Block: t.block, Row: numbers[row]})
		}
	}
}

// release lets go of what is the caller's, of bands, which may be dropped, and of what a flood of hits has needed.
func (s *search) release() {
	const maxRetainedHits = 1 << 10
	for _, slots := range [][]hamming.Query{s.slots, s.cpuQueries} {
		for i := range slots {
			slots[i].Signature = nil
			if cap(slots[i].Hits) > maxRetainedHits {
				slots[i].Hits = nil
			}
		}
	}
	clear(s.queries)
	clear(s.tasks)
	clear(s.jobs)
	s.queries, s.tasks, s.jobs = s.queries[:0], s.tasks[:0], s.jobs[:0]
}

// resized is a slice of n slots that keeps what the slots of before hold.
func resized(slots []hamming.Query, n int) []hamming.Query {
	slots = slots[:cap(slots)]
	return slices.Grow(slots, max(0, n-len(slots)))[:n]
}
