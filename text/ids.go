package text

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// ID is the 64-bit id of a normalised token: mix of its bytes where there are up to 8 of them, the first 8 bytes of its
// SHA-256 where there are more, both read little endian. So no two short tokens share an id, and whoever wants another
// token of the id of a given one has to try 2⁶⁴ long ones, unless it is one of the long tokens, one in 150,000, whose id is
// that of a short one too. A fast hash with a public seed will not do: a second preimage
// of xxh3 takes seconds.
func ID(token string) uint64 { return idOf([]byte(token)) }

func idOf(token []byte) uint64 {
	if len(token) > 8 {
		sum := sha256.Sum256(token)
		return binary.LittleEndian.Uint64(sum[:])
	}
	var all [8]byte // a token has no byte 0, so its length needs no place
	copy(all[:], token)
	return mix(binary.LittleEndian.Uint64(all[:]))
}

// mix is a bijection that makes numbers look like hashes: the output function of SplitMix64 (Steele, Lea and Flood,
// Fast splittable pseudorandom number generators, OOPSLA 2014, figure 17).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// ids remembers the ids of long tokens that have come up, each in the one place where it can stand: hashing is a third
// of the work on a text whose words are long.
type ids []remembered

type remembered struct {
	id    uint64
	size  uint8
	token [31]byte
}

const idsKept = 4096

// of is idOf.
func (m *ids) of(token []byte) uint64 {
	if len(token) <= 8 || len(token) > len(remembered{}.token) {
		return idOf(token)
	}
	if *m == nil {
		*m = make(ids, idsKept)
	}
	first, last := binary.LittleEndian.Uint64(token), binary.LittleEndian.Uint64(token[len(token)-8:])
	r := &(*m)[mix(first^bits.RotateLeft64(last, 29))%idsKept]
	if !bytes.Equal(r.token[:r.size], token) {
		r.id, r.size = idOf(token), uint8(copy(r.token[:], token))
	}
	return r.id
}
