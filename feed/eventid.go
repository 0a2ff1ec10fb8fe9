package feed

import "encoding/binary"

// EventID names the match of a later sentence with a group, however often and by whomever it is found.
//
// Canonical bytes: scheme, source and post, each as an unsigned varint length and its bytes; the sentence
// index as an unsigned varint; the 16 bytes of the later sentence's group; the 16 bytes of the matched group.
// The id is their hash.
func EventID(scheme, source, post string, index int, later, group Hash) Hash {
	b := make([]byte, 0, 128)
	for _, s := range []string{scheme, source, post} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, uint64(index))
	b = append(b, later[:]...)
	b = append(b, group[:]...)
	return hashOf(b)
}
