package topic

import (
	"encoding/binary"
	"errors"
	"fmt"

	"refrain/feed"

	"github.com/zeebo/xxh3"
)

// The control record: which posts were deleted, and which authors with all that they had posted until then.
//
//	record    = magic:2 "RT"  format:1 =2  #tombstones:u tombstone*  checksum:8
//	tombstone = kind:1 (0 a post, 1 an author)  length:u source  length:u post or author
//
// :u is an unsigned varint; checksum is the xxh3-64 of all bytes before it, little endian. Nothing follows it.
// The strings are bytes as they came, for ids compare as bytes.

var (
	// ErrTombstones says that a control record cannot be read.
	ErrTombstones = errors.New("not a control record")
	// ErrTombstonesCorrupt says so of one that is not as it was written: it will never be readable. It is an ErrTombstones.
	ErrTombstonesCorrupt = fmt.Errorf("%w: damaged", ErrTombstones)
)

const (
	tombstoneHead = "RT\x02"

	minTombstone    = 3 // kind, two lengths
	postTombstone   = 0
	authorTombstone = 1
)

// AppendTombstones appends a control record to dst.
func AppendTombstones(dst []byte, deleted []feed.Tombstone) []byte {
	from := len(dst)
	dst = append(dst, tombstoneHead...)
	dst = binary.AppendUvarint(dst, uint64(len(deleted)))
	for _, t := range deleted {
		kind, name := byte(postTombstone), t.Post
		if t.Author != "" {
			kind, name = authorTombstone, t.Author
		}
		dst = appendShort(appendShort(append(dst, kind), t.Source), name)
	}
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst[from:]))
}

func appendShort(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// DecodeTombstones reads what AppendTombstones writes.
func DecodeTombstones(data []byte) ([]feed.Tombstone, error) {
	body := len(data) - checksumSize
	if body < 0 || xxh3.Hash(data[:body]) != binary.LittleEndian.Uint64(data[body:]) {
		return nil, fmt.Errorf("%w: checksum mismatch", ErrTombstonesCorrupt)
	}
	if body >= len(tombstoneHead) && string(data[:len(tombstoneHead)]) == "RT\x01" {
		return nil, fmt.Errorf("%w: format 1, of a version before the first release: start with an empty data directory",
			ErrTombstones)
	}
	if body < len(tombstoneHead) || string(data[:len(tombstoneHead)]) != tombstoneHead {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrTombstones, tombstoneHead)
	}
	rest := data[len(tombstoneHead):body]
	count, n := binary.Uvarint(rest)
	if n <= 0 || count > uint64(len(rest)/minTombstone) {
		return nil, fmt.Errorf("%w: count", ErrTombstones)
	}
	rest = rest[n:]
	deleted := make([]feed.Tombstone, count)
	for i := range deleted {
		var ok bool
		if deleted[i], rest, ok = cutTombstone(rest); !ok {
			return nil, fmt.Errorf("%w: tombstone %d", ErrTombstones, i)
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrTombstones, len(rest))
	}
	return deleted, nil
}

func cutTombstone(b []byte) (t feed.Tombstone, rest []byte, ok bool) {
	if len(b) == 0 || b[0] > authorTombstone {
		return t, b, false
	}
	source, rest, okSource := cutShort(b[1:])
	name, rest, okName := cutShort(rest)
	t = feed.Tombstone{Source: source, Post: name}
	if b[0] == authorTombstone {
		t.Post, t.Author = "", name
	}
	return t, rest, okSource && okName && (b[0] == postTombstone || name != "")
}

func cutShort(b []byte) (s string, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return "", b, false
	}
	return string(b[n : n+int(size)]), b[n+int(size):], true
}
