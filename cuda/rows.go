package cuda

import (
	"errors"
	"fmt"
)

const (
	maxWords  = 32      // of a signature
	maxRows   = 1 << 31 // of a table: row numbers, and those of whole tiles, fit 32 bits
	chunkUnit = 2048    // rows: a multiple of every kernel's tile, so that whole tiles can be read
)

// Rows is a table of signatures in device memory, which grows at the end. It lies there in chunks, each by word planes;
// a chunk begins as large as all before it.
type Rows struct {
	device *Device
	words  int
	hint   int // rows that the first chunk is to hold
	freed  bool
	length int
	chunks []chunk
}

// chunk holds some rows: word w of row i of it is at memory.at + 4 (w stride + i).
type chunk struct {
	memory block
	first  int // number of its first row
	stride int // rows that it has room for
}

// NewRows makes an empty table of signatures of so many words of 32 bits, 1 to 32. Room for hint rows is made by the first
// Append.
func (d *Device) NewRows(words, hint int) (*Rows, error) {
	if words < 1 || words > maxWords {
		return nil, fmt.Errorf("new rows: %d words a signature, want 1 to %d", words, maxWords)
	}
	if err := d.choose(words); err != nil {
		return nil, fmt.Errorf("new rows: %w", err)
	}
	return d.newRows(words, hint), nil
}

func (d *Device) newRows(words, hint int) *Rows {
	r := &Rows{device: d, words: words, hint: hint}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tables[r] = struct{}{}
	return r
}

// Len is the number of rows.
func (r *Rows) Len() int {
	r.device.mu.Lock()
	defer r.device.mu.Unlock()
	return r.length
}

// Words is the number of words of a signature.
func (r *Rows) Words() int { return r.words }

// Append adds rows; planes[w][row] is word w of a row. It returns when the planes have been read, not when they have
// arrived: scans that begin later see them. After ErrMemory the table is as before.
func (r *Rows) Append(planes [][]uint32) error {
	r.check(planes)
	d := r.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || r.freed {
		return fmt.Errorf("append rows: %w", errClosed)
	}
	if err := d.within(func() error { return r.append(planes, len(planes[0])) }); err != nil {
		return fmt.Errorf("append rows: %w", err)
	}
	return nil
}

func (r *Rows) check(planes [][]uint32) {
	if len(planes) != r.words {
		panic("cuda: want one plane for each word of a signature")
	}
	for _, plane := range planes[1:] {
		if len(plane) != len(planes[0]) {
			panic("cuda: planes of different length")
		}
	}
}

func (r *Rows) append(planes [][]uint32, n int) error {
	if err := r.grow(n); err != nil {
		return err
	}
	for done := 0; done < n; {
		c := r.holding(r.length + done)
		at := r.length + done - c.first
		count := min(n-done, c.stride-at)
		for w, plane := range planes {
			to := c.memory.at + 4*uint64(w*c.stride+at)
			if err := r.device.upload(to, plane[done:done+count]); err != nil {
				return err
			}
		}
		done += count
	}
	r.length += n
	return nil
}

// holding is the chunk that has room for row number i.
func (r *Rows) holding(i int) *chunk {
	for n := len(r.chunks) - 1; ; n-- {
		if c := &r.chunks[n]; c.first <= i {
			return c
		}
	}
}

// grow makes room for n rows more.
func (r *Rows) grow(n int) error {
	if uint64(r.length)+uint64(n) > maxRows {
		return fmt.Errorf("%d rows and %d more, want at most %d", r.length, n, uint32(maxRows))
	}
	need := r.length + n - r.room()
	if need <= 0 {
		return nil
	}
	err := r.addChunk(max(need, r.hint, min(r.length, r.device.sizes.chunk)))
	if errors.Is(err, ErrMemory) {
		err = r.addChunk(need)
	}
	r.hint = 0
	return err
}

// room is the number of rows that there is room for.
func (r *Rows) room() int {
	if len(r.chunks) == 0 {
		return 0
	}
	last := r.chunks[len(r.chunks)-1]
	return last.first + last.stride
}

func (r *Rows) addChunk(rows int) error {
	c := chunk{first: r.room(), stride: roundUp(rows, chunkUnit)}
	var err error
	if c.memory, err = r.device.allocate(4 * int64(r.words) * int64(c.stride)); err != nil {
		return err
	}
	r.chunks = append(r.chunks, c)
	return nil
}

// Free gives the memory back. It waits for scans. A second Free does nothing, nor does one on a lost device, where
// there is nothing left to give back.
func (r *Rows) Free() error {
	d := r.device
	d.use.Lock()
	defer d.use.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.freed || d.closed {
		return nil
	}
	err := d.within(r.free)
	if err == nil || errors.Is(err, ErrDeviceLost) {
		return nil
	}
	return fmt.Errorf("free rows: %w", err)
}

// free waits for copies into the rows.
func (r *Rows) free() error {
	d := r.device
	err := d.awaitStream(d.staging.stream)
	for _, c := range r.chunks {
		err = errors.Join(err, d.release(c.memory))
	}
	r.chunks, r.length, r.freed = nil, 0, true
	delete(d.tables, r)
	return err
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
