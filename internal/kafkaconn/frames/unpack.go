package frames

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
)

const (
	compressed = 7 // the bits of the attributes that say how
	// maxUnpacked bounds a batch of records unpacked: a megabyte of zstd may be gigabytes, and the library unpacks all.
	maxUnpacked = 64 << 20
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// unpack hands the records of a batch to use, unpacked. They are valid until it returns.
func unpack(attributes uint16, b []byte, use func([]byte) error) error {
	how := compress.Compression(attributes & compressed)
	if how == compress.None {
		return use(b)
	}
	out := buffers.Get().(*bytes.Buffer)
	defer release(out)
	out.Reset()
	if err := unpackInto(out, how, b); err != nil {
		return fmt.Errorf("%s: %w", how, err)
	}
	return use(out.Bytes())
}

// release retains a buffer for the next one, but not that of an unusual batch.
func release(out *bytes.Buffer) {
	if out.Cap() <= maxRetainedBuffer {
		buffers.Put(out)
	}
}

func unpackInto(out *bytes.Buffer, how compress.Compression, b []byte) error {
	if how == compress.Snappy {
		if err := checkSnappy(b); err != nil {
			return err
		}
	}
	r, err := reader(how, bytes.NewReader(b))
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := out.ReadFrom(io.LimitReader(r, maxUnpacked+1))
	if err != nil {
		return err
	}
	if n > maxUnpacked {
		return fmt.Errorf("a batch that unpacks to more than %d bytes", maxUnpacked)
	}
	return nil
}

func reader(how compress.Compression, b io.Reader) (io.ReadCloser, error) {
	if how == compress.Zstd {
		return newZstd(b)
	}
	codec := how.Codec()
	if codec == nil {
		return nil, fmt.Errorf("compression %d, which does not exist", how)
	}
	return codec.NewReader(b), nil
}

// decoders of zstd are costly to make.
var decoders sync.Pool

// pooled is a decoder that Close puts back.
type pooled struct{ *zstd.Decoder }

// newZstd has limits that the library's decoder lacks: what the header of a frame asks for is allocated.
func newZstd(b io.Reader) (io.ReadCloser, error) {
	if d, ok := decoders.Get().(*zstd.Decoder); ok {
		return pooled{d}, d.Reset(b)
	}
	d, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked),
		zstd.WithDecoderMaxWindow(maxUnpacked))
	return pooled{d}, err
}

func (p pooled) Close() error {
	err := p.Reset(nil)
	decoders.Put(p.Decoder)
	return err
}

// xerial begins the blocks of snappy that Java's library writes, each with its length before it.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHead = 16

// checkSnappy adds up what the blocks say of their size, for which room is made.
func checkSnappy(b []byte) error {
	if !bytes.HasPrefix(b, xerial) || len(b) < xerialHead {
		return checkBlock(b)
	}
	for b = b[xerialHead:]; len(b) >= 4; {
		n := int64(binary.BigEndian.Uint32(b))
		if n > int64(len(b)-4) {
			return fmt.Errorf("a block of %d bytes, and %d are left", n, len(b)-4)
		}
		if err := checkBlock(b[4 : 4+n]); err != nil {
			return err
		}
		b = b[4+n:]
	}
	return nil
}

func checkBlock(b []byte) error {
	n, err := snappy.DecodedLen(b)
	if err != nil {
		return err
	}
	if n > maxUnpacked {
		return fmt.Errorf("a block that says it unpacks to %d bytes, and the limit is %d", n, maxUnpacked)
	}
	return nil
}
