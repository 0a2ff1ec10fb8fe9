package hashcodes

import (
	"crypto/md5"
	"encoding/binary"
)

// hashedPositions appends ones distinct bit positions below bits that depend on the token alone: the code of qSign.
//
// The 8 bytes of the token's id, little endian, are hashed with MD5. The 16 bytes of the digest are read in order,
// and each gives the position byte mod bits; a position that is used already is passed over. When the digest is
// used up before there are enough, it is hashed again, and reading goes on in the new digest. All bits (32, 64, 128,
// 256) divide 256, so a byte gives every position equally often, and passing over repeats keeps it so among the
// positions still free: every set of positions is equally likely.
//
// MD5 is what the method was published with; nothing here needs it to be secure.
func hashedPositions(dst []uint8, token uint64, bits, ones int) []uint8 {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], token)
	digest := md5.Sum(id[:])
	var used [8]uint32
	for {
		for _, b := range digest {
			if ones == 0 {
				return dst
			}
			p := b & uint8(bits-1)
			if mask := uint32(1) << (p % 32); used[p/32]&mask == 0 {
				used[p/32] |= mask
				dst = append(dst, p)
				ones--
			}
		}
		if ones == 0 {
			return dst
		}
		digest = md5.Sum(digest[:])
	}
}
