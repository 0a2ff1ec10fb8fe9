package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"slices"
)

// The pages of a bbolt file, read with care. bbolt itself trusts its file: over a damaged page it panics, also in
// goroutines of its own, where nobody can recover, or reads beyond the memory that it has mapped. So a file is walked
// here before bbolt gets it. The format (bbolt 1.5, 64 bit, little endian; all numbers unsigned):
//
//	file    = meta meta page*             a page is of pageSize bytes, or more (overflow)
//	page    = id:8 flags:2 count:2 overflow:4  element*count  data
//	meta    = id:8 flags:2 =4 :6  magic:4 version:4 =2 pageSize:4 :4 root:8 :8 freelist:8 pages:8 txid:8 fnv64a:8
//	branch  (flags 1): element = pos:4 ksize:4 page:8                 data = key*
//	leaf    (flags 2): element = flags:4 pos:4 ksize:4 vsize:4        data = (key value)*
//	bucket  (the value of a leaf's element with flag 1) = root:8 :8   or, with root 0, 0:8 :8 page
//
// pos counts from the element on. bbolt writes the data without gaps and takes no page more than it needs, so that
// whatever is not exactly so is damage. Keys rise within a page, and lie between the keys of the branches above.

const (
	headerSize   = 16 // of a page, an element and a bucket
	flagBranch   = 1
	flagLeaf     = 2
	flagMeta     = 4
	flagList     = 16
	noList       = math.MaxUint64 // there is no list of free pages
	metaSize     = 64
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	elementTree  = 1  // flag of an element whose value is a bucket
	maxDepth     = 64 // of branches; each has two children at least
	maxPageSize  = 1 << 24
	minPageSize  = 1 << 10
	maxPageBytes = 1 << 30 // of a page with what overflows
)

// meta is the part of a meta page that counts.
type meta struct {
	page                    int
	pageSize                int64
	root, list, pages, txid uint64
}

// Finding is a location in a file that is not as it was written.
type Finding struct {
	Offset int64
	Reason string
}

// entry is a key of a bucket with its value, and the offset of their page.
type entry struct {
	offset             int64
	bucket, key, value []byte
}

// level is the space for the page of one depth: those above it are still in use, no other is.
type level struct {
	page     []byte
	elements []element
}

// walker walks the pages of a file.
type walker struct {
	file   io.ReaderAt
	size   int64
	found  func(Finding) bool // false ends the walk
	entry  func(entry)        // nil: nobody wants them
	meta   meta
	seen   []uint64 // a bit for each page
	levels [maxDepth + 1]level
	over   bool
	bucket []byte

	bothMetas bool // a damaged meta page is a finding, even if the other one is whole
	unsummed  bool // the file is of the format whose entries have no sums
}

func (w *walker) report(offset int64, format string, args ...any) {
	if !w.over && !w.found(Finding{offset, fmt.Sprintf(format, args...)}) {
		w.over = true
	}
}

// walk visits all that can be reached. A meta page that is damaged is found only where both are wanted: bbolt goes by
// the other one, which stands for the state one transaction earlier.
func (w *walker) walk() {
	if !w.findMeta() {
		return
	}
	w.seen = make([]uint64, w.meta.pages/64+1)
	if w.meta.list != noList {
		w.freeList()
	}
	w.tree(w.meta.root, nil, nil, 0)
}

// freeList looks at the list of free pages, which only a file has that was never written to: it is empty.
func (w *walker) freeList() {
	b, at := make([]byte, headerSize), int64(w.meta.list)*w.meta.pageSize
	_, err := w.file.ReadAt(b, at)
	le := binary.LittleEndian
	if err != nil || le.Uint64(b) != w.meta.list || le.Uint16(b[8:]) != flagList || le.Uint16(b[10:]) != 0 ||
		le.Uint32(b[12:]) != 0 {
		w.report(at, "page %d: not an empty list of free pages", w.meta.list)
	}
}

func (w *walker) findMeta() bool {
	var metas []meta
	for page, at := range w.metaOffsets() {
		m, why := w.readMeta(page, at)
		if why == "" {
			metas = append(metas, m)
		} else if w.bothMetas {
			w.report(at, "meta page %d: %s", page, why)
		}
	}
	if len(metas) == 0 {
		w.report(0, "no meta page that can be read: this is no bbolt file, or its beginning is damaged")
		return false
	}
	w.meta = metas[0]
	if len(metas) == 2 && metas[1].txid > metas[0].txid {
		w.meta = metas[1]
	}
	if pages := uint64(w.size / w.meta.pageSize); w.meta.pages > pages {
		w.report(w.size, "cut short: %d pages of %d", pages, w.meta.pages)
		return false
	}
	return true
}

