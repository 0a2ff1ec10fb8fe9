package topic

import (
	"encoding/binary"
	"errors"
	"fmt"

	"refrain/feed"

	"github.com/zeebo/xxh3"
)

// The control record: which posts were deleted.
//
//	record    = magic:2 "RT"  format:1 =1  #tombstones:u tombstone*  checksum:8
//	tombstone = length:u source  length:u post
//
// :u is an unsigned varint; checksum is the xxh3-64 of all bytes before it, little endian. Nothing follows it.
// The strings are bytes as they came, for ids compare as bytes.

var (
	// ErrTombstones says that a control record cannot be read.
	ErrTombstones = errors.New("not a control record")
	// ErrTombstonesCorrupt says so of one that is not as it was written: it will never be readable. It is an ErrTombstones.
	ErrTombstonesCorrupt = fmt.Errorf("%w: damaged", ErrTombstones)
)

const tombstoneHead = "RT\x01"

// AppendTombstones appends a control record to dst.
func AppendTombstones(dst []byte, deleted []feed.Tombstone) []byte {
	from := len(dst)
	dst = append(dst, tombstoneHead...)
	dst = binary.AppendUvarint(dst, uint64(len(deleted)))
	for _, t := range deleted {
		dst = appendShort(appendShort(dst, t.Source), t.Post)
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
	if body < len(tombstoneHead) || string(data[:len(tombstoneHead)]) != tombstoneHead {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrTombstones, tombstoneHead)
	}
	rest := data[len(tombstoneHead):body]
	count, n := binary.Uvarint(rest)
	if n <= 0 || count > uint64(len(rest)) {
		return nil, fmt.Errorf("%w: count", ErrTombstones)
	}
	rest = rest[n:]
	deleted := make([]feed.Tombstone, count)
	for i := range deleted {
		var okSource, okPost bool
		deleted[i].Source, rest, okSource = cutShort(rest)
		deleted[i].Post, rest, okPost = cutShort(rest)
		if !okSource || !okPost {
			return nil, fmt.Errorf("%w: tombstone %d", ErrTombstones, i)
		}
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrTombstones, len(rest))
	}
	return deleted, nil
}

func cutShort(b []byte) (s string, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return "", b, false
	}
	return string(b[n : n+int(size)]), b[n+int(size):], true
}
