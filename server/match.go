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
	if q.Threshold != "" && q.Threshold != a.s.cfg.Window.Threshold {
		return nil, fmt.Errorf("%w: threshold %s: this server's window answers for %s only", api.ErrInput, q.Threshold, a.s.cfg.Window.Threshold)
	}
	// A post without an id, later than everything in the window.
	p := feed.Post{Text: q.Text, Lang: q.Lang, Time: a.s.node.now(), Timed: true}
	var s text.Splitter
	compared, _ := s.Sentences(nil, &p, a.s.cfg.Window.MinTokens)
	pieces, _ := s.Pieces(q.Text)
	out := make([]api.Sentence, len(pieces))
	for i, piece := range pieces {
		out[i] = api.Sentence{Index: i, Start: piece.Start, End: piece.End}
	}
	for _, x := range compared {
		x.Text, x.TextCut = q.Text[x.Start:x.End], false // nothing is stored of it
		matches, err := a.s.node.match(ctx, x)
		if err != nil {
			return nil, err
		}
		out[x.Index].Compared, out[x.Index].Matches = true, matches
	}
	return out, nil
}

func (a *httpServer) explain(_ context.Context, x, y string) (explain.Explanation, error) {
	return explain.Texts(x, y, explain.Settings{
		Threshold: a.s.node.window.Threshold, Model: a.s.node.models.Model(), MinTokens: a.s.cfg.Window.MinTokens,
	}), nil
}

// match looks a sentence up in the rows of all workers.
func (n *node) match(ctx context.Context, x feed.Sentence) ([]feed.Match, error) {
	var all []feed.Match
	for _, w := range n.workers {
		matches, err := w.Match(ctx, []feed.Sentence{x})
		if err != nil {
			return nil, err
		}
		all = append(all, matches...)
	}
	return all, nil
}
