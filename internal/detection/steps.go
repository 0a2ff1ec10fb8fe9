package detection

import (
	"context"
	"slices"

	"refrain/detector"
	"refrain/feed"
	"refrain/ingest/file"
	"refrain/internal/feedtime"
	"refrain/text"
)

// Part is one batch of posts with what becomes of them.
type Part struct {
	file.Part
	Sentences             []feed.Sentence
	TooShort, Redelivered int          // sentences not compared, and delivered again
	Matches               []feed.Match // those that were not handed on before
	Events                int          // all matches
}

// Splitter makes posts and sentences of what was read. It is for one goroutine.
type Splitter struct {
	source    *file.Source
	decoder   file.Decoder
	sentences text.Splitter
	minTokens int
}

// NewSplitter makes one for the parts of a file.
func NewSplitter(source *file.Source, minTokens int) *Splitter {
	return &Splitter{source: source, decoder: source.NewDecoder(), minTokens: minTokens}
}

// Decode makes posts of the records of a part.
func (s *Splitter) Decode(p *Part) { s.decoder.Decode(&p.Part) }

// Stamp gives posts without a time one: parts come in the order in which they were read. Its error ends a strict reading.
func (s *Splitter) Stamp(ctx context.Context, p *Part) error { return s.source.Stamp(ctx, &p.Part) }

// Split cuts the posts of a part into sentences.
func (s *Splitter) Split(p *Part) {
	p.Sentences, p.TooShort = p.Sentences[:0], 0
	for i := range p.Batch.Posts {
		var short int
		p.Sentences, short = s.sentences.Sentences(p.Sentences, &p.Batch.Posts[i], s.minTokens)
		p.TooShort += short
	}
}

// Detector finds the matches of parts, in the order in which they were read.
type Detector struct {
	Windows *detector.Partitions
	clock   feedtime.Clock
}

// Sentences looked up at once, and matches handed on at once: one sentence may repeat very many texts.
const (
	minBatchSentences = 64
	maxBatchMatches   = 1024
)

// Detect looks the sentences of a part up. Where the matches are many, most of them are handed on by full.
func (d *Detector) Detect(p *Part, full func([]feed.Match) error) error {
	p.Matches, p.Redelivered, p.Events = p.Matches[:0], 0, 0
	for some := range slices.Chunk(p.Sentences, minBatchSentences) {
		var repeats int
		before := len(p.Matches)
		p.Matches, repeats = d.Windows.Detect(p.Matches, some)
		p.Redelivered += repeats
		p.Events += len(p.Matches) - before
		if len(p.Matches) < maxBatchMatches {
			continue
		}
		if err := full(p.Matches); err != nil {
			return err
		}
		p.Matches = nil
	}
	return nil
}

// Advance moves the clock on by the posts of a part, and reports whether there is one yet.
func (d *Detector) Advance(p *Part) bool {
	for i := range p.Batch.Posts {
		d.clock.Add(p.Batch.Posts[i].Time)
	}
	w, ok := d.clock.Time()
	if ok {
		d.Windows.Advance(w)
	}
	return ok
}
