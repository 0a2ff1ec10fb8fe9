// Package hammingtest is the suite that every Hamming range scan has to pass, whatever it runs on.
package hammingtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Scan is the signature of hamming.Scan.
type Scan = func(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32

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
// to the rows and far from them, at radii around every distance that occurs.
func Run(t *testing.T, scan Scan) {
	for _, words := range []int{1, 2, 3, 4, 5, 7, 8, 16, 31, MaxWords} {
		t.Run(fmt.Sprintf("words=%d", words), func(t *testing.T) { runWords(t, scan, words) })
	}
	t.Run("random", func(t *testing.T) { runRandom(t, scan) })
	t.Run("appends", func(t *testing.T) { runAppends(t, scan) })
	t.Run("unaligned", func(t *testing.T) { runUnaligned(t, scan) })
	t.Run("reads only", func(t *testing.T) { runReadsOnly(t, scan) })
}

// lengths surround the multiples of 8, 16, 32, 64 and of larger tiles.
var lengths = []int{
	0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257,
	511, 512, 513, 1023, 1024, 1025,
}

func runWords(t *testing.T, scan Scan, words int) {
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
func checkRadii(t *testing.T, scan Scan, planes [][]uint32, query []uint32, what string) {
	t.Helper()
	distances := naiveDistances(planes, query)
	for _, radius := range turningRadii(distances, 32*len(query)) {
		want := within(distances, radius)
		got := scan(nil, planes, query, radius)
		if !slices.Equal(got, want) {
			t.Fatalf("%s, query %x, radius %d: got %d hits %v, want %d hits %v", what, query, radius, len(got), got, len(want), want)
		}
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

// runRandom draws the number of words, rows and the radius, with Naive itself as the judge.
func runRandom(t *testing.T, scan Scan) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		words, rows := 1+random.IntN(MaxWords), random.IntN(100)
		planes := Planes(words, rows, random.Uint32)
		query := Planes(1, words, random.Uint32)[0]
		radius := random.IntN(32*words + 2)
		got, want := scan(nil, planes, query, radius), Naive(nil, planes, query, radius)
		if !slices.Equal(got, want) {
			t.Fatalf("%d words, %d rows, radius %d: got %v, want %v", words, rows, radius, got, want)
		}
	}
}

// runAppends wants earlier hits kept, in place where there is room, and what lies behind the hits untouched by a
// scan that finds none.
func runAppends(t *testing.T, scan Scan) {
	planes := Planes(2, 100, func() uint32 { return 0 })
	earlier := append(make([]uint32, 0, 200), 7, 3)
	got := scan(earlier, planes, []uint32{0, 0}, 0)
	if len(got) != 102 || got[0] != 7 || got[1] != 3 || got[2] != 0 || got[101] != 99 {
		t.Errorf("got %v, want 7, 3 and then 0 to 99", got)
	}
	if &got[0] != &earlier[0] {
		t.Error("the hits were moved although there was room")
	}
	none := append(make([]uint32, 0, 8), 5)
	got = scan(none, planes, []uint32{1, 0}, 0)
	if !slices.Equal(got, []uint32{5}) {
		t.Errorf("got %v, want the earlier hit alone", got)
	}
	if behind := none[:8]; !slices.Equal(behind[1:], make([]uint32, 7)) {
		t.Errorf("without a hit, %v was written behind the hits", behind[1:])
	}
}

// runUnaligned scans planes that begin at any word of memory, and end where rows follow that must not be read as
// part of them.
func runUnaligned(t *testing.T, scan Scan) {
	random := rand.New(rand.NewPCG(3, 4))
	whole := Planes(3, 80, func() uint32 { return 1 << random.Uint32N(4) })
	query := []uint32{1, 2, 4}
	for from := range 17 {
		for to := from; to <= 80; to++ {
			planes := [][]uint32{whole[0][from:to], whole[1][from:to], whole[2][from:to]}
			for words := 1; words <= 3; words++ {
				got, want := scan(nil, planes[:words], query[:words], 2), Naive(nil, planes[:words], query[:words], 2)
				if !slices.Equal(got, want) {
					t.Fatalf("rows %d to %d, %d words: got %v, want %v", from, to, words, got, want)
				}
			}
		}
	}
}

func runReadsOnly(t *testing.T, scan Scan) {
	random := rand.New(rand.NewPCG(5, 6))
	planes, query := Planes(4, 300, random.Uint32), []uint32{1, 2, 3, 4}
	before := [][]uint32{}
	for _, plane := range planes {
		before = append(before, slices.Clone(plane))
	}
	scan(nil, planes, query, 60)
	for w := range planes {
		if !slices.Equal(planes[w], before[w]) {
			t.Errorf("plane %d was written to", w)
		}
	}
	if !slices.Equal(query, []uint32{1, 2, 3, 4}) {
		t.Error("the query was written to")
	}
}
