// Package hammingtest is the suite that every Hamming range scan has to pass, whatever it runs on.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package hammingtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/hashcodes/hamming"
)

// Scanner is a kernel, or anything else that does what one does.
type Scanner interface {
	Scan(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32
	ScanBlock(planes [][]uint32, queries []hamming.Query)
}

var _ Scanner = hamming.Kernel{}

// MaxWords is the longest signature that the suite tries, in words of 32 bits.
const MaxWords = 32

// Naive is the definition, bit by bit: it shares nothing with any kernel.
func Naive(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	for row := range planes[0] {
		distance := 0
		for bit := range 32 * len(query) {
			w, b := bit/32, bit%32
			if planes[w][row]>>b&1 != query[w]>>b&1 {
				distance++
			}
		}
		if distance <= radius {
			hits = append(hits, uint32(row))
		}
	}
	return hits
}

// Run tries a scan at lengths around the widths of vectors and tiles, on data of every density, with queries near
// to the rows and far from them, at radii around every distance that occurs; one query at a time and many.
func Run(t *testing.T, scan Scanner) {
	for _, words := range []int{1, 2, 3, 4, 5, 7, 8, 16, 31, MaxWords} {
		t.Run(fmt.Sprintf("words=%d", words), func(t *testing.T) { runWords(t, scan, words) })
	}
	t.Run("random", func(t *testing.T) { runRandom(t, scan) })
	t.Run("long", func(t *testing.T) { runLong(t, scan) })
	t.Run("density", func(t *testing.T) { runDensity(t, scan) })
	t.Run("appends", func(t *testing.T) { runAppends(t, scan) })
	t.Run("room", func(t *testing.T) { runRoom(t, scan) })
	t.Run("unaligned", func(t *testing.T) { runUnaligned(t, scan) })
	t.Run("edge of memory", func(t *testing.T) { runEdge(t, scan) })
	t.Run("reads only", func(t *testing.T) { runReadsOnly(t, scan) })
	t.Run("empty block", func(t *testing.T) { scan.ScanBlock([][]uint32{{1, 2, 3}}, nil) })
}

// lengths surround the multiples of 8, 16, 32, 64 and of larger tiles.
var lengths = []int{
	0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257,
	511, 512, 513, 1023, 1024, 1025,
}

func runWords(t *testing.T, scan Scanner, words int) {
	random := rand.New(rand.NewPCG(uint64(words), 1))
	for _, fill := range fills {
		for _, rows := range lengths {
			planes := Planes(words, rows, func() uint32 { return fill.word(random) })
			for _, query := range queries(planes, rows, random) {
				checkRadii(t, scan, planes, query, fmt.Sprintf("%s, %d rows", fill.name, rows))
			}
		}
	}
}

var fills = []struct {
	name string
	word func(*rand.Rand) uint32
}{
	{"zero", func(*rand.Rand) uint32 { return 0 }},
	{"all ones", func(*rand.Rand) uint32 { return ^uint32(0) }},
	{"top bit", func(*rand.Rand) uint32 { return 1 << 31 }},
	{"sparse", func(r *rand.Rand) uint32 { return 1 << r.Uint32N(32) & -(r.Uint32() & 1) }},
	{"random", func(r *rand.Rand) uint32 { return r.Uint32() }},
}

// Planes fills a table of rows signatures, plane by plane.
func Planes(words, rows int, word func() uint32) [][]uint32 {
	planes := make([][]uint32, words)
	for w := range planes {
		planes[w] = make([]uint32, rows)
		for row := range planes[w] {
			planes[w][row] = word()
		}
	}
	return planes
}

// queries are zeros, ones, a random signature, and the last row with a few bits turned.
func queries(planes [][]uint32, rows int, random *rand.Rand) [][]uint32 {
	words := len(planes)
	zeros, ones, far := make([]uint32, words), make([]uint32, words), make([]uint32, words)
	for w := range words {
		ones[w], far[w] = ^uint32(0), random.Uint32()
	}
	list := [][]uint32{zeros, ones, far}
	if rows > 0 {
		near := Row(planes, rows-1)
		for range 3 {
			near[random.IntN(words)] ^= 1 << random.Uint32N(32)
		}
		list = append(list, near)
	}
	return list
}

// Row is the signature of a row.
func Row(planes [][]uint32, row int) []uint32 {
	signature := make([]uint32, len(planes))
	for w := range planes {
		signature[w] = planes[w][row]
	}
	return signature
}

// checkRadii tries the radii at which some row goes from outside to inside, the ones on either side of them, and
// those beyond the ends. Between them nothing changes, so the answer at every radius is tried.
func checkRadii(t *testing.T, scan Scanner, planes [][]uint32, query []uint32, what string) {
	t.Helper()
	distances := naiveDistances(planes, query)
	radii := turningRadii(distances, 32*len(query))
	block := make([]hamming.Query, len(radii))
	for i, radius := range radii {
		block[i] = hamming.Query{Signature: query, Radius: radius}
	}
	scan.ScanBlock(planes, block)
	for i, radius := range radii {
		want := within(distances, radius)
		check(t, scan.Scan(nil, planes, query, radius), want, "%s, query %x, radius %d", what, query, radius)
		check(t, block[i].Hits, want, "%s, query %x, radius %d, in a block of %d", what, query, radius, len(block))
	}
}

func check(t *testing.T, got, want []uint32, what string, args ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %d hits %v, want %d hits %v", fmt.Sprintf(what, args...), len(got), got, len(want), want)
	}
}

