package shard

import (
	"time"

	"github.com/zeebo/xxh3"

	"refrain/feed"
	"refrain/sigstore"
)

// young are the sentences that q's rows took in lately. A tombstone is read some time after its stamp, and what an author
// has posted in between stays: the rows keep no stamps, so these do, as long as a tombstone may be on its way.
type young struct {
	sentences []youngSentence // in the order of insertion
	newest    int64
}

// youngSentence is 40 bytes: 1,000 sentences a second are 1.2 MB.
type youngSentence struct {
	stamp        int64
	author, post uint64 // hashes
	version      uint32
	index        int
}

// maxTombstoneDelay is how long after its stamp a tombstone is read at the latest: an append takes δ at most (10 s, as for
// sentences), a turn of a worker some seconds.
const maxTombstoneDelay = 30 * time.Second

func (y *young) add(s *feed.Sentence, stamp int64) {
	if s.Author == "" {
		return
	}
	y.sentences = append(y.sentences, youngSentence{stamp, nameHash(s.Source, s.Author), nameHash(s.Source, s.Post),
		uint32(s.Version), s.Index})
	y.newest = max(y.newest, stamp)
}

// trim drops what is old.
func (y *young) trim() {
	n := 0
	for n < len(y.sentences) && y.sentences[n].stamp < y.newest-maxTombstoneDelay.Nanoseconds() {
		n++
	}
	y.sentences = y.sentences[n:]
}

// youngByAuthor are young sentences by a hash of their author: many authors may be deleted at once.
type youngByAuthor map[uint64][]youngSentence

func (y *young) byAuthor() youngByAuthor {
	all := youngByAuthor{}
	for _, s := range y.sentences {
		all[s.author] = append(all[s.author], s)
	}
	return all
}

// stays says which sentences of an author bear stamps after that of his deletion; nil: none.
func (y youngByAuthor) stays(d *deletion) sigstore.Stays {
	author, stays := nameHash(d.Source, d.Author), map[youngSentence]bool{}
	for _, s := range y[author] {
		if s.stamp > d.time.UnixNano() {
			s.stamp = 0
			stays[s] = true
		}
	}
	if len(stays) == 0 {
		return nil
	}
	return func(post string, sentence int, version uint32) bool {
		return stays[youngSentence{0, author, nameHash(d.Source, post), version, sentence}]
	}
}

func nameHash(source, name string) uint64 { return xxh3.HashStringSeed(name, xxh3.HashString(source)) }
