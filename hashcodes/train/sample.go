package train

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/zeebo/xxh3"

	"refrain/hashcodes"
)

// Sample is what the learners see of a stream: distinct token sets, drawn evenly from all that were there.
//
// The sets with the least hashes are kept. So a set has the same chance however often it repeats, memory is bounded,
// and two runs over the same sentences keep the same, in whatever order they come. Validation are those that came
// last: what is learned must hold for sentences later in time.
type Sample struct {
	Learning   [][]uint64 // in the order of arrival
	Counts     []uint32   // of each of Learning, the sentences in the stream that have it; nil: one each
	Validation [][]uint64 // those after them
	Seen       int        // sentences in the stream, repeats counted
}

// validationShare: one set validates for so many that are learned from.
const validationShare = 10

// Collect keeps about n sets to learn from, and a tenth of that to validate with, of a stream of sentences. A sentence
// is a token set: ids ascending, none twice, at most hashcodes.MaxSize; the slice may be reused when it was yielded.
func Collect(sentences iter.Seq[[]uint64], n int, seed uint64) *Sample {
	k := n + n/validationShare
	r := reservoir{size: k, seed: seed, bound: ^uint64(0), counts: map[uint64]uint32{}}
	for set := range sentences {
		r.add(set)
	}
	r.prune()
	slices.SortFunc(r.sampled, func(a, b sampledSet) int { return cmp.Compare(a.arrival, b.arrival) })
	sets, counts := make([][]uint64, len(r.sampled)), make([]uint32, len(r.sampled))
	for i := range r.sampled {
		sets[i], counts[i] = r.sampled[i].set, r.counts[r.sampled[i].hash]
	}
	learning := len(sets) - len(sets)/(validationShare+1)
	return &Sample{Learning: sets[:learning:learning], Counts: counts[:learning], Validation: sets[learning:], Seen: r.seen}
}

// reservoir keeps the sets with the least hashes: up to twice as many as wanted, then it throws the greater half away. A set
// that is kept in the end was never thrown away, so its count is of the whole stream.
type reservoir struct {
	size    int
	seed    uint64
	bound   uint64            // sets with greater hashes are not among the least
	counts  map[uint64]uint32 // of the sets kept, by hash
	sampled []sampledSet
	seen    int
	buf     []byte
}

type sampledSet struct {
	hash    uint64
	arrival int
	set     []uint64
}

func (r *reservoir) add(set []uint64) {
	if len(set) == 0 || len(set) > hashcodes.MaxSize {
		return
	}
	r.seen++
	h := r.hash(set)
	if h > r.bound {
		return
	}
	if r.counts[h]++; r.counts[h] > 1 {
		return
	}
	r.sampled = append(r.sampled, sampledSet{h, r.seen, slices.Clone(set)})
	if len(r.sampled) >= 2*r.size {
		r.prune()
	}
}

func (r *reservoir) hash(set []uint64) uint64 {
	r.buf = r.buf[:0]
	for _, token := range set {
		r.buf = binary.LittleEndian.AppendUint64(r.buf, token)
	}
	return xxh3.HashSeed(r.buf, r.seed)
}

func (r *reservoir) prune() {
	if len(r.sampled) <= r.size {
		return
	}
	slices.SortFunc(r.sampled, func(a, b sampledSet) int { return cmp.Compare(a.hash, b.hash) })
	for _, k := range r.sampled[r.size:] {
		delete(r.counts, k.hash)
	}
	clear(r.sampled[r.size:])
	r.sampled = r.sampled[:r.size]
	r.bound = 0
	if r.size > 0 {
		r.bound = r.sampled[r.size-1].hash
	}
}

// word is a token and the number of sets that hold it.
type word struct {
	token     uint64
	frequency uint32
}

// minFrequency is how many sets must hold a token for its code to be learned: from fewer it would be guessed.
const minFrequency = 5

// frequent returns the n tokens that most sets hold, the most frequent first.
func frequent(sets [][]uint64, n int) []word {
	counts := map[uint64]uint32{}
	for _, set := range sets {
		for _, token := range set {
			counts[token]++
		}
	}
	words := make([]word, 0, len(counts))
	for token, count := range counts {
		if count >= minFrequency {
			words = append(words, word{token, count})
		}
	}
	slices.SortFunc(words, func(a, b word) int {
		return cmp.Or(cmp.Compare(b.frequency, a.frequency), cmp.Compare(a.token, b.token))
	})
	return words[:min(n, len(words))]
}
