package server

import (
	"context"
	"fmt"
	"slices"

	"refrain/api"
	"refrain/feed"
	"refrain/internal/explain"
	"refrain/text"
)

// Match looks a text up in all windows, also in those of other processes.
func (a *httpServer) Match(ctx context.Context, q api.Query) (api.Found, error) {
	n := a.s.node
	cut, err := n.cutQuery(q)
	if err != nil {
		return api.Found{}, err
	}
	if n.owners == nil {
		_, err := n.lookUp(ctx, cut)
		return api.Found{Sentences: cut.out}, err
	}
	missing, err := n.lookUpEverywhere(ctx, cut)
	return api.Found{Sentences: cut.out, Missing: missing}, err
}

// cutQuery is a text that is looked up, cut into sentences, and what they repeat.
type cutQuery struct {
	api.Query
	least    text.Threshold
	compared []feed.Sentence
	out      []api.Sentence // of all sentences, the short ones too
}

func (n *node) cutQuery(q api.Query) (*cutQuery, error) {
	least, err := n.thresholdOf(q)
	if err != nil {
		return nil, err
	}
	if len(q.Text) > feed.MaxText {
		return nil, fmt.Errorf("%w: text: %d bytes, the limit is %d", api.ErrInput, len(q.Text), feed.MaxText)
	}
	// A post without an id; lookUp says when.
	p := feed.Post{Text: q.Text, Lang: q.Lang, Time: feed.FromTime(n.now()), Timed: true}
	var s text.Splitter
	c := &cutQuery{Query: q, least: least}
	c.compared, _ = s.Sentences(nil, &p, n.cfg.Window.MinTokens)
	pieces, _ := s.Pieces(q.Text)
	c.out = make([]api.Sentence, len(pieces))
	for i, piece := range pieces {
		c.out[i] = api.Sentence{Index: i, Start: piece.Start, End: piece.End}
	}
	for i := range c.compared {
		x := &c.compared[i]
		x.Text, x.TextCut = q.Text[x.Start:x.End], false // nothing is stored of it
		c.out[x.Index].Compared = true
	}
	return c, nil
}

// lookUp looks in the windows of this process, and returns the partitions that it has looked in for all sentences. The text
// is later than everything there.
func (n *node) lookUp(ctx context.Context, c *cutQuery) (in []int, err error) {
	remaining, now := answerSpace{maxMatched, c.Limit}, n.match.feedNow()
	for i, x := range c.compared {
		x.Time = now
		if remaining.isUsedUp() {
			c.out[x.Index].Truncated = true
			continue
		}
		looked, err := n.match.lookUp(ctx, x, c.least, &c.out[x.Index], &remaining)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			in = looked
		}
		in = slices.DeleteFunc(in, func(q int) bool { return !slices.Contains(looked, q) })
	}
	return in, nil
}

// thresholdOf is what a text is looked up with: what is below the window's the window does not find.
func (n *node) thresholdOf(q api.Query) (text.Threshold, error) {
	window := n.window.Threshold
	if q.Threshold == "" {
		return window, nil
	}
	t, err := text.ParseThreshold(q.Threshold)
	if err != nil {
		return t, fmt.Errorf("%w: %w", api.ErrInput, err)
	}
	if t.Compare(window) < 0 {
		return t, fmt.Errorf("%w: threshold %s: this server finds nothing below %s, its window.threshold", api.ErrInput,
			q.Threshold, n.cfg.Window.Threshold)
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
