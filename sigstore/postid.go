package sigstore

import (
	"cmp"
	"strconv"
	"strings"

	"refrain/feed"
)

// postID is the id of a post: a number where its decimal digits are the id, since most are.
type postID struct {
	text   string // of an id that is no number
	number uint64 // else 1 + the number
}

func parsePostID(s string) postID {
	if len(s) == 0 || len(s) > 19 || s[0] == '0' && len(s) > 1 {
		return postID{text: s}
	}
	n := uint64(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return postID{text: s}
		}
		n = 10*n + uint64(s[i]-'0')
	}
	return postID{number: n + 1}
}

func (p postID) isNumber() bool { return p.number != 0 }

func (p postID) String() string {
	if p.isNumber() {
		return strconv.FormatUint(p.number-1, 10)
	}
	return p.text
}

// compare orders ids as bytes.
func (p postID) compare(o postID) int {
	if p == o {
		return 0
	}
	if p.isNumber() && o.isNumber() && digits(p.number-1) == digits(o.number-1) {
		return cmp.Compare(p.number, o.number)
	}
	return strings.Compare(p.String(), o.String())
}

func digits(n uint64) (d int) {
	for d = 1; n >= 10; d++ {
		n /= 10
	}
	return d
}

// key is feed.Key with the id read.
type key struct {
	time   feed.Time
	source string
	post   postID
	index  uint32
}

func keyOf(x *feed.Sentence) key { return key{x.Time, x.Source, parsePostID(x.Post), uint32(x.Index)} }

func (k key) compare(o key) int {
	if c := cmp.Compare(k.time, o.time); c != 0 {
		return c
	}
	if c := strings.Compare(k.source, o.source); c != 0 {
		return c
	}
	if c := k.post.compare(o.post); c != 0 {
		return c
	}
	return cmp.Compare(k.index, o.index)
}

func (k key) samePost(o key) bool { return k.post == o.post && k.source == o.source }
