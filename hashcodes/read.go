package hashcodes

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zeebo/xxh3"
)

// Read reads a model that Write wrote, to the end of r. It holds no more memory than the bytes it has read call
// for, whatever counts the file claims, and an error names the byte it was found at.
func Read(r io.Reader) (*Model, error) {
	d := &decoder{in: bufio.NewReaderSize(r, 64<<10), sum: xxh3.New()}
	m, err := d.model()
	if err != nil {
		return nil, fmt.Errorf("read model: byte %d: %w", d.at, err)
	}
	return m, nil
}

// decoder reads a model file a byte at a time. The first error stops it.
type decoder struct {
	in  *bufio.Reader
	sum *xxh3.Hasher
	at  int64 // where the value being read begins
	off int64 // bytes read
	one [1]byte
}

func (d *decoder) model() (*Model, error) {
	about, err := d.header()
	if err != nil {
		return nil, err
	}
	err = about.validate()
	if err != nil {
		return nil, err
	}
	m := newModel(about)
	err = d.entries(m)
	if err != nil {
		return nil, err
	}
	return m, d.end()
}

func (d *decoder) header() (about Description, err error) {
	err = d.magic()
	if err != nil {
		return about, err
	}
	fields := []struct {
		name string
		max  uint64
		into *int
	}{
		{"text version", math.MaxInt32, &about.TextVersion},
		{"bits", 256, &about.Bits},
		{"ones", MaxOnes, &about.Ones},
	}
	for _, f := range fields {
		v, err := d.uvarint(f.name, f.max)
		if err != nil {
			return about, err
		}
		*f.into = int(v)
	}
	about.Learner, err = d.text("learner", maxLearner)
	if err != nil {
		return about, err
	}
	about.Seed, err = d.fixed("seed")
	if err != nil {
		return about, err
	}
	about.TrainedOn, err = d.text("training description", maxTrained)
	return about, err
}

// magic reads the magic bytes and the version behind them.
func (d *decoder) magic() error {
	d.at = d.off
	for i := range len(magic) {
		b, err := d.byte()
		if err != nil {
			return fmt.Errorf("magic: %w", err)
		}
		if b != magic[i] {
			return errors.New("not a model file")
		}
	}
	version, err := d.uvarint("version", math.MaxUint64)
	if err != nil {
		return err
	}
	if version != formatVersion {
		return fmt.Errorf("version %d of the format: this program reads version %d", version, formatVersion)
	}
	return nil
}

func (d *decoder) entries(m *Model) error {
	count, err := d.uvarint("entries", math.MaxUint64)
	if err != nil {
		return err
	}
	previous := ^uint64(0)
	for i := range count {
		e, err := d.entry(m, previous)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		err = m.add(e)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		previous = e.Token
	}
	return nil
}

func (d *decoder) entry(m *Model, previous uint64) (e Entry, err error) {
	// previous+1 wraps to 0 before the first entry; behind the greatest id there is no gap that fits.
	if previous == math.MaxUint64 && m.Len() > 0 {
		d.at = d.off
		return e, errors.New("gap: after the greatest token id")
	}
	gap, err := d.uvarint("gap", math.MaxUint64-(previous+1))
	if err != nil {
		return e, err
	}
	e.Token = previous + 1 + gap
	frequency, err := d.uvarint("frequency", math.MaxUint32)
	if err != nil {
		return e, err
	}
	e.Frequency = uint32(frequency)
	return e, d.code(&e, m.about.Ones)
}

func (d *decoder) code(e *Entry, max int) error {
	d.at = d.off
	n, err := d.byte()
	if err != nil {
		return fmt.Errorf("ones: %w", err)
	}
	if n == hashedCode {
		e.Hashed = true
		return nil
	}
	if int(n) > max {
		return fmt.Errorf("code with %d ones: want at most %d", n, max)
	}
	d.at = d.off
	e.Positions = make([]uint8, n) // n <= 8
	for i := range e.Positions {
		e.Positions[i], err = d.byte()
		if err != nil {
			return fmt.Errorf("positions: %w", err)
		}
	}
	return nil
}

// end checks the checksum and that nothing follows it.
func (d *decoder) end() error {
	want := d.sum.Sum64()
	got, err := d.fixed("checksum")
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("checksum mismatch: file says %016x, its bytes give %016x", got, want)
	}
	d.at = d.off
	_, err = d.byte()
	if err == nil {
		return errors.New("bytes after the checksum")
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return nil
}

func (d *decoder) text(name string, max uint64) (string, error) {
	n, err := d.uvarint(name+" length", max)
	if err != nil {
		return "", err
	}
	d.at = d.off
	var b []byte
	for range n {
		c, err := d.byte()
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		b = append(b, c)
	}
	return string(b), nil
}

// fixed reads 8 bytes, little endian.
func (d *decoder) fixed(name string) (uint64, error) {
	d.at = d.off
	var b [8]byte
	for i := range b {
		c, err := d.byte()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		b[i] = c
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// uvarint reads a number of at most max in its shortest form.
func (d *decoder) uvarint(name string, max uint64) (uint64, error) {
	d.at = d.off
	var v uint64
	for shift := 0; ; shift += 7 {
		b, err := d.byte()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if shift == 63 && b > 1 {
			return 0, fmt.Errorf("%s: number of more than 64 bits", name)
		}
		v |= uint64(b&0x7f) << shift
		if b&0x80 != 0 {
			continue
		}
		if b == 0 && shift > 0 {
			return 0, fmt.Errorf("%s: number not in its shortest form", name)
		}
		if v > max {
			return 0, fmt.Errorf("%s %d: want at most %d", name, v, max)
		}
		return v, nil
	}
}

// byte reads one byte into the checksum. The end of the input is io.ErrUnexpectedEOF.
func (d *decoder) byte() (byte, error) {
	b, err := d.in.ReadByte()
	if err == io.EOF {
		return 0, io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, err
	}
	d.off++
	d.one[0] = b
	d.sum.Write(d.one[:])
	return b, nil
}
