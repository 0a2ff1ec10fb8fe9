package jetstream

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"refrain/topic"
)

// Coding is how the data of a topic's messages is compressed. It may differ from one start to the next: each message
// says its own, and one without is as it was appended.
type Coding string

const (
	Plain Coding = ""     // not at all
	S2    Coding = "s2"   // quick
	Zstd  Coding = "zstd" // smaller, at three to five times the time
)

// headerCoding names the coding of a message whose data is compressed.
const headerCoding = "Refrain-Coding"

// codingHeader is what naming a coding costs: less saved is not worth it.
const codingHeader = len(headerCoding) + len(": zstd\r\n")

// maxPlain bounds what a message is decompressed to: no record of ours is larger. A larger one is not compressed, so
// a message that claims more was not written by us.
const maxPlain = 1 << 20

var (
	errNewerCoding  = errors.New("unknown coding")
	errCodedCorrupt = errors.New("compressed data is damaged")
)

// encodingRoom is where data is compressed before its size is known.
var encodingRoom = sync.Pool{New: func() any { return new([]byte) }}

// encode compresses the data of a message, where that saves more than it costs to say so.
func encode(m *nats.Msg, coding Coding) {
	if coding == Plain || len(m.Data) > maxPlain {
		return
	}
	room := encodingRoom.Get().(*[]byte)
	defer encodingRoom.Put(room)
	data := *room
	switch coding {
	case S2:
		data = s2.Encode(data, m.Data)
	case Zstd:
		data = zstdCoders().encoder.EncodeAll(m.Data, data[:0])
	}
	*room = data
	if len(data)+codingHeader < len(m.Data) {
		m.Data = bytes.Clone(data)
		m.Header[headerCoding] = []string{string(coding)}
	}
}

// decode returns the data of a message as it was before encode. It never makes more than maxPlain of it, whatever the
// data claims. An errNewerCoding is no damage: another version of this program can read the message.
func decode(h nats.Header, data []byte) ([]byte, error) {
	switch c := Coding(h.Get(headerCoding)); c {
	case Plain:
		return data, nil
	case S2:
		return decodeS2(data)
	case Zstd:
		return decodeZstd(data)
	default:
		return nil, fmt.Errorf("%w %q: it is of a newer version: start the version that wrote it", errNewerCoding, string(c))
	}
}

func decodeS2(data []byte) ([]byte, error) {
	size, err := s2.DecodedLen(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCodedCorrupt, err)
	}
	if size > maxPlain {
		return nil, tooMuch(fmt.Sprint(size))
	}
	plain, err := s2.Decode(nil, data) // it makes size bytes, or fails
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCodedCorrupt, err)
	}
	return plain, nil
}

func decodeZstd(data []byte) ([]byte, error) {
	plain, err := zstdCoders().decoder.DecodeAll(data, nil)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded), len(plain) > maxPlain:
		return nil, tooMuch("more")
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errCodedCorrupt, err)
	}
	return plain, nil
}

func tooMuch(size string) error {
	return fmt.Errorf("%w: %w: it claims %s bytes, of at most %d", errCodedCorrupt, topic.ErrTooLarge, size, maxPlain)
}

// coders are shared by all topics of the process, and safe for several goroutines.
type coders struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// zstdCoders are made when they are needed for the first time. Making them fails for wrong options alone.
var zstdCoders = sync.OnceValue(func() coders {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(maxPlain), zstd.WithLowerEncoderMem(true))
	d, err2 := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPlain), zstd.WithDecoderMaxWindow(maxPlain),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderConcurrency(0))
	if err := errors.Join(err, err2); err != nil {
		panic(fmt.Sprintf("jetstream: zstd: %v", err))
	}
	return coders{e, d}
})
