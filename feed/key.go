package feed

import (
	"cmp"
	"strings"
)

// Key is the place of a sentence in the order of the feed.
type Key struct {
	Time         Time
	Source, Post string
	Index        int
}

// Compare orders by time, then source, post id (both as bytes) and index.
func (k Key) Compare(o Key) int {
	if c := cmp.Compare(k.Time, o.Time); c != 0 {
		return c
	}
	if c := strings.Compare(k.Source, o.Source); c != 0 {
		return c
	}
	if c := strings.Compare(k.Post, o.Post); c != 0 {
		return c
	}
	return cmp.Compare(k.Index, o.Index)
}

// SamePost reports whether both belong to one post, of whatever version.
func (k Key) SamePost(o Key) bool { return k.Post == o.Post && k.Source == o.Source }