// metaOffsets is where the meta pages are: the size of the first one is in it, or else in the second one.
func (w *walker) metaOffsets() []int64 {
	if m, why := w.readMeta(0, 0); why == "" {
		return []int64{0, m.pageSize}
	}
	for size := int64(minPageSize); size <= maxPageSize; size *= 2 {
		if m, why := w.readMeta(1, size); why == "" && m.pageSize == size {
			return []int64{0, size}
		}
	}
	return []int64{0, int64(os.Getpagesize())}
}

func (w *walker) readMeta(page int, at int64) (m meta, why string) {
	b := make([]byte, headerSize+metaSize)
	if _, err := w.file.ReadAt(b, at); err != nil {
		return m, err.Error()
	}
	le, body := binary.LittleEndian, b[headerSize:]
	sum := fnv.New64a()
	sum.Write(body[:56])
	size := int64(le.Uint32(body[8:]))
	switch {
	case le.Uint32(body) != metaMagic || le.Uint32(body[4:]) != metaVersion:
		return m, "it does not begin as one of bbolt"
	case sum.Sum64() != le.Uint64(body[56:]):
		return m, "checksum mismatch"
	case le.Uint64(b) != uint64(page) || le.Uint16(b[8:]) != flagMeta:
		return m, "its header is not that of a meta page"
	case size < minPageSize || size > maxPageSize || size&(size-1) != 0:
		return m, fmt.Sprintf("pages of %d bytes", size)
	}
	return meta{page: page, pageSize: size, root: le.Uint64(body[16:]), list: le.Uint64(body[32:]),
		pages: le.Uint64(body[40:]), txid: le.Uint64(body[48:])}, ""
}

// tree visits the pages below one, whose keys are to be from low on and below high; nil is no bound.
func (w *walker) tree(id uint64, low, high []byte, depth int) {
	if w.over {
		return
	}
	at := int64(id) * w.meta.pageSize
	if id < 2 || id >= w.meta.pages || depth > maxDepth {
		w.report(0, "a page %d is named, of %d, %d deep", id, w.meta.pages, depth)
		return
	}
	b, err := w.readPage(id, at, &w.levels[depth])
	if err != nil {
		w.report(at, "page %d: %v", id, err)
		return
	}
	w.page(b, at, low, high, depth)
}

// readPage reads a page with what overflows, and marks it as seen.
func (w *walker) readPage(id uint64, at int64, to *level) ([]byte, error) {
	if to.page == nil {
		to.page = make([]byte, w.meta.pageSize)
	}
	b := to.page
	if _, err := w.file.ReadAt(b, at); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if got := le.Uint64(b); got != id {
		return nil, fmt.Errorf("it says that it is page %d", got)
	}
	n := uint64(le.Uint32(b[12:])) + 1
	if id+n > w.meta.pages || int64(n)*w.meta.pageSize > maxPageBytes {
		return nil, fmt.Errorf("it says that it has %d pages", n)
	}
	for i := id; i < id+n; i++ {
		if w.seen[i/64]&(1<<(i%64)) != 0 {
			return nil, fmt.Errorf("page %d is named twice", i)
		}
		w.seen[i/64] |= 1 << (i % 64)
	}
	if n == 1 {
		return b, nil
	}
	b = make([]byte, int64(n)*w.meta.pageSize)
	_, err := w.file.ReadAt(b, at)
	return b, err
}

// page visits what a page holds.
func (w *walker) page(b []byte, at int64, low, high []byte, depth int) {
	elements, used, why := split(b, w.levels[depth].elements)
	w.levels[depth].elements = elements
	if why == "" && int64(len(b)) != (used+w.meta.pageSize-1)/w.meta.pageSize*w.meta.pageSize {
		why = fmt.Sprintf("%d bytes in a place for %d", used, len(b))
	}
	if why == "" {
		why = order(elements, low, high)
	}
	if why != "" {
		w.report(at, "page %d: %s", at/w.meta.pageSize, why)
		return
	}
	if binary.LittleEndian.Uint16(b[8:]) == flagLeaf {
		w.leaf(elements, at, depth)
		return
	}
	for i, e := range elements {
		upper := high
		if i+1 < len(elements) {
			upper = elements[i+1].key
		}
		w.tree(e.page, e.key, upper, depth+1)
	}
}

