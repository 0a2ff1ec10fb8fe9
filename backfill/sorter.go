package backfill

import (
	"slices"
	"sort"
	"unsafe"

	"refrain/feed"
)

// sorter sorts as many posts as its memory holds, which go to a run, or stay there. Adding is for one goroutine; reading what
// has been sorted is for any.
type sorter struct {
	bodies  []byte
	records []sortedRecord
	limit   int // bytes of both
}

type sortedRecord struct {
	time       feed.Time
	begin, end uint32 // in bodies
}

// maxSorterBytes is what offsets of a sorter reach.
const maxSorterBytes = 1 << 31

func newSorter(limit int) *sorter { return &sorter{limit: min(limit, maxSorterBytes)} }

// add adds a post, and reports whether the sorter is full.
func (s *sorter) add(p *feed.Post, raw []byte) (full bool) {
	if s.bodies == nil {
		s.bodies = make([]byte, 0, s.limit) // what is never written takes no memory
	}
	begin := len(s.bodies)
	s.bodies = appendBody(s.bodies, p, raw)
	s.records = append(s.records, sortedRecord{p.Time, uint32(begin), uint32(len(s.bodies))})
	return s.bytes() >= s.limit
}

const sortedRecordBytes = 16

func (s *sorter) isEmpty() bool { return len(s.records) == 0 }

func (s *sorter) body(r *sortedRecord) []byte { return s.bodies[r.begin:r.end] }

// sort puts the posts in their order.
func (s *sorter) sort() {
	slices.SortFunc(s.records, func(a, b sortedRecord) int {
		return compareRecords(a.time, s.body(&a), b.time, s.body(&b))
	})
}

// writeTo writes the posts in their order.
func (s *sorter) writeTo(w *runWriter) error {
	s.sort()
	for i := range s.records {
		if err := w.add(s.records[i].time, s.body(&s.records[i])); err != nil {
			return err
		}
	}
	return nil
}

// reset forgets the posts.
func (s *sorter) reset() { s.bodies, s.records = s.bodies[:0], s.records[:0] }

// cursor reads posts that were sorted and stay where they are.
func (s *sorter) cursor(from, to feed.Time, _ *blockBuffers) *cursor {
	first := sort.Search(len(s.records), func(i int) bool { return s.records[i].time >= from })
	return &cursor{source: &sorterReader{s, s.records[first:], to}}
}

func (s *sorter) close() error { return nil }

// sorterReader reads the posts of a sorter up to a time, which it leaves out.
type sorterReader struct {
	sorter *sorter
	left   []sortedRecord
	to     feed.Time
}

func (r *sorterReader) next(to *record) (bool, error) {
	if len(r.left) == 0 || r.left[0].time >= r.to {
		return false, nil
	}
	body := r.sorter.body(&r.left[0])
	to.time, to.body = r.left[0].time, unsafe.String(unsafe.SliceData(body), len(body)) // nobody writes there any more
	r.left = r.left[1:]
	return true, nil
}

// bytes is how much memory the posts take.
func (s *sorter) bytes() int { return len(s.bodies) + len(s.records)*sortedRecordBytes }
