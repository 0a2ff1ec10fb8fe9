package server

import (
	"context"
	"fmt"

	"refrain/api"
	"refrain/feed"
	"refrain/internal/explain"
	"refrain/text"
)

// Match looks a text up in the windows of this process.
func (a *httpServer) Match(ctx context.Context, q api.Query) ([]api.Sentence, error) {
	least, err := a.thresholdOf(q)
	if err != nil {
		return nil, err
	}
	if len(q.Text) > feed.MaxText {
		return nil, fmt.Errorf("%w: text: %d bytes, the limit is %d", api.ErrInput, len(q.Text), feed.MaxText)
	}
	// A post without an id, later than everything in the window.
	p := feed.Post{Text: q.Text, Lang: q.Lang, Time: a.s.node.match.feedNow(), Timed: true}
	var s text.Splitter
	compared, _ := s.Sentences(nil, &p, a.s.cfg.Window.MinTokens)
	pieces, _ := s.Pieces(q.Text)
	out := make([]api.Sentence, len(pieces))
	for i, piece := range pieces {
		out[i] = api.Sentence{Index: i, Start: piece.Start, End: piece.End}
	}
	remaining := answerSpace{maxMatched, q.Limit}
	for _, x := range compared {
		x.Text, x.TextCut = q.Text[x.Start:x.End], false // nothing is stored of it
		out[x.Index].Compared = true
		if remaining.isUsedUp() {
			out[x.Index].Truncated = true
			continue
		}
		if _, err := a.s.node.match.lookUp(ctx, x, least, &out[x.Index], &remaining); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// thresholdOf is what a text is looked up with: what is below the window's the window does not find.
func (a *httpServer) thresholdOf(q api.Query) (text.Threshold, error) {
	window := a.s.node.window.Threshold
	if q.Threshold == "" {
		return window, nil
	}
	t, err := text.ParseThreshold(q.Threshold)
	if err != nil {
		return t, fmt.Errorf("%w: %w", api.ErrInput, err)
	}
	if t.Compare(window) < 0 {
		return t, fmt.Errorf("%w: threshold %s: this server finds nothing below %s, its window.threshold", api.ErrInput,
			q.Threshold, a.s.cfg.Window.Threshold)
	}
	return t, nil
}

// maxMatched bounds the names and texts in one answer, about: a text may have thousands of sentences that match a
// thousand texts each. 4,000 usual matches are less.
const maxMatched = 2 << 20

// answerSpace is what is left for matches in an answer.
type answerSpace struct{ bytes, matches int }

func (r *answerSpace) isUsedUp() bool { return r.bytes <= 0 || r.matches <= 0 }

func (r *answerSpace) use(m *feed.Match) {
	r.bytes -= matchedSize(m)
	r.matches--
}

// matchedSize is what a match takes of maxMatched.
func matchedSize(m *feed.Match) int {
	size := 128
	for _, o := range []*feed.Occurrence{&m.Later, &m.Earlier} {
		size += len(o.Source) + len(o.Post) + len(o.Author) + len(o.Lang) + len(o.Text) + len(o.Link) + len(o.Meta)
	}
	return size + len(m.First.Source) + len(m.First.Post) + len(m.First.Author)
}

func (a *httpServer) explain(_ context.Context, x, y string) (explain.Explanation, error) {
	e, err := explain.Texts(x, y, explain.Settings{
		Measure: a.s.node.window.Measure(), Model: a.s.node.model(), MinTokens: a.s.cfg.Window.MinTokens,
		MaxPairs: explain.MaxPairs,
	})
	if err != nil {
		return e, fmt.Errorf("%w: %w", api.ErrInput, err)
	}
	return e, nil
}
