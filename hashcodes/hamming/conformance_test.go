package hamming_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

func TestConformance(t *testing.T) {
	t.Run("best", func(t *testing.T) { hammingtest.Run(t, best{}) })
	for _, kernel := range hamming.Kernels() {
		t.Run(kernel.Name, func(t *testing.T) { hammingtest.Run(t, kernel) })
	}
}

// best is the kernel behind the functions of the package.
type best struct{}

func (best) Scan(hits []uint32, planes [][]uint32, query []uint32, radius int) []uint32 {
	return hamming.Scan(hits, planes, query, radius)
}

func (best) ScanBlock(planes [][]uint32, queries []hamming.Query) { hamming.ScanBlock(planes, queries) }

func TestKernelsBeginWithTheReference(t *testing.T) {
	kernels := hamming.Kernels()
	if len(kernels) == 0 || kernels[0].Name != "go" {
		t.Errorf("got %v, want the plain Go reference first", kernels)
	}
}

func TestCallerBugsPanic(t *testing.T) {
	for name, bug := range map[string]struct {
		planes [][]uint32
		query  []uint32
	}{
		"no plane":       {nil, nil},
		"words differ":   {[][]uint32{{1}}, []uint32{1, 2}},
		"lengths differ": {[][]uint32{{1, 2}, {1}}, []uint32{1, 2}},
	} {
		for _, kernel := range hamming.Kernels() {
			wantPanic(t, name+"/"+kernel.Name, func() { kernel.Scan(nil, bug.planes, bug.query, 1) })
			wantPanic(t, name+"/"+kernel.Name+"/block", func() {
				kernel.ScanBlock(bug.planes, []hamming.Query{{Signature: bug.query, Radius: 1}})
			})
		}
	}
}

// TestParts asks for rows from anywhere to anywhere, none and all among them, of tables of more than one tile.
func TestParts(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	for _, words := range []int{1, 2, 3, 8} {
		for range 20 {
			rows := random.IntN(20_000)
			planes := hammingtest.Planes(words, rows, random.Uint32)
			parts := make([]hamming.Part, 1+random.IntN(8))
			for i := range parts {
				from := random.IntN(rows + 1)
				parts[i] = hamming.Part{From: from, To: from + random.IntN(rows-from+1)}
				parts[i].Signature, parts[i].Radius = hammingtest.Planes(1, words, random.Uint32)[0], random.IntN(14*words)
			}
			parts[0].From, parts[0].To = 0, rows
			for _, kernel := range hamming.Kernels() {
				checkParts(t, kernel, planes, slices.Clone(parts))
			}
		}
	}
}

func checkParts(t *testing.T, kernel hamming.Kernel, planes [][]uint32, parts []hamming.Part) {
	kernel.ScanParts(planes, parts)
	for _, p := range parts {
		var want []uint32
		for _, row := range kernel.Scan(nil, planes, p.Signature, p.Radius) {
			if int(row) >= p.From && int(row) < p.To {
				want = append(want, row)
			}
		}
		if !slices.Equal(p.Hits, want) {
			t.Errorf("%s, %d words, rows %d to %d of %d: got %v, want %v",
				kernel.Name, len(planes), p.From, p.To, len(planes[0]), p.Hits, want)
		}
	}
}

func TestBadPartsPanic(t *testing.T) {
	for name, part := range map[string]hamming.Part{"before": {From: -1, To: 1}, "behind": {To: 3},
		"backwards": {From: 2, To: 1}} {
		part.Signature = []uint32{0}
		for _, kernel := range hamming.Kernels() {
			wantPanic(t, name+"/"+kernel.Name, func() { kernel.ScanParts([][]uint32{{1, 2}}, []hamming.Part{part}) })
		}
	}
}

func wantPanic(t *testing.T, name string, call func()) {
	t.Run(name, func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		call()
	})
}

func TestScanDoesNotAllocate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, words := range []int{1, 2, 3, 8} {
		planes := hammingtest.Planes(words, 1000, random.Uint32)
		query, hits := hammingtest.Row(planes, 5), make([]uint32, 0, 1000)
		for _, kernel := range hamming.Kernels() {
			block := []hamming.Query{{Signature: query, Radius: 16 * words, Hits: hits}}
			n := testing.AllocsPerRun(20, func() {
				hits = kernel.Scan(hits[:0], planes, query, 16*words)
				block[0].Hits = block[0].Hits[:0]
				kernel.ScanBlock(planes, block)
			})
			if n != 0 || len(hits) == 0 {
				t.Errorf("%s, %d words: %v allocations and %d hits, want 0 and some", kernel.Name, words, n, len(hits))
			}
		}
	}
}

// FuzzScan builds a table from bytes and wants every kernel to agree with the definition, with one query and with a
// block of radii around it, into slices with some room.
func FuzzScan(f *testing.F) {
	f.Add([]byte{}, uint8(1), int16(0))
	f.Add([]byte("0123456789abcdef0123456789abcdee"), uint8(1), int16(3))
	f.Add(make([]byte, 400), uint8(3), int16(0))
	f.Add([]byte("four words a query, four words a row, and some are left over."), uint8(4), int16(40))
	f.Add(make([]byte, 2048), uint8(32), int16(-1))
	f.Add(bytes.Repeat([]byte("near"), 300), uint8(1), int16(6))
	f.Add(bytes.Repeat([]byte("nearly"), 400), uint8(2), int16(12))
	f.Fuzz(func(t *testing.T, data []byte, words uint8, radius int16) {
		n := 1 + int(words-1)%hammingtest.MaxWords
		query, planes := tableOf(data, n)
		var want []hamming.Query
		for _, r := range []int{int(radius), int(radius) - 1, 2*int(radius) + 1} {
			want = append(want, hamming.Query{Signature: query, Radius: r, Hits: hammingtest.Naive(nil, planes, query, r)})
		}
		for _, kernel := range hamming.Kernels() {
			compare(t, kernel, planes, want)
		}
	})
}

func compare(t *testing.T, kernel hamming.Kernel, planes [][]uint32, want []hamming.Query) {
	got := slices.Clone(want)
	for i := range got {
		got[i].Hits = make([]uint32, 0, i*len(planes[0])/2)
	}
	kernel.ScanBlock(planes, got)
	for i, q := range want {
		one := kernel.Scan(nil, planes, q.Signature, q.Radius)
		if !slices.Equal(one, q.Hits) || !slices.Equal(got[i].Hits, q.Hits) {
			t.Errorf("%s, %d words, %d rows, radius %d: got %v, in a block %v, want %v",
				kernel.Name, len(planes), len(planes[0]), q.Radius, one, got[i].Hits, q.Hits)
		}
	}
}

// tableOf reads a query and then rows, word by word; bytes that are too few for a row are left over.
func tableOf(data []byte, words int) (query []uint32, planes [][]uint32) {
	query, planes = make([]uint32, words), make([][]uint32, words)
	for first := true; len(data) >= 4*words; first, data = false, data[4*words:] {
		for w := range words {
			word := binary.LittleEndian.Uint32(data[4*w:])
			if first {
				query[w] = word
			} else {
				planes[w] = append(planes[w], word)
			}
		}
	}
	return query, planes
}
