package sigstore

import (
	"sort"

	"refrain/feed"
)

// view is the occurrences of a group in the order of the feed.
type view struct {
	chain []occurrence    // of a group with a few
	list  *occurrenceList // of one with an occurrence list: read one by one
	one   occurrence
}

func (v *view) len() int {
	if v.list != nil {
		return len(v.list.records)
	}
	return len(v.chain)
}

// at is valid until the next call of at; the strings in it stay.
func (v *view) at(i int) *occurrence {
	if v.list == nil {
		return &v.chain[i]
	}
	v.list.occurrence(&v.one, i)
	return &v.one
}

// from is the index of the first occurrence at t or later.
func (v *view) from(t feed.Time) int {
	return sort.Search(v.len(), func(i int) bool { return v.at(i).time >= t })
}

// indexOfKey is the index at which an occurrence with a key is, or would be.
func (v *view) indexOfKey(k key) int {
	return sort.Search(v.len(), func(i int) bool { return v.at(i).key().compare(k) >= 0 })
}

// indexOf is the index at which o is, or would be: versions of one sentence stand in the order of their hashes.
func (v *view) indexOf(o *occurrence) int {
	k := o.key()
	return sort.Search(v.len(), func(i int) bool {
		at := v.at(i)
		c := at.key().compare(k)
		return c > 0 || c == 0 && at.version >= o.version
	})
}

// other is the first index from i on whose occurrence belongs to another post than k. Sentences of one post stand
// together, except that versions of it may have other times, and one post may hold very many.
func (v *view) other(i int, k key) int {
	for i < v.len() && v.at(i).samePost(k) {
		t, rest := v.at(i).time, i
		i += sort.Search(v.len()-i, func(j int) bool { o := v.at(rest + j); return o.time != t || !o.samePost(k) })
	}
	return i
}

// has reports whether x is there: the same sentence of the same version of a post.
func (v *view) has(x *feed.Sentence) bool {
	o := occurrenceOf(x)
	if i := v.indexOf(&o); i < v.len() {
		if at := v.at(i); at.version == o.version && at.key() == o.key() {
			return true
		}
	}
	return false
}

// witness is the index of the oldest occurrence that is earlier than k, of another post, and within the span; -1 if
// there is none.
func (v *view) witness(k key, span feed.Time) int {
	i := v.other(v.from(k.time-span), k)
	if i == v.len() || v.at(i).key().compare(k) >= 0 {
		return -1
	}
	return i
}

// repeatsInPost reports whether x repeats a sentence before it in its own post.
func (v *view) repeatsInPost(x *feed.Sentence) bool {
	k := keyOf(x)
	i := v.indexOfKey(k) - 1
	if i < 0 {
		return false
	}
	o := v.at(i)
	return o.time == k.time && o.samePost(k)
}

// textLike is the position of a text equal to s among the last few occurrences, 0 if there is none.
func (v *view) textLike(s string, last int) uint64 {
	for i := v.len() - 1; i >= max(0, v.len()-last) && s != ""; i-- {
		if o := v.at(i); o.text == s && o.textAt != 0 {
			return o.textAt
		}
	}
	return 0
}

// first is the key of the group's first occurrence, as far as it is known.
func (v *view) first() feed.First {
	if v.list != nil {
		return v.list.first
	}
	return v.chain[0].first()
}

// count is how many occurrences there were since the group was made.
func (v *view) count() int {
	if v.list != nil {
		return v.list.count
	}
	return len(v.chain)
}

// authors counts the authors since the group was made, and the one of hash.
func (v *view) authors(key *AuthorKey, hash uint64) (n int, estimated bool) {
	if v.list != nil {
		return v.list.authors.count(hash)
	}
	var a authors
	for i := range v.chain {
		a.add(key.hash(v.chain[i].source, v.chain[i].author))
	}
	return a.count(hash)
}