type element struct {
	flags      uint32
	page       uint64
	key, value []byte
}

// split cuts a page into its elements, which are to lie one behind the other; used is where they end.
func split(b []byte, space []element) (elements []element, used int64, why string) {
	le := binary.LittleEndian
	flags, count := le.Uint16(b[8:]), int(le.Uint16(b[10:]))
	if flags != flagBranch && flags != flagLeaf || flags == flagBranch && count == 0 {
		return space, 0, fmt.Sprintf("neither a branch nor a leaf (flags %#x, %d elements)", flags, count)
	}
	end := headerSize * (1 + count)
	if end > len(b) {
		return space, 0, fmt.Sprintf("%d elements in %d bytes", count, len(b))
	}
	elements = slices.Grow(space[:0], count)[:count]
	for i := range elements {
		h := b[headerSize*(1+i):][:headerSize]
		e, pos, key, value := element{}, le.Uint32(h), le.Uint32(h[4:]), uint32(0)
		if flags == flagBranch {
			e.page = le.Uint64(h[8:])
		} else {
			e.flags, pos, key, value = pos, key, le.Uint32(h[8:]), le.Uint32(h[12:])
		}
		next := int64(end) + int64(key) + int64(value)
		if int64(headerSize*(1+i))+int64(pos) != int64(end) || key == 0 || next > int64(len(b)) || e.flags&^elementTree != 0 {
			return space, 0, fmt.Sprintf("element %d of %d is not where it belongs", i, count)
		}
		e.key, e.value = b[end:end+int(key)], b[end+int(key):next]
		elements[i], end = e, int(next)
	}
	return elements, int64(end), ""
}

// order says what is wrong with the order of keys.
func order(elements []element, low, high []byte) string {
	for i, e := range elements {
		switch {
		case i > 0 && bytes.Compare(elements[i-1].key, e.key) >= 0:
			return fmt.Sprintf("key %d is not above the one before it", i)
		case low != nil && bytes.Compare(e.key, low) < 0, high != nil && bytes.Compare(e.key, high) >= 0:
			return fmt.Sprintf("key %d does not belong into this page", i)
		}
	}
	return ""
}

func (w *walker) leaf(elements []element, at int64, depth int) {
	for _, e := range elements {
		switch {
		case w.over:
			return
		case e.flags&elementTree != 0:
			w.openBucket(e, at, depth)
			continue
		}
		w.check(entry{at, w.bucket, e.key, e.value})
		if w.entry != nil {
			w.entry(entry{at, w.bucket, e.key, e.value})
		}
	}
}

// openBucket visits a bucket of the file. There are none inside of others here.
func (w *walker) openBucket(e element, at int64, depth int) {
	if w.bucket != nil || len(e.value) < headerSize {
		w.report(at, "page %d: a bucket that cannot be one", at/w.meta.pageSize)
		return
	}
	w.bucket = e.key
	defer func() { w.bucket = nil }()
	root, inline := binary.LittleEndian.Uint64(e.value), e.value[headerSize:]
	if root != 0 && len(inline) == 0 {
		w.tree(root, nil, nil, depth+1)
		return
	}
	elements, why := splitInline(inline)
	if root != 0 {
		why = fmt.Sprintf("in a page of its own, %d, and not", root)
	}
	if why != "" {
		w.report(at, "page %d: bucket in it: %s", at/w.meta.pageSize, why)
		return
	}
	w.leaf(elements, at, depth)
}

// splitInline cuts the page of a bucket that lies within another's.
func splitInline(b []byte) (elements []element, why string) {
	le := binary.LittleEndian
	if len(b) < headerSize || le.Uint64(b) != 0 || le.Uint16(b[8:]) != flagLeaf || le.Uint32(b[12:]) != 0 {
		return nil, "its header is not that of a leaf"
	}
	elements, used, why := split(b, nil)
	if why == "" && used != int64(len(b)) {
		why = fmt.Sprintf("%d bytes of %d", used, len(b))
	}
	if why == "" {
		why = order(elements, nil, nil)
	}
	return elements, why
}
