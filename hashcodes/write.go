package hashcodes

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

// Write writes the model in the format drawn in format.go.
func (m *Model) Write(w io.Writer) error {
	sum := xxh3.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10)
	out.Write(m.appendHeader(nil)) // a bufio.Writer keeps its first error for Flush
	var buf []byte
	previous := ^uint64(0)
	for e := range m.Entries() {
		buf = appendEntry(buf[:0], previous, e)
		out.Write(buf)
		previous = e.Token
	}
	err := out.Flush()
	if err != nil {
		return fmt.Errorf("write model: %w", err)
	}
	_, err = w.Write(binary.LittleEndian.AppendUint64(nil, sum.Sum64()))
	if err != nil {
		return fmt.Errorf("write model: checksum: %w", err)
	}
	return nil
}

func (m *Model) appendHeader(b []byte) []byte {
	b = append(b, magic...)
	b = binary.AppendUvarint(b, formatVersion)
	b = binary.AppendUvarint(b, uint64(m.about.TextVersion))
	b = binary.AppendUvarint(b, uint64(m.about.Bits))
	b = binary.AppendUvarint(b, uint64(m.about.Ones))
	b = appendString(b, m.about.Learner)
	b = binary.LittleEndian.AppendUint64(b, m.about.Seed)
	b = appendString(b, m.about.TrainedOn)
	return binary.AppendUvarint(b, uint64(m.Len()))
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendEntry(b []byte, previous uint64, e Entry) []byte {
	b = binary.AppendUvarint(b, e.Token-previous-1)
	b = binary.AppendUvarint(b, uint64(e.Frequency))
	if e.Hashed {
		return append(b, hashedCode)
	}
	b = append(b, uint8(len(e.Positions)))
	return append(b, e.Positions...)
}
