package sigstore

import (
	"sort"
	"strings"
	"unique"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// post is what the sentences of one version of a post share.
type post struct {
	source, author, lang unique.Handle[string]
	id                   string
	time                 feed.Time
	version              uint64
	repost, adjusted     bool
}

// occurrence is one sentence of one post. Its strings are copies: they must not pin the buffer of a batch.
type occurrence struct {
	post       *post
	text       string
	sequence   uint64
	coverage   float32
	index      uint32
	start, end uint32
}

// Bytes of the structs above on 64-bit machines, and of what the allocator adds around them.
const (
	occurrenceBytes = 56
	postBytes       = 80 + 16
)

func (o *occurrence) key() feed.Key {
	return feed.Key{Time: o.post.time, Source: o.post.source.Value(), Post: o.post.id, Index: int(o.index)}
}

func (o *occurrence) samePost(k feed.Key) bool {
	return o.post.id == k.Post && o.post.source.Value() == k.Source
}

// show is o as events show it.
func (o *occurrence) show() feed.Occurrence {
	p := o.post
	return feed.Occurrence{
		Source: p.source.Value(), Post: p.id, Author: p.author.Value(), Lang: p.lang.Value(), Time: p.time,
		Sentence: int(o.index), Start: int(o.start), End: int(o.end), Text: o.text,
	}
}

// newPost copies what x says of its post.
func newPost(x *feed.Sentence) *post {
	return &post{
		source: unique.Make(x.Source), author: unique.Make(x.Author), lang: unique.Make(x.Lang),
		id: strings.Clone(x.Post), time: x.Time, version: x.Version, repost: x.Repost, adjusted: x.TimeAdjusted,
	}
}

func (p *post) of(x *feed.Sentence) bool {
	return p != nil && p.id == x.Post && p.time == x.Time && p.version == x.Version && p.source.Value() == x.Source
}

// occurrences are sorted by feed.Key, and by version where the keys are equal.
type occurrences []occurrence

// from is the place of the first occurrence at time t or later.
func (os occurrences) from(t feed.Time) int {
	return sort.Search(len(os), func(i int) bool { return os[i].post.time >= t })
}

// at is the place of the first occurrence whose key is k or later.
func (os occurrences) at(k feed.Key) int {
	return sort.Search(len(os), func(i int) bool { return os[i].key().Compare(k) >= 0 })
}

// other is the first place from i on whose post is not that of k; len(os) if there is none. The sentences of
// one version of a post stand together, so that whole runs are skipped.
func (os occurrences) other(i int, k feed.Key) int {
	for i < len(os) && os[i].samePost(k) {
		t := os[i].post.time
		rest := os[i:]
		i += sort.Search(len(rest), func(j int) bool { return rest[j].post.time != t || !rest[j].samePost(k) })
	}
	return i
}

// has reports whether x's occurrence is among os: same post, text of the post and index, and the same time.
func (os occurrences) has(x *feed.Sentence) bool {
	k := keyOf(x)
	for i := os.at(k); i < len(os) && os[i].key() == k; i++ {
		if os[i].post.version == x.Version {
			return true
		}
	}
	return false
}

func keyOf(x *feed.Sentence) feed.Key {
	return feed.Key{Time: x.Time, Source: x.Source, Post: x.Post, Index: x.Index}
}

// identity names the sentence of one version of a post whatever its time: a 64-bit hash.
func (o *occurrence) identity() uint64 {
	return identity(o.post.source.Value(), o.post.id, o.post.version, o.index)
}

func identity(source, post string, version uint64, index uint32) uint64 {
	return xxh3.HashStringSeed(post, xxh3.HashStringSeed(source, version^uint64(index)<<40))
}
