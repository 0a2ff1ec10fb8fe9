package blocks

// Summed is a file of a stream with its checksum.
func Summed(stream string, b []byte) []byte {
	h := newHash(stream)
	h.Write(b)
	return h.Sum(b)
}
