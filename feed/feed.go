// Package feed holds the words of the program: posts, sentences, matches and events, and their JSON.
//
// Everything that travels between the other packages is one of these values. They are plain data: nothing
// here reads, writes, compares or decides.
package feed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// Time is milliseconds since 1970-01-01T00:00:00 UTC: the event time of a post.
type Time int64

// FromTime drops what is finer than a millisecond.
func FromTime(t time.Time) Time { return Time(t.UnixMilli()) }

// Time returns t as a time.Time in UTC.
func (t Time) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add returns t moved by d, cut to milliseconds.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// timeLayout is RFC 3339 with the milliseconds only where there are some: finer than that no Time is.
const timeLayout = time.RFC3339Nano // the library writes this one without reading the layout

// String writes t as RFC 3339 in UTC, with milliseconds only where there are some.
func (t Time) String() string { return t.Time().Format(timeLayout) }

// Hash is the first 128 bits of a SHA-256: the name of a group (its token set) or of an event. Nobody can make a text of
// the hash of another's.
type Hash [16]byte

// String is the 32 lower-case hex digits of h.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash reads what Hash.String writes.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return Hash{}, fmt.Errorf("hash %q: want %d hex digits", s, 2*len(h))
	}
	_, err := hex.Decode(h[:], []byte(s))
	if err != nil {
		return Hash{}, fmt.Errorf("hash %q: %w", s, err)
	}
	return h, nil
}

// Partition is the one of n that what is named h belongs to: its first 8 bytes, big endian, modulo n. All
// occurrences of a group meet in one partition by it.
func (h Hash) Partition(n int) int { return int(binary.BigEndian.Uint64(h[:8]) % uint64(n)) }

func hashOf(b []byte) Hash {
	sum := sha256.Sum256(b)
	return Hash(sum[:16])
}

// GroupHash names a token set: the hash of its ids, ascending, each 8 bytes little endian.
func GroupHash(set []uint64) Hash {
	b := make([]byte, 0, 8*64)
	for _, id := range set {
		b = binary.LittleEndian.AppendUint64(b, id)
	}
	return hashOf(b)
}
