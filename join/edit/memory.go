package edit

import (
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Memory is about how many bytes a join of one collection of strings, or of two, takes beside them, at most: 40 a string; while it
// is at the strings of one length of grams up to 16 (qδ + 1) for each of these, with two collections 20, and 4 for each worker;
// what each worker has at hand; and 64 KiB.
func Memory(c Config, sides ...[]string) int64 {
	byLength, total := lengthsOf(sides)
	j := &join{Config: c, two: len(sides) == 2}
	const fixed = 64 << 10 // channels, tallies, what the runtime keeps of goroutines
	return fixed + int64(unsafe.Sizeof(row{}))*total + j.workersMemory(len(byLength)) + j.maxTierMemory(byLength)
}

// lengthsOf counts the strings of each length.
func lengthsOf(sides [][]string) (byLength []int64, total int64) {
	for _, strings := range sides {
		total += int64(len(strings))
		for _, s := range strings {
			n := utf8.RuneCountInString(s)
			for len(byLength) <= n {
				byLength = append(byLength, 0)
			}
			byLength[n]++
		}
	}
	return byLength, total
}

// workersMemory is what workers have at hand of the longest strings: characters, hashes of grams, a band; and the pairs that wait.
func (j *join) workersMemory(longest int) int64 {
	const perCharacter = 48
	const atHand = 3 // chunks: one is dealt, one is next, and of one the pairs are visited
	lists := int64(j.Workers)*(chunksAhead+1) + atHand
	list := maxFound * 5 / 4 * int64(unsafe.Sizeof(Pair{})) // which has grown by appending
	return int64(j.Workers)*perCharacter*int64(longest) + lists*list
}

// maxTierMemory goes through the tiers as run does.
func (j *join) maxTierMemory(byLength []int64) (most int64) {
	for from := 0; from < len(byLength); {
		q, to, rows := j.gramLength(int32(from)), from, int64(0)
		for ; to < len(byLength) && j.gramLength(int32(to)) == q; to++ {
			rows += byLength[to]
		}
		for n := max(0, from-j.Distance); n < from && rows > 0; n++ {
			rows += byLength[n]
		}
		most, from = max(most, j.tierMemory(rows, int64(q))), to
	}
	return most
}

// tierMemory is what the index of so many rows takes: their prefixes, the counts of tokens, and lists; and what was tried.
func (j *join) tierMemory(rows, q int64) int64 {
	tried := 4 * rows * int64(j.Workers)
	if q == 0 || rows == 0 {
		return tried
	}
	tokens := rows * (q*int64(j.Distance) + 1)
	return tried + 2*4*tokens + int64(1+j.sides())*4<<bitsFor(tokens)
}

// bitsFor is how many bits tell so many tokens apart.
func bitsFor(tokens int64) int { return min(bits.Len64(uint64(tokens)/2), maxBits) }
