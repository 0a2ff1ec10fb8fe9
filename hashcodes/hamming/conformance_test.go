package hamming_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/hashcodes/hamming"
	"refrain/hashcodes/hamming/hammingtest"
)

func TestConformance(t *testing.T) {
	t.Run("Scan", func(t *testing.T) { hammingtest.Run(t, hamming.Scan) })
	for _, kernel := range hamming.Kernels() {
		t.Run(kernel.Name, func(t *testing.T) { hammingtest.Run(t, kernel.Scan) })
	}
}

func TestKernelsBeginWithTheReference(t *testing.T) {
	kernels := hamming.Kernels()
	if len(kernels) == 0 || kernels[0].Name != "go" {
		t.Errorf("got %v, want the plain Go reference first", kernels)
	}
}

func TestCallerBugsPanic(t *testing.T) {
	for name, call := range map[string]func(hammingtest.Scan){
		"no plane":       func(scan hammingtest.Scan) { scan(nil, nil, nil, 1) },
		"words differ":   func(scan hammingtest.Scan) { scan(nil, [][]uint32{{1}}, []uint32{1, 2}, 1) },
		"lengths differ": func(scan hammingtest.Scan) { scan(nil, [][]uint32{{1, 2}, {1}}, []uint32{1, 2}, 1) },
	} {
		for _, kernel := range hamming.Kernels() {
			t.Run(name+"/"+kernel.Name, func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				call(kernel.Scan)
			})
		}
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, words := range []int{1, 2, 3, 8} {
		planes := hammingtest.Planes(words, 1000, random.Uint32)
		query, hits := hammingtest.Row(planes, 5), make([]uint32, 0, 1000)
		for _, kernel := range hamming.Kernels() {
			n := testing.AllocsPerRun(20, func() { hits = kernel.Scan(hits[:0], planes, query, 16*words) })
			if n != 0 || len(hits) == 0 {
				t.Errorf("%s, %d words: %v allocations and %d hits, want 0 and some", kernel.Name, words, n, len(hits))
			}
		}
	}
}

// FuzzScan builds a table from bytes and wants every kernel to agree with the definition.
func FuzzScan(f *testing.F) {
	f.Add([]byte{}, uint8(1), int16(0))
	f.Add([]byte("0123456789abcdef0123456789abcdee"), uint8(1), int16(3))
	f.Add(make([]byte, 400), uint8(3), int16(0))
	f.Add([]byte("four words a query, four words a row, and some are left over."), uint8(4), int16(40))
	f.Add(make([]byte, 2048), uint8(32), int16(-1))
	f.Fuzz(func(t *testing.T, data []byte, words uint8, radius int16) {
		n := 1 + int(words-1)%hammingtest.MaxWords
		query, planes := tableOf(data, n)
		want := hammingtest.Naive(nil, planes, query, int(radius))
		for _, kernel := range hamming.Kernels() {
			got := kernel.Scan(nil, planes, query, int(radius))
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d words, %d rows, radius %d: got %v, want %v", kernel.Name, n, len(planes[0]), radius, got, want)
			}
		}
	})
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
