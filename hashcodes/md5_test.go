package hashcodes

import (
	"crypto/md5"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

func TestHashedPositionsGolden(t *testing.T) {
	for _, c := range []struct {
		token      uint64
		bits, ones int
		want       []uint8
	}{
		{0, 64, 1, []uint8{61}},
		{1, 64, 2, []uint8{51, 13}},
		{1, 32, 8, []uint8{19, 13, 12, 14, 30, 0, 18, 31}},
		{math.MaxUint64, 256, 8, []uint8{194, 203, 86, 244, 197, 191, 101, 111}},
		{0x9e3779b97f4a7c15, 128, 4, []uint8{102, 51, 78, 126}},
		{52586, 32, 8, []uint8{25, 22, 11, 0, 4, 6, 1, 16}}, // its first digest holds fewer than 8 positions
	} {
		got := hashedPositions(nil, c.token, c.bits, c.ones)
		if !slices.Equal(got, c.want) {
			t.Errorf("token %#x, %d of %d bits: got %v, want %v", c.token, c.ones, c.bits, got, c.want)
		}
	}
}

// TestHashedPositionsAgainstDefinition derives the positions from the words of the comment: bytes of the digest, and
// of the digest's digest, modulo bits, first occurrences only.
func TestHashedPositionsAgainstDefinition(t *testing.T) {
	again := 0
	for token := uint64(45_000); token < 60_000; token++ {
		for _, bits := range []int{32, 64, 128, 256} {
			var id [8]byte
			binary.LittleEndian.PutUint64(id[:], token)
			first := md5.Sum(id[:])
			second := md5.Sum(first[:])
			var want []uint8
			used := 0
			for i, b := range append(first[:], second[:]...) {
				if p := uint8(int(b) % bits); len(want) < MaxOnes && !slices.Contains(want, p) {
					want, used = append(want, p), i
				}
			}
			if used >= md5.Size {
				again++
			}
			got := hashedPositions(nil, token, bits, MaxOnes)
			if !slices.Equal(got, want) {
				t.Fatalf("token %d, %d bits: got %v, want %v", token, bits, got, want)
			}
		}
	}
	if again == 0 {
		t.Error("no token needed a second digest: that branch went untested")
	}
}

// TestHashedPositionsUniform counts how often each position is drawn, and each pair: a bias of a few per cent would
// be far outside what chance allows (chi-square, mean and deviation of its distribution).
func TestHashedPositionsUniform(t *testing.T) {
	const bits, tokens = 32, 200_000
	for _, ones := range []int{1, 2, 8} {
		var single [bits]float64
		var pair [bits * bits]float64
		for token := range uint64(tokens) {
			ps := hashedPositions(nil, token, bits, ones)
			slices.Sort(ps)
			for i, p := range ps {
				single[p]++
				for _, q := range ps[i+1:] {
					pair[int(p)*bits+int(q)]++
				}
			}
		}
		checkUniform(t, single[:])
		if ones > 1 {
			checkUniform(t, slices.DeleteFunc(pair[:], func(n float64) bool { return n == 0 }))
		}
	}
}

func checkUniform(t *testing.T, counts []float64) {
	t.Helper()
	mean := 0.0
	for _, n := range counts {
		mean += n / float64(len(counts))
	}
	chi := 0.0
	for _, n := range counts {
		chi += (n - mean) * (n - mean) / mean
	}
	freedom := float64(len(counts) - 1)
	if limit := freedom + 5*math.Sqrt(2*freedom); chi > limit {
		t.Errorf("chi-square %.1f over %d counts, want at most %.1f", chi, len(counts), limit)
	}
}
