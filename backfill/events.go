package backfill

import (
	"errors"

	"refrain/feed"
)

// eventOutput is the file of a slice's events, in the order of their later sentences and then of the groups that these repeat,
// and that of their ids. Several passes write a file each, which are merged in the end.
type eventOutput struct {
	lines  *output
	ids    *idFile
	passes *passFiles // nil: one pass writes the events themselves
	buf    []byte
}

// deployment is the source of events, as of those of detect.
const deployment = "refrain"

// newEvents begins the events of the slice that begins at start.
func (b *backfill) newEvents(start feed.Time) (*eventOutput, error) {
	lines, err := b.newOutput(b.dir.events(start))
	if err != nil {
		return nil, err
	}
	return &eventOutput{lines: lines, ids: b.newIDs(start)}, nil
}

// openEvents begins those that so many passes write; nil: none are wanted.
func (b *backfill) openEvents(start feed.Time, passes int) (*eventOutput, error) {
	if b.cfg.NoEvents {
		return nil, nil
	}
	e, err := b.newEvents(start)
	if err == nil && passes > 1 {
		e.passes = b.newPassFiles(start)
	}
	return e, err
}

// beginPass begins a pass.
func (e *eventOutput) beginPass() error {
	if e == nil || e.passes == nil {
		return nil
	}
	return e.passes.begin()
}

// endPass ends it.
func (e *eventOutput) endPass() error {
	if e == nil || e.passes == nil {
		return nil
	}
	return e.passes.end()
}

// write writes an event of a sentence, by its number in the slice.
func (e *eventOutput) write(sentence int64, m *feed.Match) error {
	if e == nil {
		return nil
	}
	e.buf = append(m.AppendEvent(e.buf[:0], deployment), '\n')
	if e.passes == nil {
		return e.append(m.ID, e.buf)
	}
	return e.passes.write(&frame{uint64(sentence), m.Group, m.ID, e.buf})
}

func (e *eventOutput) append(id feed.Hash, line []byte) error {
	return errors.Join(e.lines.write(line, 1), e.ids.add(id))
}

// end ends the writing, and says in the report of the slice what was written.
func (e *eventOutput) end(r *report) (err error) {
	if e.passes != nil {
		if err := e.passes.merge(func(f *frame) error { return e.append(f.id, f.line) }); err != nil {
			return err
		}
	}
	if r.IDs, err = e.ids.end(); err != nil {
		return err
	}
	err = e.lines.flush()
	r.Events, r.Files = e.lines.Lines, []Output{e.lines.Output}
	return err
}

func (e *eventOutput) abandon() {
	if e == nil {
		return
	}
	e.passes.remove()
	e.lines.abandon()
	e.ids.abandon()
}
