package backfill

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"refrain/feed"
)

// passFiles are the events of a slice as several passes find them: each pass, with its part of the groups, writes a file of
// frames in their order, and in the end they are merged.
type passFiles struct {
	b     *backfill
	start feed.Time
	paths []string
	begun int          // files, as names count them
	open  *frameWriter // the file that is being written
}

func (b *backfill) newPassFiles(start feed.Time) *passFiles { return &passFiles{b: b, start: start} }

// begin begins the next file.
func (p *passFiles) begin() error {
	p.begun++
	path := filepath.Join(p.b.dir.scratch(), fmt.Sprintf("%s.pass-%d", stampOf(p.start), p.begun))
	file, err := p.b.cfg.create(path)
	if err != nil {
		return err
	}
	p.paths = append(p.paths, path)
	p.open = &frameWriter{file: file, w: bufio.NewWriterSize(file, 256<<10)}
	return nil
}

func (p *passFiles) write(f *frame) error { return p.open.write(f) }

// end ends the file.
func (p *passFiles) end() error {
	err := errors.Join(p.open.w.Flush(), p.open.file.Close())
	p.open = nil
	return err
}

// merge visits the events of all passes in order, and removes the files.
func (p *passFiles) merge(visit func(*frame) error) error {
	left, err := mergeDown(p.paths, p.b.cfg.fanIn(), p.mergeGroup)
	if err == nil {
		err = eachFrame(left, visit)
	}
	if err == nil {
		p.remove()
	}
	return err
}

// mergeGroup writes one file of several.
func (p *passFiles) mergeGroup(paths []string) (merged string, err error) {
	if err := p.begin(); err != nil {
		return "", err
	}
	if err := eachFrame(paths, p.write); err != nil {
		return "", err
	}
	return p.paths[len(p.paths)-1], p.end()
}

// remove removes what there is of the files.
func (p *passFiles) remove() {
	if p == nil {
		return
	}
	if p.open != nil {
		_ = p.open.file.Close() // it is of no use any more
	}
	for _, path := range p.paths {
		_ = os.Remove(path)
	}
}

// eachFrame visits the frames of files in order.
func eachFrame(paths []string, visit func(*frame) error) error {
	var readers []*frameReader
	defer func() {
		for _, r := range readers {
			_ = r.file.Close() // it was only read
		}
	}()
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		readers = append(readers, &frameReader{file: file, r: bufio.NewReaderSize(file, blockBytes)})
	}
	m, err := newMerger(readers)
	if err != nil {
		return err
	}
	return m.each(func(r *frameReader) error { return visit(&r.frame) })
}

// frame is an event as a pass has written it: 8 bytes number of the sentence, 16 its group, 16 the event's id, 4 size of the
// line, and the line.
type frame struct {
	sentence uint64
	group    [16]byte
	id       feed.Hash
	line     []byte
}

const frameHead = 8 + 16 + 16 + 4

type frameWriter struct {
	file io.WriteCloser
	w    *bufio.Writer
	head [frameHead]byte
}

func (w *frameWriter) write(f *frame) error {
	head := binary.LittleEndian.AppendUint64(w.head[:0], f.sentence)
	head = append(append(head, f.group[:]...), f.id[:]...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(f.line)))
	_, err := w.w.Write(head)
	_, errLine := w.w.Write(f.line)
	return errors.Join(err, errLine)
}

// frameReader is at one frame of a file.
type frameReader struct {
	frame
	file *os.File
	r    *bufio.Reader
	head [frameHead]byte
}

// advance reads the next frame.
func (r *frameReader) advance() (bool, error) {
	if _, err := io.ReadFull(r.r, r.head[:]); err != nil {
		return false, ignoreEOF(err)
	}
	r.sentence = binary.LittleEndian.Uint64(r.head[:])
	r.group, r.id = [16]byte(r.head[8:]), feed.Hash(r.head[24:])
	size := int(binary.LittleEndian.Uint32(r.head[40:]))
	r.line = slices.Grow(r.line[:0], size)[:size]
	_, err := io.ReadFull(r.r, r.line)
	return err == nil, err
}

func (r *frameReader) compare(o *frameReader) int {
	return cmp.Or(cmp.Compare(r.sentence, o.sentence), bytes.Compare(r.group[:], o.group[:]))
}
