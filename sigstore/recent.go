package sigstore

import "hash/maphash"

// recent holds the names that the latest deletions are of, by hashes. A group with very many occurrences is asked whether
// it may have one of them: without that it would be read whole after every deletion of anything.
type recent struct {
	deleted []recentName // by rising number
	before  uint32       // names of deletions after this number are all there
}

// recentName is a name, and the number of its deletion.
type recentName struct {
	hash   uint64
	number uint32
}

// maxRecent bounds how many are held: 64 KiB. Where there were more, groups are read.
const maxRecent = 4096

func (r *recent) add(hash uint64, number uint32) {
	if len(r.deleted) == maxRecent {
		const half = maxRecent / 2
		r.before = r.deleted[half-1].number
		r.deleted = append(r.deleted[:0], r.deleted[half:]...)
	}
	r.deleted = append(r.deleted, recentName{hash, number})
}

// misses reports that no name deleted after a number is in n, which may be nil: then nobody knows.
func (r *recent) misses(n *names, after uint32) bool {
	if n == nil || after < r.before {
		return false
	}
	for i := len(r.deleted) - 1; i >= 0 && r.deleted[i].number > after; i-- {
		if n.mayHave(r.deleted[i].hash) {
			return false
		}
	}
	return true
}

// names are the posts and authors of a group's occurrences, as a Bloom filter: it may take a name for one of them, and
// never one of them for none. What the group loses stays in it.
type names struct {
	bits []uint64
	room int // names until it takes too many for its own
}

const (
	minNamed    = 256 // occurrences of a group that has names: others are soon read
	bitsPerName = 16  // of 400 names one is taken for another
	nameHashes  = 4
)

// newNames makes one for so many occurrences and half as many more, each with a post and an author.
func newNames(occurrences int) *names {
	room := 3 * occurrences
	return &names{make([]uint64, room*bitsPerName/64+1), room}
}

// nameSeed makes the hashes of this process its own: nobody can choose names that are taken for each other.
var nameSeed = maphash.MakeSeed()

func hashPost(source string, post postID) uint64 {
	return maphash.Comparable(nameSeed, postName{source, post})
}

func hashAuthor(author who) uint64 { return maphash.Comparable(nameSeed, author) }

type postName struct {
	source string
	post   postID
}

// add takes an occurrence in.
func (n *names) add(o *occurrence) {
	for _, hash := range []uint64{hashPost(o.source, o.post), hashAuthor(who{o.source, o.author})} {
		for i := range uint64(nameHashes) {
			at := n.bit(hash, i)
			n.bits[at/64] |= 1 << (at % 64)
		}
	}
	n.room -= 2
}

func (n *names) mayHave(hash uint64) bool {
	for i := range uint64(nameHashes) {
		if at := n.bit(hash, i); n.bits[at/64]&(1<<(at%64)) == 0 {
			return false
		}
	}
	return true
}

func (n *names) bit(hash, i uint64) uint64 {
	return (hash + i*(hash>>32|1)) % (64 * uint64(len(n.bits)))
}

func (n *names) bytes() int64 {
	if n == nil {
		return 0
	}
	return 8 * int64(cap(n.bits))
}
