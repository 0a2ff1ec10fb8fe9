package feed

import (
	"slices"
	"strings"
)

// blockBytes is the size of a block: some hundred posts.
const blockBytes = 32 << 10

// blocks hands out copies that lie side by side in blocks of memory, which the collector takes back one by one when
// nothing refers to them any more: an allocation every some hundred posts instead of several a post. A nil *blocks
// allocates each copy.
type blocks struct {
	text strings.Builder // writes only behind what it has handed out
	raw  []byte
}

func (b *blocks) string(v []byte) string {
	if b == nil || len(v) > blockBytes/8 {
		return string(v)
	}
	if b.text.Cap()-b.text.Len() < len(v) {
		b.text.Reset()
		b.text.Grow(blockBytes)
	}
	begin := b.text.Len()
	b.text.Write(v)
	return b.text.String()[begin:]
}

func (b *blocks) bytes(v []byte) []byte {
	if b == nil || len(v) > blockBytes/8 {
		return slices.Clone(v)
	}
	if cap(b.raw)-len(b.raw) < len(v) {
		b.raw = make([]byte, 0, blockBytes)
	}
	begin := len(b.raw)
	b.raw = append(b.raw, v...)
	return b.raw[begin:len(b.raw):len(b.raw)]
}
