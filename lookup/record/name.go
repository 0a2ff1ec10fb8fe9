package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"refrain/feed"
	"refrain/lookup"
)

// errCorrupt says that stored bytes are not what this package writes.
var errCorrupt = errors.New("unreadable bytes")

// A member's name is ordered as the feed is among equal times:
//
//	ordered source  ordered post  sentence:4 big endian  event:16  likeness  group:16 | author
//
// "ordered" is the string with 00 as 00 FF and 00 01 at its end, so that bytes compare as the strings do and the next
// field is found. Each set's members have of group and author what its key does not: those of an author the group, those of
// a group the author, which goes to the end.

// appendOrdered appends s so that order is kept.
func appendOrdered(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			return append(append(dst, s...), 0, 1)
		}
		dst = append(append(dst, s[:i]...), 0, 0xff)
		s = s[i+1:]
	}
}

func cutOrdered(b string) (s, rest string, err error) {
	var escaped []byte
	for i := 0; i+1 < len(b); i++ {
		if b[i] != 0 {
			continue
		}
		if b[i+1] == 1 && escaped == nil {
			return b[:i], b[i+2:], nil
		}
		if b[i+1] == 1 {
			return string(append(escaped, b[:i]...)), b[i+2:], nil
		}
		escaped = append(append(escaped, b[:i]...), 0)
		b, i = b[i+2:], -1
	}
	return "", "", errCorrupt
}

func postKey(source, post string) string {
	return string(appendOrdered(appendOrdered([]byte{'p'}, source), post))
}

func authorKey(source, author string) string {
	return string(appendOrdered(appendOrdered([]byte{'a'}, source), author))
}

func groupKey(g feed.Hash) string      { return "g" + string(g[:]) }
func repeatedByKey(g feed.Hash) string { return "r" + string(g[:]) }

// positionAfter is the position after all sentences of a post at time t.
func positionAfter(t feed.Time, source, post string) Member {
	b := appendOrdered(appendOrdered(nil, source), post)
	return Member{Time: t, Name: string(append(b, 0xff, 0xff, 0xff, 0xff, 0xff))}
}

// groupMember names a RepeatedBy in the set of its group.
func groupMember(r *lookup.RepeatedBy) Member {
	return Member{Time: r.Later.Time, Name: string(append(repeatedByPrefix(r), r.Later.Author...))}
}

// authorMember names a RepeatedBy in the set of its author.
func authorMember(r *lookup.RepeatedBy) Member {
	return Member{Time: r.Later.Time, Name: string(append(repeatedByPrefix(r), r.Group[:]...))}
}

// repeatedByPrefix is what both names begin with, with room for the rest.
func repeatedByPrefix(r *lookup.RepeatedBy) []byte {
	b := make([]byte, 0, 64)
	b = appendOrdered(appendOrdered(b, r.Later.Source), r.Later.Post)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Later.Sentence))
	return appendLikeness(append(b, r.Event[:]...), &r.Likeness)
}

// parseRepeatedBy reads what groupMember and authorMember write; group is that of the set, nil when the set is an author's.
func parseRepeatedBy(m Member, group *feed.Hash) (r lookup.RepeatedBy, err error) {
	rest := m.Name
	if r.Later.Source, rest, err = cutOrdered(rest); err != nil {
		return r, err
	}
	if r.Later.Post, rest, err = cutOrdered(rest); err != nil {
		return r, err
	}
	d := decoder{b: []byte(rest)}
	r.Later.Sentence, r.Later.Time = int(binary.BigEndian.Uint32(d.bytes(4))), m.Time
	r.Event, r.Likeness = d.hash(), d.likeness()
	if group == nil {
		r.Group = d.hash()
		return r, d.end()
	}
	r.Group, r.Later.Author, d.b = *group, string(d.b), nil
	return r, d.end()
}

//	likeness = number | 0 FF measure number number         by Jaccard alone; by another measure and by Jaccard
//
// No number begins with 0 FF.

// appendLikeness names the measure where it is not Jaccard.
func appendLikeness(dst []byte, l *lookup.Likeness) []byte {
	if l.Measure != "" {
		dst = appendNumber(appendString(append(dst, 0, 0xff), l.Measure), l.Similarity)
	}
	return appendNumber(dst, l.Jaccard)
}

// appendNumber writes a similarity as the fraction that it is, numerator and denominator as varints, when that gives
// back the same number; otherwise a 0 and its 8 bytes. Sentences have at most 256 tokens, so a fraction it is, but for
// most cosines.
func appendNumber(dst []byte, j float64) []byte {
	for den := 1.0; den <= 512; den++ {
		if num := math.Round(j * den); num/den == j && num > 0 {
			return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(num)), uint64(den))
		}
	}
	return binary.BigEndian.AppendUint64(append(dst, 0), math.Float64bits(j))
}

// decoder reads fields in turn; after the first that is not there all are zero and end says so.
type decoder struct {
	b   []byte
	bad bool
}

var zeroes [16]byte

// bytes returns the next n, at most 16 when there may be too few.
func (d *decoder) bytes(n int) []byte {
	if d.bad || n > len(d.b) {
		d.bad = true
		return zeroes[:min(n, len(zeroes))]
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count reads the number of things that follow, each of at least one byte.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) string() string { return string(d.bytes(d.count())) }

func (d *decoder) hash() feed.Hash { return feed.Hash(d.bytes(16)) }

func (d *decoder) likeness() (l lookup.Likeness) {
	if len(d.b) > 1 && d.b[0] == 0 && d.b[1] == 0xff {
		d.bytes(2)
		l.Measure, l.Similarity = d.string(), d.number()
	}
	l.Jaccard = d.number()
	return l
}

func (d *decoder) number() float64 {
	if num := d.uint(); num > 0 {
		if den := d.uint(); den > 0 {
			return float64(num) / float64(den)
		}
		d.bad = true
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(d.bytes(8)))
}

func (d *decoder) end() error {
	if d.bad || len(d.b) > 0 {
		return fmt.Errorf("%w: cut short or too long", errCorrupt)
	}
	return nil
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
