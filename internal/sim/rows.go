package sim

import (
	"io"
	"slices"
	"time"

	"refrain/feed"
	"refrain/sigstore"
	"refrain/text"
	"refrain/topic"
)

// Retention says which occurrences of a group Brute rows retain.
type Retention int

// All of them, or, as a mutant, the first and the last.
const (
	RetainAll Retention = iota
	RetainEnds
)

// NewBrute returns rows that are a list, compared one by one: the window by its definition.
func NewBrute(t text.Threshold, span, lateness time.Duration, retention Retention) Rows {
	return &brute{threshold: t, span: feed.Time(span.Milliseconds()), lateness: feed.Time(lateness.Milliseconds()),
		retention: retention}
}

type brute struct {
	threshold      text.Threshold
	span, lateness feed.Time
	retention      Retention
	rows           []*feed.Sentence
}

func same(a, b *feed.Sentence) bool {
	return a.Source == b.Source && a.Post == b.Post && a.Index == b.Index && a.Version == b.Version && a.Time == b.Time
}

func (b *brute) Insert(x *feed.Sentence) bool {
	if slices.ContainsFunc(b.rows, func(r *feed.Sentence) bool { return r.Group == x.Group && same(x, r) }) {
		return false
	}
	b.rows = append(b.rows, x)
	if b.retention == RetainEnds {
		b.dropMiddle(x.Group)
	}
	return true
}

func (b *brute) dropMiddle(g feed.Hash) {
	var first, last *feed.Sentence
	for _, r := range b.rows {
		if r.Group != g {
			continue
		}
		if first == nil || r.Compare(first) < 0 {
			first = r
		}
		if last == nil || r.Compare(last) > 0 {
			last = r
		}
	}
	b.rows = slices.DeleteFunc(b.rows, func(r *feed.Sentence) bool { return r.Group == g && r != first && r != last })
}

// EachNewMatch reports everything: repeats are allowed.
func (b *brute) EachNewMatch(x *feed.Sentence, found func(*feed.Match)) { b.EachMatch(x, found) }

func (b *brute) Expect([]*feed.Sentence) {}

func (b *brute) EachMatch(x *feed.Sentence, found func(*feed.Match)) {
	known := map[feed.Hash]bool{}
	for _, r := range b.rows {
		earlier, later := r, x
		if x.Compare(r) < 0 {
			earlier, later = x, r
		}
		if !isMatch(earlier, later, b.threshold, b.span) {
			continue
		}
		id := feed.EventID("near", later.Source, later.Post, later.Index, later.Group, earlier.Group)
		if !known[id] {
			known[id] = true
			found(&feed.Match{ID: id, Scheme: "near", Group: earlier.Group, Later: occurrence(later), Earlier: occurrence(earlier)})
		}
	}
}

func occurrence(s *feed.Sentence) feed.Occurrence {
	return feed.Occurrence{Source: s.Source, Post: s.Post, Time: s.Time, Sentence: s.Index, Text: s.Text}
}

func (b *brute) Advance(w feed.Time) {
	b.rows = slices.DeleteFunc(b.rows, func(r *feed.Sentence) bool { return r.Time < w-b.span-b.lateness })
}

func (b *brute) Delete(gone sigstore.Gone, _ []feed.Name) {
	b.rows = slices.DeleteFunc(b.rows, func(r *feed.Sentence) bool { return gone(r.Source, r.Post) })
}

func (b *brute) DeleteAuthor(source, author string, stays sigstore.Stays) {
	b.rows = slices.DeleteFunc(b.rows, func(r *feed.Sentence) bool {
		return r.Source == source && r.Author == author && (stays == nil || !stays(r.Post, r.Index, uint32(r.Version)))
	})
}

func (b *brute) PurgeSome(int) bool { return false }

// EachMatchFrom is EachMatch of rows with another threshold.
func (b *brute) EachMatchFrom(least text.Threshold, x *feed.Sentence, found func(*feed.Match)) {
	stricter := *b
	stricter.threshold = least
	stricter.EachMatch(x, found)
}

// Probe looks x up for nothing.
func (b *brute) Probe(x *feed.Sentence) { b.EachMatch(x, func(*feed.Match) {}) }

// Publish does nothing: nobody asks.
func (b *brute) Publish() {}

// Len is how many sentences there are.
func (b *brute) Len() int { return len(b.rows) }

// Capture captures the rows, as they would be appended to a topic.
func (b *brute) Capture() *sigstore.Capture {
	var batch topic.Batch
	for _, row := range b.rows {
		batch.Sentences = append(batch.Sentences, *row)
	}
	data := batch.Append(nil)
	return &sigstore.Capture{Write: func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	}}
}

// Restore takes back what Capture has written.
func (b *brute) Restore(head io.Reader, _ func(string) (io.ReadCloser, error), _ sigstore.Gone) ([]*sigstore.Piece, error) {
	data, err := io.ReadAll(head)
	if err != nil {
		return nil, err
	}
	batch, err := topic.DecodeBatch(data)
	if err != nil {
		return nil, err
	}
	for i := range batch.Sentences {
		b.rows = append(b.rows, &batch.Sentences[i])
	}
	return nil, nil
}

// isMatch is what a match is: a is earlier than b, of another post, within the span, and near enough.
func isMatch(a, b *feed.Sentence, t text.Threshold, span feed.Time) bool {
	if a.Compare(b) >= 0 || a.Source == b.Source && a.Post == b.Post || b.Time-a.Time > span {
		return false
	}
	return a.Group == b.Group || text.Jaccard.At(t).Reaches(text.Intersection(a.Tokens, b.Tokens), len(a.Tokens), len(b.Tokens))
}
