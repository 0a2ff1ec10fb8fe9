package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the largest zstd window that is accepted: a frame's header may ask for any amount of memory.
// It covers `zstd --long=28`.
const maxWindow = 256 << 20

// gzipMemory is what a gzip reader holds: its window and tables.
const gzipMemory = 64 << 10

// zstdOverhead is what a zstd decoder holds besides its window: blocks, literals and tables.
const zstdOverhead = 1 << 20

var (
	gzipMagic      = []byte{0x1f, 0x8b}
	zstdMagic      = []byte{0x28, 0xb5, 0x2f, 0xfd}
	skippableMagic = []byte{0x2a, 0x4d, 0x18} // after a first byte of 0x50 to 0x5f
)

// decompressed is a stream of plain bytes.
type decompressed struct {
	io.Reader
	memory int64  // bytes that decompressing holds
	close  func() // releases it
}

// decompress looks at the first bytes of r, whatever the name says, and unpacks gzip and zstd. A name that
// promises compression is held to it.
func decompress(r *bufio.Reader, name string) (*decompressed, error) {
	head, err := r.Peek(zstd.HeaderMaxSize)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return openGzip(r)
	case isZstd(head):
		return openZstd(r, head)
	}
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".gz", ".zst":
		return nil, fmt.Errorf("no %s data, though the name ends in %s", ext[1:], ext)
	}
	return &decompressed{Reader: r, close: func() {}}, nil
}

// errCut says that a compressed file ends before its data do: it was not copied, or not written, to its end.
var errCut = errors.New("the compressed file is cut short")

// errBehind says that something else follows compressed data, which may be what a copy or a script has appended.
var errBehind = errors.New("bytes behind the end of the compressed data that are not compressed")

// reasonOf gives the error of decompressing a file that does not end where its data do its name. Plain files have no such error.
func reasonOf(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCut
	case errors.Is(err, zstd.ErrMagicMismatch): // the first frame has its magic
		return errBehind
	}
	return err
}

func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, zstdMagic) ||
		len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], skippableMagic)
}

func openGzip(r *bufio.Reader) (*decompressed, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", reasonOf(err))
	}
	z.Multistream(false)
	return &decompressed{Reader: &members{z, r}, memory: gzipMemory, close: func() { _ = z.Close() }}, nil
}

// members unpacks the members of a gzip file, one after the other, and tells what is none from one that is cut.
type members struct {
	*gzip.Reader
	from *bufio.Reader
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.Reader.Read(p)
		if err == io.EOF {
			err = m.next()
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
	}
}

// next begins the next member, or returns io.EOF.
func (m *members) next() error {
	head, err := m.from.Peek(len(gzipMagic))
	if len(head) == 0 {
		return err
	}
	if !bytes.HasPrefix(gzipMagic, head) {
		return errBehind
	}
	err = m.Reset(m.from)
	m.Multistream(false)
	return err
}

// openZstd decodes in the caller's goroutine: reading ahead holds another window's worth of blocks, and gains
// nothing where the detector is what takes the time.
func openZstd(r io.Reader, head []byte) (*decompressed, error) {
	window, err := zstdWindow(head)
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &decompressed{Reader: z, memory: window + zstdOverhead, close: z.Close}, nil
}

// zstdWindow is the window that the first frame asks for; the most allowed if it does not say.
func zstdWindow(head []byte) (int64, error) {
	var h zstd.Header
	err := h.Decode(head)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return maxWindow, nil // cut within the header: reading reports it
	case err != nil:
		return 0, err
	case h.Skippable:
		return maxWindow, nil
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	if window > maxWindow {
		return 0, fmt.Errorf("a window of %d bytes, and the limit is %d: unpack it first, as in zstd -dc --long=31 FILE | refrain detect -", window,
			int64(maxWindow))
	}
	return int64(window), nil
}
