package cuda

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"refrain/cuda/driver"
	"refrain/hashcodes/hamming"
)

// selfTest compares every kernel with plain Go and keeps those that are right. Where the device is lost on the way, it says
// with which kernel.
func (d *Device) selfTest() (*kernel, error) {
	var passed []*kernel
	for _, k := range d.kernels {
		err := d.test(k)
		if errors.Is(err, ErrDeviceLost) || errors.Is(err, ErrMemory) {
			return k, fmt.Errorf("test kernel %s: %w", k.name, err)
		}
		if err != nil {
			d.log.Error("cuda kernel not offered", "device", d.name, "kernel", k.name, "err", err)
			continue
		}
		passed = append(passed, k)
	}
	if d.kernels, d.piece = passed, 0; len(passed) == 0 {
		return nil, driver.Unavailable(errors.New("no kernel gives the results of plain Go"))
	}
	return nil, d.setRoom(d.sizes.hits)
}

// testedWidths are all that have a function of their own, and some between.
var testedWidths = []int{1, 2, 3, 4, 7, 8, 16, 32}

func (d *Device) test(k *kernel) error {
	for _, words := range testedWidths {
		if err := d.testWidth(k, words); err != nil {
			return fmt.Errorf("%d words: %w", words, err)
		}
	}
	return nil
}

// testRoom is the launch's room for hits in a test, of which each has more.
const testRoom = 1000

func (d *Device) testWidth(k *kernel, words int) error {
	if err := d.setRoom(testRoom); err != nil {
		return err
	}
	t := newSelfTest(k.function(words), words)
	rows := d.newRows(words, 0)
	defer func() { _ = rows.Free() }() // a device that fails here fails below
	if err := t.upload(rows); err != nil {
		return err
	}
	d.piece = t.piece
	got := make([][]Hit, len(t.queries))
	if err := d.scan(t.batch(rows), k, func(h Hit) { got[h.Query] = append(got[h.Query], h) }); err != nil {
		return err
	}
	return t.compare(got)
}

