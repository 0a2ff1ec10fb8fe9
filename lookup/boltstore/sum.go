package boltstore

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Every value has four bytes behind it: the lower half, little endian, of the xxh3-64 of the value, seeded with that of
// the key, seeded with that of the bucket's name. An entry that is somebody else's, or in another place, is damage too.

const sumSize = 4

func sum(bucket, key, value []byte) uint32 {
	return uint32(xxh3.HashSeed(value, xxh3.HashSeed(key, xxh3.Hash(bucket))))
}

func seal(bucket, key, value []byte) []byte {
	sealed := make([]byte, 0, len(value)+sumSize)
	return binary.LittleEndian.AppendUint32(append(sealed, value...), sum(bucket, key, value))
}

// unseal returns the value; never nil, which means absent.
func unseal(bucket, key, sealed []byte) ([]byte, error) {
	n := len(sealed) - sumSize
	if n < 0 || binary.LittleEndian.Uint32(sealed[n:]) != sum(bucket, key, sealed[:n]) {
		return nil, fmt.Errorf("%w: entry %x: checksum mismatch", errDamaged, key)
	}
	return sealed[:n:n], nil
}
