package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/text"
)

// collection is what all peers are given: token sets in the order of the stream, called rows from here on.
//
// On disk it is a folder of arrays without headers, little endian, so that numpy reads them as they are:
//
//	ends.u64     a row: where its tokens end in the two files below; they begin where those of the row before end
//	tokens.u64   ids of the tokens of each row, ascending
//	numbers.u32  the same tokens as numbers, ascending: the place of the id in order.u64, so rarest first
//	order.u64    all ids, rarest first
//	groups.u32   a row: the number of its token set; rows of one set have one number
//	codes.u32    a row: its signature, so many words of 32 bits
//
// Two rows {7, 9} and {9} are ends 2, 3; tokens 7, 9, 9; order 7, 9; numbers 0, 1, 1; groups 0, 1.
type collection struct {
	tokens  []uint64
	ends    []uint64
	numbers []uint32
	order   []uint64
	groups  []uint32
	codes   []uint32
	words   int // of a signature

	distinct int
	sources  []source
}

// source says how much of a file is in a collection.
type source struct {
	File  string `json:"file"`
	Posts int    `json:"posts"`
	Rows  int    `json:"rows"`
}

func (c *collection) rows() int { return len(c.ends) }

func (c *collection) set(row int) []uint64 {
	begin, end := c.bounds(row)
	return c.tokens[begin:end]
}

func (c *collection) bounds(row int) (begin, end uint64) {
	if row > 0 {
		begin = c.ends[row-1]
	}
	return begin, c.ends[row]
}

// mix takes sentences from all streams in proportion to their lengths, each in its order, so that every piece of the
// collection holds all languages alike. It ends before the set that would be one more than distinct. Of one set it takes
// so many copies at most: some templates come ten thousand times, and their pairs would be most of the answer. Rows, if not
// 0, is where it ends at the latest.
func mix(streams []*stream, distinct, copies, rows int) *collection {
	c := &collection{}
	for _, s := range streams {
		c.sources = append(c.sources, source{File: s.name, Posts: s.posts})
	}
	type known struct{ number, copies uint32 }
	groups := map[feed.Hash]known{}
	taken := make([]int, len(streams))
	for rows == 0 || c.rows() < rows {
		at := next(streams, taken)
		if at < 0 {
			break
		}
		set := streams[at].set(taken[at])
		taken[at]++
		group := feed.GroupHash(set)
		k, seen := groups[group]
		if !seen && len(groups) == distinct {
			break
		}
		if !seen {
			k.number = uint32(len(groups))
		}
		k.copies++
		groups[group] = k
		if int(k.copies) <= copies {
			c.add(set, k.number)
			c.sources[at].Rows++
		}
	}
	c.distinct = len(groups)
	return c
}

// next is the stream of which the smallest share is taken; -1 when all are at their end.
func next(streams []*stream, taken []int) int {
	best := -1
	for i, s := range streams {
		if taken[i] < s.len() && (best < 0 || taken[i]*streams[best].len() < taken[best]*s.len()) {
			best = i
		}
	}
	return best
}

func (c *collection) add(set []uint64, group uint32) {
	c.tokens = append(c.tokens, set...)
	c.ends = append(c.ends, uint64(len(c.tokens)))
	c.groups = append(c.groups, group)
}

// number orders the tokens, rarest first and ties by id, and numbers them.
func (c *collection) number() {
	frequency := map[uint64]int{}
	for _, id := range c.tokens {
		frequency[id]++
	}
	c.order = make([]uint64, 0, len(frequency))
	for id := range frequency {
		c.order = append(c.order, id)
	}
	slices.SortFunc(c.order, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(frequency[a], frequency[b]), cmp.Compare(a, b))
	})
	for n, id := range c.order {
		frequency[id] = n
	}
	c.numbers = make([]uint32, len(c.tokens))
	for i, id := range c.tokens {
		c.numbers[i] = uint32(frequency[id])
	}
	for row := range c.ends {
		begin, end := c.bounds(row)
		slices.Sort(c.numbers[begin:end])
	}
}

// sign makes the signatures: the OR of MD5 codes.
func (c *collection) sign(bits, ones int) error {
	model, err := hashcodes.NewMD5(bits, ones)
	if err != nil {
		return err
	}
	c.words = model.Words()
	codes := make([]uint32, c.words*len(c.order))
	for n, id := range c.order {
		model.Code(codes[n*c.words:(n+1)*c.words], id)
	}
	c.codes = make([]uint32, c.words*c.rows())
	for row := range c.ends {
		signature := c.codes[row*c.words : (row+1)*c.words]
		begin, end := c.bounds(row)
		for _, n := range c.numbers[begin:end] {
			for w := range signature {
				signature[w] |= codes[int(n)*c.words+w]
			}
		}
	}
	return nil
}

// write writes the files of a collection.
func (c *collection) write(folder string) error {
	for name, values := range map[string]any{
		"ends.u64": c.ends, "tokens.u64": c.tokens, "numbers.u32": c.numbers,
		"order.u64": c.order, "groups.u32": c.groups, "codes.u32": c.codes,
	} {
		if err := writeArray(filepath.Join(folder, name), values); err != nil {
			return err
		}
	}
	return nil
}

// bytes is the size of the files.
func (c *collection) bytes() int64 {
	return 8*int64(len(c.tokens)+len(c.ends)+len(c.order)) + 4*int64(len(c.numbers)+len(c.groups)+len(c.codes))
}

// quantile is the size of a set that so large a part of the rows does not exceed.
func (c *collection) quantile(part float64) int {
	sizes := make([]int, c.rows())
	for row := range sizes {
		begin, end := c.bounds(row)
		sizes[row] = int(end - begin)
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[int(part*float64(len(sizes)-1))]
}

// similar says whether two rows reach a threshold, from the definition.
func (c *collection) similar(t text.Threshold, a, b int) bool {
	x, y := c.set(a), c.set(b)
	return text.Jaccard.At(t).Reaches(text.Intersection(x, y), len(x), len(y))
}

// writeArray writes a slice of fixed-size values.
func writeArray(path string, values any) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := binary.Write(w, binary.LittleEndian, values); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}

// readArray reads a whole file of values.
func readArray[T uint32 | uint64](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	values := make([]T, info.Size()/int64(binary.Size(T(0))))
	if err := binary.Read(bufio.NewReaderSize(f, 1<<20), binary.LittleEndian, values); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return values, nil
}
