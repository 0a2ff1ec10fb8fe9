package sigstore

import (
	"math/rand/v2"
	"testing"
)

// TestTableIsAMap holds the table against a map through insertions, removals and renumberings. Hashes are few, so that
// numbers share them, and alike in their upper or lower half, so that they share homes or tags.
func TestTableIsAMap(t *testing.T) {
	for _, spread := range []uint64{1, 1 << 32, 0x9E3779B97F4A7C15} {
		r := rand.New(rand.NewPCG(spread, 1))
		hashes := map[uint32]uint64{} // of every number in the table
		hashOf := func(n uint32) uint64 { return hashes[n] }
		var tab table
		for i := range uint32(20_000) {
			hash := r.Uint64N(3000) * spread
			switch number, ok := tab.find(hash, func(n uint32) bool { return hashes[n] == hash }); {
			case !ok:
				tab.add(hash, i, hashOf)
				hashes[i] = hash
			case r.IntN(3) == 0:
				tab.remove(hash, number)
				delete(hashes, number)
			default:
				tab.renumber(hash, number, i)
				delete(hashes, number)
				hashes[i] = hash
			}
		}
		if tab.live != len(hashes) {
			t.Fatalf("spread %d: %d numbers, want %d", spread, tab.live, len(hashes))
		}
		for n, hash := range hashes {
			if got, ok := tab.find(hash, func(n uint32) bool { return hashes[n] == hash }); !ok || got != n {
				t.Fatalf("spread %d: %d under %d, %t; want %d", spread, got, hash, ok, n)
			}
		}
		if slots := lanes * len(tab.buckets); slots > 3*tab.live {
			t.Errorf("spread %d: %d slots for %d numbers", spread, slots, tab.live)
		}
	}
}
