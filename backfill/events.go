package backfill

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"refrain/feed"
)

// eventOutput is the file of a slice's events, in the order of their later sentences and then of the groups that these repeat,
// and that of their ids. Several passes write a file each, which are merged in the end.
type eventOutput struct {
	b      *backfill
	lines  *output
	ids    *idFile
	passes []*os.File
	w      *bufio.Writer // of the last one
	buf    []byte
}

func (e *eventOutput) open(b *backfill, start feed.Time, passes int) (err error) {
	e.b = b
	if e.lines, err = b.newOutput(b.dir.events(start)); err != nil {
		return err
	}
	if e.ids = b.newIDs(start); passes == 1 {
		return nil
	}
	for n := range passes {
		f, err := os.Create(filepath.Join(b.dir.scratch(), fmt.Sprintf("%s.pass-%d", stampOf(start), n)))
		if err != nil {
			return err
		}
		e.passes = append(e.passes, f)
	}
	return nil
}

// beginPass begins a pass.
func (e *eventOutput) beginPass(pass int) {
	if e.passes != nil {
		e.w = bufio.NewWriterSize(e.passes[pass], 256<<10)
	}
}

// endPass ends it.
func (e *eventOutput) endPass() error {
	if e.passes == nil {
		return nil
	}
	return e.w.Flush()
}

// write writes an event of a sentence, by its number in the slice.
func (e *eventOutput) write(sentence int64, m *feed.Match) error {
	e.buf = m.AppendEvent(e.buf[:0], deployment)
	e.buf = append(e.buf, '\n')
	if e.passes == nil {
		return e.append(m.ID, e.buf)
	}
	head := make([]byte, 0, frameHead)
	head = binary.LittleEndian.AppendUint64(head, uint64(sentence))
	head = append(append(head, m.Group[:]...), m.ID[:]...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(e.buf)))
	_, err := e.w.Write(head)
	_, errLine := e.w.Write(e.buf)
	return errors.Join(err, errLine)
}

// deployment is the source of events, as of those of detect.
const deployment = "refrain"

func (e *eventOutput) append(id feed.Hash, line []byte) error {
	return errors.Join(e.lines.write(line, 1), e.ids.add(id))
}

// frame is an event as a pass has written it: 8 bytes number of the sentence, 16 its group, 16 the event's id, 4 size of the
// line, and the line.
type frame struct {
	sentence uint64
	group    [16]byte
	id       feed.Hash
	line     []byte
	r        *bufio.Reader
}

const frameHead = 8 + 16 + 16 + 4

// next reads the next frame; it is false at the end.
func (f *frame) next() (bool, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return false, ignoreEOF(err)
	}
	f.sentence = binary.LittleEndian.Uint64(head[:])
	f.group, f.id = [16]byte(head[8:]), feed.Hash(head[24:])
	f.line = slices.Grow(f.line[:0], int(binary.LittleEndian.Uint32(head[40:])))[:binary.LittleEndian.Uint32(head[40:])]
	_, err := io.ReadFull(f.r, f.line)
	return err == nil, err
}

func (f *frame) compare(g *frame) int {
	if f.sentence != g.sentence {
		return oneIf(f.sentence > g.sentence) - oneIf(f.sentence < g.sentence)
	}
	return slices.Compare(f.group[:], g.group[:])
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// merge writes the events of all passes.
func (e *eventOutput) merge() error {
	var open []*frame
	for _, file := range e.passes {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		f := &frame{r: bufio.NewReaderSize(file, 64<<10)}
		more, err := f.next()
		if err != nil {
			return err
		}
		if more {
			open = append(open, f)
		}
	}
	for len(open) > 0 {
		first := slices.MinFunc(open, (*frame).compare)
		if err := e.append(first.id, first.line); err != nil {
			return err
		}
		more, err := first.next()
		if err != nil {
			return err
		}
		if !more {
			open = slices.DeleteFunc(open, func(f *frame) bool { return f == first })
		}
	}
	return nil
}

// end ends the writing, and says in the report of the slice what was written.
func (e *eventOutput) end(r *report) (err error) {
	if err := e.merge(); err != nil {
		return err
	}
	e.closePasses()
	if r.IDs, err = e.ids.end(); err != nil {
		return err
	}
	err = e.lines.flush()
	r.Events, r.Files = e.lines.Lines, []Output{e.lines.Output}
	return err
}

func (e *eventOutput) closePasses() {
	for _, f := range e.passes {
		_ = f.Close() // it is of no use any more
		_ = os.Remove(f.Name())
	}
	e.passes = nil
}

func (e *eventOutput) abandon() {
	e.closePasses()
	e.lines.abandon()
	e.ids.abandon()
}
