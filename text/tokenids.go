package text

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// ID is the 64-bit id of a normalised token: mix of its bytes where there are up to 8 of them, 8 bytes of its SHA-256 where
// there are more, all read little endian. So no two short tokens share an id, and whoever wants another token of the id
// of a given one has to try 2⁶⁴ long ones. A fast hash with a public seed will not do: a second preimage of xxh3 takes
// seconds.
func ID(token string) uint64 { return idOf([]byte(token)) }

func idOf(token []byte) uint64 {
	if len(token) > 8 {
		return hashOf(token)
	}
	return mix(padded(token)) // a token has no byte 0, so its length needs no place
}

// padded reads up to 8 bytes: with what follows them in the buffer, where there is something, which is then shifted out.
func padded(token []byte) uint64 {
	if cap(token) >= 8 {
		unused := 64 - 8*len(token)
		return binary.LittleEndian.Uint64(token[:8]) << unused >> unused
	}
	var all [8]byte
	copy(all[:], token)
	return binary.LittleEndian.Uint64(all[:])
}

// hashOf is the first 8 bytes of the token's SHA-256 that are no short token's id: one such could be found by inverting mix.
// Of 64 random bits one in 110 passes for UTF-8, and is left out.
func hashOf(token []byte) (id uint64) {
	sum := sha256.Sum256(token)
	for rest := sum[:]; len(rest) > 0; rest = rest[8:] {
		if id = binary.LittleEndian.Uint64(rest); !mayBeShort(id) {
			break
		}
	}
	return id
}

// mayBeShort reports whether id is what mix makes of UTF-8.
func mayBeShort(id uint64) bool {
	all := binary.LittleEndian.AppendUint64(make([]byte, 0, 8), unmix(id))
	return utf8.Valid(bytes.TrimRight(all, "\x00"))
}

// mix is a bijection that makes numbers look like hashes: the output function of SplitMix64 (Steele, Lea and Flood,
// Fast splittable pseudorandom number generators, OOPSLA 2014, figure 17).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unmix is the inverse of mix.
func unmix(x uint64) uint64 {
	x = (x ^ x>>31 ^ x>>62) * 0x319642b2d24d8ec3
	x = (x ^ x>>27 ^ x>>54) * 0x96de1b173f119089
	return x ^ x>>30 ^ x>>60
}

// ids remembers the ids of long tokens that have come up, each in the one place where it can stand: hashing is a third
// of the work on a text whose words are long.
type ids []remembered

type remembered struct {
	id    uint64
	size  uint8
	token [31]byte
}

const idCacheSize = 4096

// of is idOf.
func (m *ids) of(token []byte) uint64 {
	if len(token) <= 8 || len(token) > len(remembered{}.token) {
		return idOf(token)
	}
	if *m == nil {
		*m = make(ids, idCacheSize)
	}
	first, last := binary.LittleEndian.Uint64(token), binary.LittleEndian.Uint64(token[len(token)-8:])
	r := &(*m)[mix(first^bits.RotateLeft64(last, 29))%idCacheSize]
	if !bytes.Equal(r.token[:r.size], token) {
		r.id, r.size = idOf(token), uint8(copy(r.token[:], token))
	}
	return r.id
}
