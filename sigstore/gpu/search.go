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

// search is one launch's worth of queries under way. Its memory is used again.
type search struct {
	queries []boundedQuery
	tasks   []task
	batch   cuda.Batch
	jobs    []*task         // of the batch
	minSize int             // that a partner of any may have
	slots   []hamming.Query // those of a pass on the CPU
	holders []uint64        // scratch: of a query
	row     hashcodes.Signature
}

// boundedQuery is a query and its bounds. They are in order of size: since greater sets have greater partners, those whose
// partners may have a size are then neighbours.
type boundedQuery struct {
	*sigstore.Query
	bounds *hashcodes.SizeBounds
	before int // hits
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
	for size := Batch; x.cpu == nil && len(queries) > 0; {
		rest, err := x.run(queries, size)
		queries = rest
		switch {
		case err == nil:
		case errors.Is(err, cuda.ErrMemory) && min(size, len(queries)) > 1:
			x.logFull()
			size = min(size, len(queries)) / 2
		default:
			x.fallBack(err)
		}
	}
	if len(queries) > 0 {
		x.cpu.Search(queries)
	}
}

// run asks for queries in launches of a size, and makes each while the device is at the one before. After an error rest is
// those that are not answered, as they were.
func (x *index) run(queries []sigstore.Query, size int) (rest []sigstore.Query, err error) {
	running, next := &x.searches[0], &x.searches[1]
	for len(queries) > 0 {
		n := min(size, len(queries))
		prepared := x.prepare(next, queries[:n])
		if err := running.finish(); err != nil {
			next.clear()
			return rest, err
		}
		rest = queries
		if prepared != nil {
			next.clear()
			return rest, prepared
		}
		if err := next.start(x.cfg.Device); err != nil {
			return rest, err
		}
		queries = queries[n:]
		running, next = next, running
	}
	if err := running.finish(); err != nil {
		return rest, err
	}
	return nil, nil
}

// prepare makes a launch, and sends the bands that have cost enough.
func (x *index) prepare(s *search, queries []sigstore.Query) error {
	s.begin(queries, x.cfg.Bounds)
	s.fillBatch(x.cfg.Words)
	x.plan(s)
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
		s.addJob(t)
	}
	return nil
}

func (s *search) begin(queries []sigstore.Query, bounds *hashcodes.Bounds) {
	for i := range queries {
		q := &queries[i]
		s.queries = append(s.queries, boundedQuery{q, bounds.For(q.Size), len(q.Hits)})
	}
	slices.SortFunc(s.queries, func(a, b boundedQuery) int { return cmp.Compare(a.Size, b.Size) })
	s.minSize = s.queries[0].bounds.Min
}

// maxSize is the greatest size that a partner of any may have.
func (s *search) maxSize() int { return s.queries[len(s.queries)-1].bounds.Max }

// fillBatch brings the queries into the batch, of a class for each of their sizes, and the radii.
func (s *search) fillBatch(words int) {
	classes := 1
	for i := range s.queries[1:] {
		if s.queries[i].Size != s.queries[i+1].Size {
			classes++
		}
	}
	s.batch.Reset(words, s.maxSize()-s.minSize+1, classes)
	class := -1
	for i := range s.queries {
		q := &s.queries[i]
		if i == 0 || q.Size != s.queries[i-1].Size {
			class++
			s.addBounds(class, q.bounds)
		}
		s.batch.AddQuery(q.Signature, class)
		if q.Holders != nil {
			s.holders = q.Holders.AppendOf(s.holders[:0], q.Signature)
			s.batch.Hold(q.Holders.Words(), s.holders)
		}
	}
}

func (s *search) addBounds(class int, b *hashcodes.SizeBounds) {
	for n, radius := range b.Radius {
		size := b.Min + n
		tokens, further := b.Apart(size)
		s.batch.SetRadius(size-s.minSize, class, int(radius))
		s.batch.SetApart(size-s.minSize, class, tokens, further)
	}
}

// plan lists the tasks: for each size the queries, and with these the bands of all blocks.
func (x *index) plan(s *search) {
	t := task{}
	for t.size = s.minSize; t.size <= s.maxSize(); t.size++ {
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

// addJob has the device compare what it has of a band.
func (s *search) addJob(t *task) {
	if t.band.onDevice == 0 {
		return
	}
	s.batch.AddJob(cuda.Job{Rows: t.band.table, To: t.band.onDevice, First: t.from, Last: t.to, Class: t.size - s.minSize})
	s.jobs = append(s.jobs, t)
}

// start sets the device to work, and compares the rows that it has not got meanwhile.
func (s *search) start(device *cuda.Device) error {
	if err := device.Start(&s.batch); err != nil {
		s.clear()
		return err
	}
	for i := range s.tasks {
		if t := &s.tasks[i]; t.band.onHost() > 0 {
			s.compare(t)
		}
	}
	return nil
}

// compare has the CPU compare what it has of a band.
func (s *search) compare(t *task) {
	s.slots = resized(s.slots, t.to-t.from)
	for i, q := range s.queries[t.from:t.to] {
		s.slots[i] = hamming.Query{Signature: q.Signature, Radius: int(q.bounds.Radius[t.size-q.bounds.Min]),
			Hits: s.slots[i].Hits[:0]}
	}
	hamming.ScanBlock(t.band.planes, s.slots)
	for i := range s.slots {
		for _, row := range s.slots[i].Hits {
			if q := &s.queries[t.from+i]; s.mayMatch(q, t, int(row)) {
				q.hit(t, t.band.onDevice+int(row))
			}
		}
	}
}

// mayMatch looks closer at a row on the host, as the device does at its own.
func (s *search) mayMatch(q *boundedQuery, t *task, row int) bool {
	s.row = s.row[:0]
	for _, plane := range t.band.planes {
		s.row = append(s.row, plane[row])
	}
	return q.MayMatch(q.bounds, t.size, s.row)
}

// hit names a row of a band.
func (q *boundedQuery) hit(t *task, row int) {
	q.Hits = append(q.Hits, sigstore.Row{Block: t.block, Row: t.band.numbers[row]})
}

// finish waits for the device and takes its hits. After an error the queries are as they were.
func (s *search) finish() error {
	err := s.batch.Wait(func(h cuda.Hit) { s.queries[h.Query].hit(s.jobs[h.Job], int(h.Row)) })
	if err != nil {
		s.undo()
	}
	s.clear()
	return err
}

func (s *search) undo() {
	for i := range s.queries {
		q := &s.queries[i]
		q.Hits = q.Hits[:q.before]
	}
}

// clear lets go of what is the caller's, of bands, which may be dropped, and of what a flood of hits has needed.
func (s *search) clear() {
	const maxRetainedHits = 1 << 10
	for i := range s.slots {
		s.slots[i].Signature = nil
		if cap(s.slots[i].Hits) > maxRetainedHits {
			s.slots[i].Hits = nil
		}
	}
	clear(s.queries)
	clear(s.tasks)
	clear(s.jobs)
	s.queries, s.tasks, s.jobs = s.queries[:0], s.tasks[:0], s.jobs[:0]
	s.batch.Reset(0, 0, 0)
}

// resized is a slice of n slots that keeps what the slots of before hold.
func resized(slots []hamming.Query, n int) []hamming.Query {
	slots = slots[:cap(slots)]
	return slices.Grow(slots, max(0, n-len(slots)))[:n]
}
