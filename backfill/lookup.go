package backfill

import (
	"bytes"
	"context"
	"slices"

	"refrain/feed"
)

// found is some of the matches of a batch.
type found struct {
	matches   []feed.Match
	sentences []int64 // of each match, by its number in the slice
	done      *batch  // set with the last of them
}

// lookupsAtOnce is how many sentences are looked up together, and maxMatches how many matches are handed on at once, about.
const (
	lookupsAtOnce = 64
	maxMatches    = 1024
)

// detect takes the run-in into the window, and looks up the slice.
func (p *pass) detect(ctx context.Context) error {
	defer close(p.found)
	number := int64(0) // of a sentence in the slice
	for b := range p.order {
		<-b.split
		var err error
		if b.runIn {
			p.window.insert(b.sentences)
		} else {
			err = p.lookUp(ctx, b, number)
			number += int64(len(b.sentences))
		}
		if err != nil {
			return err
		}
		if len(b.posts) > 0 {
			p.advance(b.posts[len(b.posts)-1].Time)
		}
		if err := p.send(ctx, found{done: b}); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) send(ctx context.Context, f found) error {
	select {
	case p.found <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lookUp looks the sentences of a batch up, the first of which has a number.
func (p *pass) lookUp(ctx context.Context, b *batch, number int64) error {
	b.repeats = b.repeats[:0]
	f := found{matches: b.matches[:0], sentences: b.numbers[:0]}
	for some := range slices.Chunk(b.sentences, lookupsAtOnce) {
		f.matches = p.window.detect(f.matches, some, func(matches []feed.Match) bool {
			n := number + int64(len(b.repeats))
			b.repeats = append(b.repeats, p.repeats(n, len(matches) > 0))
			if p.events == nil {
				return false
			}
			f.add(n, matches)
			return true
		})
		if len(f.matches) < maxMatches {
			continue
		}
		if err := p.send(ctx, f); err != nil {
			return err
		}
		f = found{}
	}
	b.matches, b.numbers = f.matches, f.sentences // to be filled again when they were written
	return p.send(ctx, f)
}

// add puts the matches of a sentence, the last ones, in the order of the groups that it repeats, and numbers them.
func (f *found) add(sentence int64, matches []feed.Match) {
	if len(matches) > 1 {
		slices.SortFunc(matches, func(a, b feed.Match) int { return bytes.Compare(a.Group[:], b.Group[:]) })
	}
	for range matches {
		f.sentences = append(f.sentences, sentence)
	}
}

// repeats reports whether a sentence repeats something, in this pass or in one before, and remembers it for the next.
func (p *pass) repeats(sentence int64, now bool) bool {
	if p.cfg.Columns == 1 || !p.cfg.KeepFirst {
		return now
	}
	if now {
		p.repeated.set(sentence)
	}
	return now || p.repeated.has(sentence)
}

// advance moves the clock on.
func (p *pass) advance(to feed.Time) {
	bytes := p.window.advance(to)
	p.report.WindowBytes = max(p.report.WindowBytes, bytes)
	p.release.holds(p, bytes)
}