// naiveDistances counts, bit by bit, how far every row is from the query.
func naiveDistances(planes [][]uint32, query []uint32) []int {
	distances := make([]int, len(planes[0]))
	for row := range distances {
		for w := range query {
			for x := planes[w][row] ^ query[w]; x != 0; x >>= 1 {
				distances[row] += int(x & 1)
			}
		}
	}
	return distances
}

func within(distances []int, radius int) []uint32 {
	var hits []uint32
	for row, d := range distances {
		if d <= radius {
			hits = append(hits, uint32(row))
		}
	}
	return hits
}

func turningRadii(distances []int, bits int) []int {
	radii := []int{math.MinInt, -1, 0, bits - 1, bits, bits + 1, math.MaxInt}
	for _, d := range distances {
		radii = append(radii, d-1, d, d+1)
	}
	slices.Sort(radii)
	return slices.Compact(radii)
}

// runRandom draws the number of words, rows, queries, and the radii, with Naive itself as the judge.
func runRandom(t *testing.T, scan Scanner) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		words, rows := 1+random.IntN(MaxWords), random.IntN(300)
		planes := Planes(words, rows, random.Uint32)
		block := make([]hamming.Query, random.IntN(20))
		for i := range block {
			block[i] = hamming.Query{Signature: Planes(1, words, random.Uint32)[0], Radius: random.IntN(32*words + 2)}
		}
		scan.ScanBlock(planes, block)
		for _, q := range block {
			want := Naive(nil, planes, q.Signature, q.Radius)
			check(t, q.Hits, want, "%d words, %d rows, radius %d, in a block of %d", words, rows, q.Radius, len(block))
			check(t, scan.Scan(nil, planes, q.Signature, q.Radius), want, "%d words, %d rows, radius %d", words, rows, q.Radius)
		}
	}
}

// runLong scans more rows than a kernel takes in one go, and than fit a tile of any size.
func runLong(t *testing.T, scan Scanner) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, words := range []int{1, 2, 3, 8} {
		planes := Planes(words, 200_003, random.Uint32)
		near := Row(planes, 131_072)
		distances := naiveDistances(planes, near)
		block := make([]hamming.Query, 9)
		for i := range block {
			block[i] = hamming.Query{Signature: near, Radius: 2 * i * words}
		}
		scan.ScanBlock(planes, block)
		for i, q := range block {
			want := within(distances, 2*i*words)
			check(t, q.Hits, want, "%d words, radius %d, in a block", words, q.Radius)
			check(t, scan.Scan(nil, planes, near, q.Radius), want, "%d words, radius %d", words, q.Radius)
		}
	}
}

// runDensity has hits in any share of the rows, from none to all, into slices of any capacity.
func runDensity(t *testing.T, scan Scanner) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, words := range []int{1, 2, 5} {
		for share := range 65 {
			bit := func() uint32 { return (random.Uint32N(64) - uint32(share)) >> 31 } // 1 for a hit
			planes := Planes(words, 1000, func() uint32 { return 0 })
			for row := range planes[0] {
				planes[words-1][row] = 1 - bit()
			}
			query := make([]uint32, words)
			want := Naive(nil, planes, query, 0)
			block := []hamming.Query{{Signature: query}, {Signature: query, Hits: make([]uint32, 0, random.IntN(1001))}}
			scan.ScanBlock(planes, block)
			for _, q := range block {
				check(t, q.Hits, want, "%d words, %d/64 of the rows", words, share)
			}
		}
	}
}

