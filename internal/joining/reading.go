package joining

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"refrain/ingest"
	"refrain/ingest/file"
	tokens "refrain/join/units"
)

// reading is one file on its way into records.
type reading struct {
	cfg      Config
	src      *file.Source
	format   string
	records  *Records
	seen     repeats
	lacking  lacking
	line     int64 // the last one added
	onTheWay int64 // bytes of the passages
}

// passage is a part on its way: read, cut into tokens, added.
type passage struct {
	file.Part
	tokens   []uint64
	ends     []int   // record -> where its tokens end
	lines    []int64 // of sets: by record, from 1
	integers integers
	err      error         // the line of sets that is none
	cut      chan struct{} // filled when a worker is done with it
	bytes    int64         // what it holds then, with what cutting it takes
	counted  int64         // of these in onTheWay
}

func (r *reading) run(ctx context.Context) error {
	g, working := errgroup.WithContext(ctx)
	workers := max(1, r.cfg.Workers)
	free, work, order := make(chan *passage, 2*workers), make(chan *passage, 2*workers), make(chan *passage, 2*workers)
	for range cap(free) {
		free <- &passage{cut: make(chan struct{}, 1)}
	}
	g.Go(func() error { return r.read(working, free, work, order) })
	for range workers {
		g.Go(func() error { r.cut(work); return nil })
	}
	g.Go(func() error { return r.addAll(working, free, order) })
	return g.Wait()
}

func (r *reading) read(ctx context.Context, free <-chan *passage, work, order chan<- *passage) error {
	defer close(work)
	defer close(order)
	for {
		select {
		case p := <-free:
			if err := r.src.Read(ctx, &p.Part); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			work <- p // there is room for all
			order <- p
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// cut makes tokens of what was read.
func (r *reading) cut(work <-chan *passage) {
	decoder, cutter := r.src.NewDecoder(), tokens.NewCutter(r.cfg.Units)
	for p := range work {
		p.tokens, p.ends, p.lines, p.err = p.tokens[:0], p.ends[:0], p.lines[:0], nil
		switch {
		case r.format == "sets":
			p.parse()
		default:
			decoder.Decode(&p.Part)
			for i := range p.Batch.Posts {
				if !r.cfg.Texts {
					p.tokens = cutter.Append(p.tokens, p.Batch.Posts[i].Text)
				}
				p.ends = append(p.ends, len(p.tokens))
			}
		}
		p.bytes = p.Bytes() + 8*int64(cap(p.tokens)+cap(p.ends)+cap(p.lines)) + cutter.Bytes()
		p.cut <- struct{}{}
	}
}

// parse reads sets of integers, up to the first line that is none.
func (p *passage) parse() {
	p.integers = integers{}
	for line := range p.Part.Lines {
		if line.Size > file.MaxLine {
			p.err = fmt.Errorf("%d: a line of %d bytes, and the limit is %d", line.Number, line.Size, file.MaxLine)
			return
		}
		var err error
		if p.tokens, err = p.integers.append(p.tokens, line); err != nil {
			p.err = fmt.Errorf("%d: %w", line.Number, err)
			return
		}
		p.ends, p.lines = append(p.ends, len(p.tokens)), append(p.lines, line.Number)
	}
}

// addAll adds the parts in the order in which they were read.
func (r *reading) addAll(ctx context.Context, free chan<- *passage, order <-chan *passage) error {
	for p := range order {
		select {
		case <-p.cut:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.addPart(ctx, p); err != nil {
			return err
		}
		r.onTheWay, p.counted = r.onTheWay+p.bytes-p.counted, p.bytes
		if r.cfg.Left > 0 && r.bytes() > r.cfg.Left {
			return r.errBudget(r.line)
		}
		r.cfg.Progress(r.src.BytesRead(), r.src.Size(), int64(r.records.Len()))
		free <- p
	}
	return nil
}

// bytes is what reading holds: records, how their equal ids are found, what is on its way, and the old tokens beside the new
// ones while their list grows.
func (r *reading) bytes() int64 {
	return r.records.Bytes() + r.seen.bytes() + r.onTheWay + r.src.Memory() + 4*int64(r.records.Sets.Tokens())
}

func (r *reading) addPart(ctx context.Context, p *passage) error {
	if r.format == "sets" {
		return r.addSets(p)
	}
	if err := r.src.Stamp(ctx, &p.Part); err != nil {
		return err
	}
	if err := r.reject(p.Batch.Rejected); err != nil {
		return err
	}
	if err := r.addPosts(p); err != nil {
		return err
	}
	if r.lacksAll() && r.lacking.count >= maxLacking {
		return r.lacking.error()
	}
	r.note(&p.Batch)
	return nil
}

func (r *reading) addPosts(p *passage) error {
	for i := range p.Batch.Posts {
		post := &p.Batch.Posts[i]
		r.line = p.Line(i)
		if err := r.add(p, i); err != nil {
			return err
		}
		if r.cfg.Texts {
			r.records.Texts = append(r.records.Texts, strings.Clone(post.Text)) // or it would keep a whole row
			r.records.textual += int64(len(post.Text)) + 16
		}
		if r.name(post.ID) {
			p.Batch.Notes = append(p.Batch.Notes, r.repeated(post.ID))
		}
	}
	return nil
}

func (r *reading) addSets(p *passage) error {
	for i, line := range p.lines {
		r.line = line
		if err := r.add(p, i); err != nil {
			return err
		}
		r.name("")
	}
	if p.err != nil {
		return fmt.Errorf("%s:%w", r.records.Path, p.err)
	}
	r.records.integers.or(p.integers)
	return r.records.integers.check(r.records.Path)
}

// set is the tokens of record i of the part.
func (p *passage) set(i int) []uint64 {
	from := 0
	if i > 0 {
		from = p.ends[i-1]
	}
	return p.tokens[from:p.ends[i]]
}

func (r *reading) add(p *passage, i int) error {
	if r.cfg.Texts {
		return nil
	}
	if err := r.records.Sets.Add(p.set(i)); err != nil {
		return fmt.Errorf("%s:%d: %w", r.records.Path, r.line, err)
	}
	return nil
}

// name gives the record that was added its name, and reports whether that is the first one that an earlier record has too.
func (r *reading) name(id string) (firstRepeat bool) {
	n := &r.records.Names
	if r.records.numbered {
		n.lines = append(n.lines, uint32(r.line-1))
		return false
	}
	if r.seen.note(n, id) {
		r.records.Repeated++
		firstRepeat = r.records.Repeated == 1
	}
	n.add(id)
	return firstRepeat
}

func (r *reading) repeated(id string) ingest.Note {
	return ingest.Note{Location: fmt.Sprintf("%s:%d", r.records.Path, r.line),
		Text: fmt.Sprintf("id %q is that of an earlier record too: both are compared, and pairs name both by it", id)}
}
