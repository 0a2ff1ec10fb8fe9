package shard

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"refrain/feed"
)

// Tombstones are the posts and authors that were deleted, as far as anybody has read the control topic. The workers of a
// process share one: who reads a tombstone first makes it known to all. It may be used by several goroutines.
//
// A deleted post stays deleted, whenever it comes. Of a deleted author goes what stands in records stamped no later than
// the tombstone: an account may come back, and what it posts then counts. Both are known as long as the topics can still
// hold such a post.
//
// Names are as long as somebody likes, so there are none: 128 bits of hashes by keys of this process alone stand for them,
// so that nobody can delete a post by deleting another of the same hash.
type Tombstones struct {
	keys    [2]maphash.Seed
	version atomic.Int64 // grows when there are more

	mu         sync.RWMutex
	posts      map[nameKey]uint32 // when: seconds since 1970, rounded up
	authors    map[nameKey]int64  // nanoseconds
	lastExpiry time.Time          // up to where old ones have gone
}

// nameKey stands for (source, post) or (source, author).
type nameKey [4]uint32

// Bytes of an entry of a map that is as empty as one gets while it grows.
const (
	postTombstoneBytes   = 48
	authorTombstoneBytes = 58
)

// NewTombstones returns one without any.
func NewTombstones() *Tombstones {
	return &Tombstones{
		keys:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		posts: map[nameKey]uint32{}, authors: map[nameKey]int64{},
	}
}

func (t *Tombstones) key(source, name string) nameKey {
	var short [128]byte // enough for nearly all: they need no memory
	named := append(append(binary.AppendUvarint(short[:0], uint64(len(source))), source...), name...)
	a, b := maphash.Bytes(t.keys[0], named), maphash.Bytes(t.keys[1], named)
	return nameKey{uint32(a), uint32(a >> 32), uint32(b), uint32(b >> 32)}
}

// Len is how many there are.
func (t *Tombstones) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.posts) + len(t.authors)
}

// Bytes is what they hold on the heap, or less.
func (t *Tombstones) Bytes() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return postTombstoneBytes*int64(len(t.posts)) + authorTombstoneBytes*int64(len(t.authors))
}

// add adds the tombstones of a record of the control topic.
func (t *Tombstones) add(tombstones []feed.Tombstone, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.version.Add(1)
	seconds := uint32(min(math.MaxUint32, (at.UnixNano()+1e9-1)/1e9))
	for _, s := range tombstones {
		if s.Author != "" {
			k := t.key(s.Source, s.Author)
			t.authors[k] = max(t.authors[k], at.UnixNano())
			continue
		}
		k := t.key(s.Source, s.Post)
		t.posts[k] = max(t.posts[k], seconds)
	}
}

// HasPost reports whether a post is deleted.
func (t *Tombstones) HasPost(source, post string) bool {
	if t.version.Load() == 0 {
		return false
	}
	k := t.key(source, post)
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, ok := t.posts[k]
	return ok
}

// Has reports whether there is a tombstone for the same post that was stamped at a time or later: another says nothing new.
// One for an author always does.
func (t *Tombstones) Has(s feed.Tombstone, since time.Time) bool {
	if s.Author != "" || t.version.Load() == 0 {
		return false
	}
	k := t.key(s.Source, s.Post)
	t.mu.RLock()
	defer t.mu.RUnlock()
	at, ok := t.posts[k]
	return ok && int64(at) > since.Unix()
}

// Deleted reports whether an event that was made at a time may not show a post any more: because the post was deleted, or
// its author after he had posted it.
func (t *Tombstones) Deleted(n feed.Name, made time.Time) bool {
	if t.version.Load() == 0 {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if _, ok := t.posts[t.key(n.Source, n.Post)]; ok {
		return true
	}
	at, ok := t.author(n.Source, n.Author)
	return ok && made.UnixNano() <= at+feed.RetractionLag.Nanoseconds()
}

// author is when an author was deleted. A post without one has none.
func (t *Tombstones) author(source, author string) (at int64, ok bool) {
	if author == "" || len(t.authors) == 0 {
		return 0, false
	}
	at, ok = t.authors[t.key(source, author)]
	return at, ok
}

// deletes reports whether a sentence of a record with this stamp is deleted; t is locked.
func (t *Tombstones) deletes(s *feed.Sentence, stamp int64) bool {
	if _, ok := t.posts[t.key(s.Source, s.Post)]; ok {
		return true
	}
	at, ok := t.author(s.Source, s.Author)
	return ok && stamp <= at
}

// apply notes which sentences of an item are deleted, once for all the partitions that look at it. It does nothing where it
// has been done and there are no more tombstones since.
func (t *Tombstones) apply(x *item) {
	version := t.version.Load()
	if x.deletedVersion == version {
		return
	}
	x.deletedVersion, x.deleted = version, nil
	t.mu.RLock()
	defer t.mu.RUnlock()
	for i := range x.batch.Sentences {
		if !t.deletes(&x.batch.Sentences[i], x.stamp) {
			continue
		}
		if x.deleted == nil {
			x.deleted = make([]bool, len(x.batch.Sentences))
		}
		x.deleted[i] = true
	}
}

// expireInterval is how far apart two walks over all tombstones are: 70 ms for a million, in which nobody can ask.
const expireInterval = time.Hour

// expire drops tombstones that no post in any topic is older than, or soon after that. A map does not shrink: those that
// are left go into another.
func (t *Tombstones) expire(before time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before.Sub(t.lastExpiry) < expireInterval {
		return
	}
	t.lastExpiry = before
	t.posts = retainSince(t.posts, uint32(max(0, before.Unix())))
	t.authors = retainSince(t.authors, before.UnixNano())
}

func retainSince[T uint32 | int64](all map[nameKey]T, before T) map[nameKey]T {
	old := 0
	for _, at := range all {
		if at < before {
			old++
		}
	}
	if old == 0 {
		return all
	}
	retained := make(map[nameKey]T, len(all)-old)
	for k, at := range all {
		if at >= before {
			retained[k] = at
		}
	}
	return retained
}