// runAppends wants earlier hits kept, in place where there is room, and what lies behind the hits untouched by a
// scan that finds none.
func runAppends(t *testing.T, scan Scanner) {
	planes := Planes(2, 100, func() uint32 { return 0 })
	earlier := append(make([]uint32, 0, 200), 7, 3)
	got := scan.Scan(earlier, planes, []uint32{0, 0}, 0)
	if len(got) != 102 || got[0] != 7 || got[1] != 3 || got[2] != 0 || got[101] != 99 {
		t.Errorf("got %v, want 7, 3 and then 0 to 99", got)
	}
	if &got[0] != &earlier[0] {
		t.Error("the hits were moved although there was room")
	}
	none := append(make([]uint32, 0, 8), 5)
	got = scan.Scan(none, planes, []uint32{1, 0}, 0)
	if !slices.Equal(got, []uint32{5}) {
		t.Errorf("got %v, want the earlier hit alone", got)
	}
	if behind := none[:8]; !slices.Equal(behind[1:], make([]uint32, 7)) {
		t.Errorf("without a hit, %v was written behind the hits", behind[1:])
	}
}

// runRoom gives room for any number of hits, and wants what lies behind the hits left alone: behind the room, and in it.
func runRoom(t *testing.T, scan Scanner) {
	const guard = 0xdeadbeef
	random := rand.New(rand.NewPCG(11, 12))
	for _, words := range []int{1, 2, 3} {
		planes := Planes(words, 150, func() uint32 { return random.Uint32N(2) })
		query := make([]uint32, words)
		want := Naive([]uint32{7}, planes, query, words/2)
		for room := 1; room < 180; room++ {
			memory := slices.Repeat([]uint32{guard}, 200)
			memory[0] = 7
			got := scan.Scan(memory[:1:room], planes, query, words/2)
			check(t, got, want, "%d words, room for %d", words, room)
			behind := memory[min(room, len(want)):]
			if slices.ContainsFunc(behind, func(x uint32) bool { return x != guard }) {
				t.Fatalf("%d words, room for %d: written behind %d hits: %x", words, room, len(want), behind)
			}
		}
	}
}

// runEdge scans planes and a query that end where memory does, into hits that end there.
func runEdge(t *testing.T, scan Scanner) {
	for _, words := range []int{1, 2, 3} {
		for rows := range 140 {
			planes := make([][]uint32, words)
			for w := range planes {
				planes[w] = atEdge(t, rows)
			}
			query, want := atEdge(t, words), make([]uint32, rows)
			for row := range want {
				want[row] = uint32(row)
			}
			check(t, scan.Scan(atEdge(t, rows)[:0], planes, query, 0), want, "%d words, %d rows", words, rows)
		}
	}
}

// runUnaligned scans planes that begin at any word of memory, and end where rows follow that must not be read as
// part of them.
func runUnaligned(t *testing.T, scan Scanner) {
	random := rand.New(rand.NewPCG(3, 4))
	whole := Planes(3, 80, func() uint32 { return 1 << random.Uint32N(4) })
	query := []uint32{1, 2, 4}
	for from := range 17 {
		for to := from; to <= 80; to++ {
			planes := [][]uint32{whole[0][from:to], whole[1][from:to], whole[2][from:to]}
			for words := 1; words <= 3; words++ {
				got, want := scan.Scan(nil, planes[:words], query[:words], 2), Naive(nil, planes[:words], query[:words], 2)
				if !slices.Equal(got, want) {
					t.Fatalf("rows %d to %d, %d words: got %v, want %v", from, to, words, got, want)
				}
			}
		}
	}
}

func runReadsOnly(t *testing.T, scan Scanner) {
	random := rand.New(rand.NewPCG(5, 6))
	planes, query := Planes(4, 300, random.Uint32), []uint32{1, 2, 3, 4}
	before := [][]uint32{}
	for _, plane := range planes {
		before = append(before, slices.Clone(plane))
	}
	scan.Scan(nil, planes, query, 60)
	for w := range planes {
		if !slices.Equal(planes[w], before[w]) {
			t.Errorf("plane %d was written to", w)
		}
	}
	if !slices.Equal(query, []uint32{1, 2, 3, 4}) {
		t.Error("the query was written to")
	}
}
