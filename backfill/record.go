package backfill

import (
	"cmp"
	"encoding/binary"
	"strings"

	"refrain/feed"
)

// record is a post as runs and sorters have it: its time beside it, and in its body source, id, text, author, language, meta,
// link, flags and the post as it came in, each string behind its length. Equal posts have equal bytes, and two deliveries of one
// post stand side by side.
type record struct {
	time feed.Time
	body string
}

// Flags of a record.
const (
	flagTimed = 1 << iota
	flagAdjusted
	flagConverted
)

// appendBody appends the body of a post's record. raw is the post as it came in, where that is wanted.
func appendBody(dst []byte, p *feed.Post, raw []byte) []byte {
	for _, s := range []string{p.Source, p.ID, p.Text, p.Author, p.Lang, p.Meta, p.Link} {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	var flags byte
	if p.Timed {
		flags |= flagTimed
	}
	if p.Adjusted {
		flags |= flagAdjusted
	}
	if p.Converted {
		flags |= flagConverted
	}
	return append(append(dst, flags), raw...)
}

// decodeBody is the post of a record, and how it came in. Both share the memory of body.
func decodeBody(t feed.Time, body string) (p feed.Post, raw string) {
	for _, s := range []*string{&p.Source, &p.ID, &p.Text, &p.Author, &p.Lang, &p.Meta, &p.Link} {
		*s, body = cut(body)
	}
	p.Time, p.Timed, p.Adjusted = t, body[0]&flagTimed != 0, body[0]&flagAdjusted != 0
	p.Converted = body[0]&flagConverted != 0
	return p, body[1:]
}

// cut takes the string that body begins with.
func cut[B string | []byte](body B) (s, rest B) {
	n, size := uint64(body[0]), 1
	if n >= 0x80 {
		n, size = uvarint(body)
	}
	end := size + int(n)
	return body[size:end], body[end:]
}

func uvarint[B string | []byte](b B) (n uint64, size int) {
	for shift := 0; ; shift += 7 {
		c := b[size]
		size++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n, size
		}
	}
}

// compareRecords is the order of records: that of the feed, (time, source, id), and then by all else.
func compareRecords[B string | []byte](t feed.Time, a B, u feed.Time, b B) int {
	if t != u {
		return cmp.Compare(t, u)
	}
	for range 2 { // source, id
		var x, y B
		x, a = cut(a)
		y, b = cut(b)
		if c := strings.Compare(string(x), string(y)); c != 0 {
			return c
		}
	}
	return strings.Compare(string(a), string(b))
}

// isRedelivery reports whether p is the post before it once more.
func isRedelivery(p, before *feed.Post) bool {
	return p.Time == before.Time && p.ID == before.ID && p.Source == before.Source && p.Text == before.Text
}
