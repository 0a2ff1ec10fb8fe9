// Package chunks is a stream of bytes in a file that may be damaged: it is cut into chunks with a checksum each, and who
// reads it gets bytes that were written, up to where something is wrong.
//
//	file  = magic:4 format:1 chunk*
//	chunk = length:4 payload checksum:8
//
// Numbers are little endian. The highest bit of a length marks the last chunk, so that a file that was cut short is known;
// checksum is the xxh3-64 of length and payload, with the number of the chunk, from 0 on, as its seed, so that chunks that
// changed places are known. The three bytes "abc" as magic "RTST", format 1:
//
//	52 54 53 54  01  03 00 00 80  61 62 63  and 8 bytes of xxh3(03 00 00 80 61 62 63, seed 0)
package chunks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

// MaxChunk bounds a chunk, and so what is read before a checksum says whether a length was one.
const MaxChunk = 1 << 18

const (
	lastChunk = 1 << 31
	magicSize = 4
	headSize  = 4
	sumSize   = 8
)

// ErrDamaged says that a file is not as it was written.
var ErrDamaged = errors.New("damaged")

// FormatError says that a file is of a format that this program does not read.
type FormatError struct{ Format, Want byte }

func (e *FormatError) Error() string {
	return fmt.Sprintf("format %d: this program reads format %d", e.Format, e.Want)
}

// Writer writes a stream. Close ends it; what it is over is not closed.
type Writer struct {
	w      io.Writer
	buf    []byte // the chunk that is being filled, with its length before it
	number uint64
	err    error // the first one
}

// NewWriter begins a stream. magic has 4 bytes.
func NewWriter(w io.Writer, magic string, format byte) *Writer {
	c := &Writer{w: w, buf: make([]byte, headSize, headSize+MaxChunk+sumSize)}
	c.write(append([]byte(magic), format))
	return c
}

// Write implements io.Writer.
func (c *Writer) Write(p []byte) (n int, err error) {
	for n < len(p) && c.err == nil {
		if len(c.buf) == headSize+MaxChunk {
			c.flush(0)
		}
		some := min(len(p)-n, headSize+MaxChunk-len(c.buf))
		c.buf = append(c.buf, p[n:n+some]...)
		n += some
	}
	return n, c.err
}

// Close writes the last chunk.
func (c *Writer) Close() error {
	if c.err == nil {
		c.flush(lastChunk)
	}
	return c.err
}

func (c *Writer) flush(mark uint32) {
	binary.LittleEndian.PutUint32(c.buf, uint32(len(c.buf)-headSize)|mark)
	c.write(binary.LittleEndian.AppendUint64(c.buf, xxh3.HashSeed(c.buf, c.number)))
	c.buf = c.buf[:headSize]
	c.number++
}

func (c *Writer) write(p []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(p)
	}
}

// Reader reads a stream. It holds one chunk at a time.
type Reader struct {
	r      io.Reader
	buf    []byte
	rest   []byte // of the chunk, not handed out yet
	number uint64
	last   bool
	err    error
}

// NewReader begins to read. Errors are of r, ErrDamaged or a *FormatError.
func NewReader(r io.Reader, magic string, format byte) (*Reader, error) {
	var head [magicSize + 1]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, cutShort(err)
	}
	if string(head[:magicSize]) != magic {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrDamaged, magic)
	}
	if head[magicSize] != format {
		return nil, &FormatError{head[magicSize], format}
	}
	return &Reader{r: r}, nil
}

// Read implements io.Reader. At the end of the stream it is io.EOF, never where a file was cut short.
func (c *Reader) Read(p []byte) (n int, err error) {
	for len(c.rest) == 0 {
		if c.fill(); c.err != nil {
			return 0, c.err
		}
	}
	n = copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// ReadByte implements io.ByteReader.
func (c *Reader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := c.Read(b[:])
	return b[0], err
}

func (c *Reader) fill() {
	switch {
	case c.err != nil:
	case c.last:
		c.err = io.EOF
	default:
		c.err = c.next()
	}
}

// next reads a chunk.
func (c *Reader) next() error {
	c.buf = append(c.buf[:0], make([]byte, headSize)...)
	if _, err := io.ReadFull(c.r, c.buf); err != nil {
		return cutShort(err)
	}
	length := binary.LittleEndian.Uint32(c.buf)
	size := int(length &^ lastChunk)
	if size > MaxChunk {
		return fmt.Errorf("%w: chunk %d has %d bytes", ErrDamaged, c.number, size)
	}
	c.buf = append(c.buf, make([]byte, size+sumSize)...)
	if _, err := io.ReadFull(c.r, c.buf[headSize:]); err != nil {
		return cutShort(err)
	}
	body := c.buf[:headSize+size]
	if xxh3.HashSeed(body, c.number) != binary.LittleEndian.Uint64(c.buf[len(body):]) {
		return fmt.Errorf("%w: chunk %d: checksum mismatch", ErrDamaged, c.number)
	}
	c.rest, c.last = body[headSize:], length&lastChunk != 0
	c.number++
	return nil
}

// cutShort is an error of a read at whose place there should be something.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut short", ErrDamaged)
	}
	return err
}
