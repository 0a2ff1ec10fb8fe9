package sigstore

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/minio/highwayhash"
)

// maxAuthors distinct authors are counted exactly.
const maxAuthors = 32

// authors is a k-minimum-values sketch: the smallest maxAuthors hashes of the authors seen, ascending. Up to
// that many authors it is exact; beyond, the density of the smallest hashes estimates how many there are
// (Bar-Yossef et al., RANDOM 2002; relative standard error about 1/sqrt(k-2), 18 % here).
type authors struct {
	smallest []uint64
	more     bool // some hash did not fit
}

// AuthorKey is what the hashes of authors are keyed with: who knows it can choose names that count as thousands.
type AuthorKey [highwayhash.Size]byte

// hash is 0 for a post without an author: it counts for nobody.
func (k *AuthorKey) hash(source, author string) uint64 {
	if author == "" {
		return 0
	}
	b := make([]byte, 0, 128)
	b = append(binary.AppendUvarint(b, uint64(len(source))), source...)
	return max(1, highwayhash.Sum64(append(b, author...), k[:]))
}

func (a *authors) add(hash uint64) {
	i, found := slices.BinarySearch(a.smallest, hash)
	if hash == 0 || found {
		return
	}
	if len(a.smallest) < maxAuthors {
		a.smallest = slices.Insert(a.smallest, i, hash)
		return
	}
	a.more = true
	if i < maxAuthors {
		copy(a.smallest[i+1:], a.smallest[i:maxAuthors-1])
		a.smallest[i] = hash
	}
}

// count returns the number of authors, one more if hash is a new one, and whether that is an estimate.
func (a *authors) count(hash uint64) (n int, estimated bool) {
	_, found := slices.BinarySearch(a.smallest, hash)
	fresh := hash != 0 && !found
	if !a.more && len(a.smallest) < maxAuthors || !fresh && !a.more {
		return len(a.smallest) + oneIf(fresh), false
	}
	share := float64(a.smallest[len(a.smallest)-1]) / math.MaxUint64
	return max(maxAuthors+oneIf(a.more || fresh), int(math.Round(float64(maxAuthors-1)/share))), true
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (a *authors) bytes() int64 { return 8 * int64(cap(a.smallest)) }
