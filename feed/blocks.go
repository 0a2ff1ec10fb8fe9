package feed

import "strings"

// blockBytes is the size of a block: some hundred posts.
const blockBytes = 32 << 10

// blocks hands out copies that lie side by side in blocks of memory, which the collector takes back one by one when
// nothing refers to them any more: an allocation every some hundred posts instead of several a post. A nil *blocks
// allocates each copy.
type blocks struct {
	text strings.Builder // writes only behind what it has handed out
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