// setRoom sets the room for hits of all lanes. No scan runs.
func (d *Device) setRoom(hits int) error {
	return d.within(func() error {
		for range cap(d.lanes) {
			l := <-d.lanes
			err := l.makeRoom(hits)
			d.lanes <- l
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// selfTest is a table and a batch that go through all that a kernel does: several segments, with classes of their own; ranges
// that begin and end inside a tile, or go over the end of one, or of a chunk; more queries than a stage has room for, and
// more than a unit has, which is several stages; more hits than a block gathers; and in all more than there is room for.
//
// Rows are near to one of testNear signatures, in turn, and so are queries: each query has hits in all jobs, and which these
// are shows whether a kernel takes one row or query for another, since testNear is prime. Some queries have holders.
type selfTest struct {
	planes  [][]uint32
	chunk   int // rows of the first chunk
	queries [][]uint32
	piece   int // queries a unit
	jobs    []Job
	radii   [][]int // by class of the rows, then of the query
}

const (
	testNear    = 37
	testClasses = 5 // of queries
)

func newSelfTest(f *function, words int) *selfTest {
	t := &selfTest{chunk: roundUp(2*f.tile, chunkUnit), piece: roundUp(f.maxStage(words)+1, 64), planes: make([][]uint32, words)}
	near := randomQueries(rand.New(rand.NewPCG(uint64(words), 2)), words, testNear, 0)
	for row := range t.chunk + 150 {
		for w, word := range nearTo(near, row) {
			t.planes[w] = append(t.planes[w], word)
		}
	}
	for q := range t.piece + 75 {
		t.queries = append(t.queries, nearTo(near, q))
	}
	t.addJobs(f.tile, t.piece+75, 32*words)
	return t
}

func (t *selfTest) addJobs(tile, queries, all int) {
	t.add(1, t.chunk+149, 0, 11, 0, 1, 2, 3, 4)                  // many tiles, of two chunks
	t.add(100, 100+testNear, 0, queries, 4, 5, 4, 5, 4)          // many stages, two pieces
	t.add(tile-18, tile+22, queries-130, queries, 4, 4, 4, 4, 4) // two tiles, two pieces
	t.add(t.chunk-20, t.chunk+20, 3, 90, 2, -1, 2, -1, 2)        // the end of one chunk, the beginning of the next
	t.add(600, 664, 5, 45, all, all/2, all, all-1, all-3*all/16) // more hits than a block gathers
	t.add(700, 701, 7, 8, all, all, all, all, all)               // one pair
}

// maxStage is the number of queries that a stage may have, or more: each has a word for its radius beside its signature there.
func (f *function) maxStage(words int) int { return min(f.shared(words)/(4*(words+1)), 1024) }

// add makes a job of a class of its own; radii are by class of the queries.
func (t *selfTest) add(from, to, first, last int, radii ...int) {
	t.jobs = append(t.jobs, Job{From: from, To: to, First: first, Last: last, Class: len(t.jobs)})
	t.radii = append(t.radii, radii)
}

// nearTo is a signature with some bits turned, up to two of any word.
func nearTo(signatures []hamming.Query, number int) []uint32 {
	signature := slices.Clone(signatures[number%len(signatures)].Signature)
	for i := range number / len(signatures) % 3 {
		bit := (7*number + 13*i) % (32 * len(signature))
		signature[bit/32] ^= 1 << (bit % 32)
	}
	return signature
}

// upload fills a table, in two chunks.
func (t *selfTest) upload(rows *Rows) error {
	for _, part := range [][2]int{{0, t.chunk}, {t.chunk, len(t.planes[0])}} {
		planes := make([][]uint32, len(t.planes))
		for w := range planes {
			planes[w] = t.planes[w][part[0]:part[1]]
		}
		if err := rows.Append(planes); err != nil {
			return err
		}
	}
	return nil
}

func (t *selfTest) batch(rows *Rows) *Batch {
	b := &Batch{}
	b.Reset(len(t.planes), len(t.radii), testClasses)
	for class, radii := range t.radii {
		for i, radius := range radii {
			b.SetRadius(class, i, radius)
			b.SetApart(class, i, apartIn(radius), radius-4*apartIn(radius))
		}
	}
	for i, q := range t.queries {
		b.AddQuery(q, i%testClasses)
		if hasHolders(i, b.words) {
			b.Hold(testHolders(q))
		}
	}
	for _, j := range t.jobs {
		j.Rows = rows
		b.AddJob(j)
	}
	return b
}

// compare wants the hits that plain Go finds.
func (t *selfTest) compare(got [][]Hit) error {
	for q := range t.queries {
		if want := t.want(uint32(q)); !slices.Equal(got[q], want) {
			return fmt.Errorf("query %d of %d: %d hits, plain Go has %d, or others", q, len(t.queries), len(got[q]), len(want))
		}
	}
	return nil
}

// want is the hits of a query.
func (t *selfTest) want(q uint32) (hits []Hit) {
	reference, part := hamming.Kernels()[0], make([][]uint32, len(t.planes))
	for i, j := range t.jobs {
		if int(q) < j.First || int(q) >= j.Last {
			continue
		}
		for w := range part {
			part[w] = t.planes[w][j.From:j.To]
		}
		radius := t.radii[i][q%testClasses]
		for _, row := range reference.Scan(nil, part, t.queries[q], radius) {
			if !hasHolders(int(q), len(t.planes)) || passes(t.queries[q], part, row, radius) {
				hits = append(hits, Hit{Query: q, Job: uint32(i), Row: row + uint32(j.From)})
			}
		}
	}
	return hits
}

// Every third query has holders, where signatures are not so wide that these take much memory: of its bits, in their order,
// every two are a token's, and every third is the next or previous token's too, and so has a weight.
func hasHolders(query, words int) bool { return query%3 == 0 && words <= 8 }

// holdersOf are the tokens that have a bit, by its place among those of the query.
func holdersOf(place int) []int {
	token := place / 2
	if place%3 == 0 {
		return []int{token, token ^ 1}
	}
	return []int{token}
}

func testHolders(signature []uint32) (words int, holders []uint64) {
	ones := onesOf(signature)
	words = ones/128 + 1
	holders = make([]uint64, ones*words)
	for place := range ones {
		for _, token := range holdersOf(place) {
			holders[place*words+token/64] |= 1 << (token % 64)
		}
	}
	return words, holders
}

// apartIn is how many tokens may be outside a row: with four bits each they leave half of the radius to the bits that it has
// alone.
func apartIn(radius int) int { return max(radius, 0) / 8 }

// passes says the same as the holders of the query, by their definition.
func passes(x []uint32, planes [][]uint32, row uint32, radius int) bool {
	further, place, outside := 0, 0, map[int]bool{}
	for w, word := range x {
		y := planes[w][row]
		further += bits.OnesCount32(y &^ word)
		for ; word != 0; word &= word - 1 {
			if y&(word&-word) == 0 {
				for _, token := range holdersOf(place) {
					outside[token] = true
				}
			}
			place++
		}
	}
	return len(outside) <= apartIn(radius) && further <= radius-4*apartIn(radius)
}
