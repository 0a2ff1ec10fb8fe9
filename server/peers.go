package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"refrain/api"
	"refrain/feed"
	"refrain/internal/peers"
	"refrain/shard"
)

// ownerSilence is after when an owner that puts nothing counts as gone: it puts something every three seconds.
const ownerSilence = 10 * time.Second

// directory knows who owns which partition.
func (n *node) newDirectory() *peers.Directory {
	read := func(ctx context.Context, q int) (*peers.Record, error) {
		o, err := shard.ReadOwner(ctx, n.store, q)
		if err != nil || o == nil {
			return nil, err
		}
		return &peers.Record{Address: o.Address, Epoch: o.Epoch, Released: o.Released, Put: o.Time}, nil
	}
	return &peers.Directory{Read: read, Silence: ownerSilence, Fresh: time.Second, Now: n.now}
}

// withPeers answers other processes for the windows of this one, and leaves the rest to h.
func (n *node) withPeers(h http.Handler) (http.Handler, error) {
	if n.match == nil || n.owners == nil {
		return h, nil
	}
	token, err := n.cfg.Cluster.Token.Read()
	if err != nil {
		return nil, err
	}
	look := func(ctx context.Context, q peers.Query) (*peers.Answer, error) {
		c, err := n.cutQuery(api.Query{Text: q.Text, Lang: q.Lang, Threshold: q.Threshold, Limit: q.Limit})
		if err != nil {
			return nil, err
		}
		return n.answer(ctx, c)
	}
	inside := &peers.Handler{Token: token, MaxText: feed.MaxText, Look: look, BadInput: api.ErrInput}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // no ServeMux: it would clean the paths of posts' ids
		if r.URL.Path == peers.Path {
			inside.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}), nil
}

// answer is what the windows of this process say; nil: it has none.
func (n *node) answer(ctx context.Context, c *cutQuery) (*peers.Answer, error) {
	if n.match == nil {
		return nil, nil
	}
	in, err := n.lookUp(ctx, c)
	if err != nil {
		return nil, err
	}
	a := &peers.Answer{Partitions: in}
	for i := range c.out {
		a.Sentences = append(a.Sentences, peers.Sentence{Index: i, Matches: c.out[i].Matches, Truncated: c.out[i].Truncated})
	}
	return a, nil
}

// answerInTime is answer, as far as the windows of this process come free in time: posts have them before questions.
func (n *node) answerInTime(ctx context.Context, c *cutQuery) *peers.Answer {
	ctx, cancel := context.WithTimeout(ctx, n.asker.Timeout)
	defer cancel()
	a, err := n.answer(ctx, c)
	if err != nil {
		return nil
	}
	return a
}

// lookUpEverywhere asks the owners of all partitions, a second time where one of them has changed meanwhile. It returns those
// that nobody has answered for.
func (n *node) lookUpEverywhere(ctx context.Context, c *cutQuery) (missing []int, err error) {
	if len(c.compared) == 0 {
		return nil, nil
	}
	local := n.answerInTime(ctx, c)
	found, owners, err := n.ask(ctx, c, local)
	if err != nil {
		return nil, err
	}
	if len(found.Missing) > 0 {
		n.directory.Forget(ctx)
		if now, err := n.directory.Owners(ctx, len(owners)); err == nil && !slices.Equal(now, owners) {
			if found, _, err = n.ask(ctx, c, found.Answer(len(owners))); err != nil {
				return nil, err
			}
		}
	}
	if len(found.Missing) > 0 {
		n.missing.Do(func() {
			n.log.Warn("match: not the whole window was looked in", "missing", found.Missing, "error", errors.Join(found.Reasons...))
		})
	}
	for i := range c.out {
		c.out[i].Matches, c.out[i].Truncated = nil, false
	}
	for _, s := range found.Sentences {
		if s.Index >= 0 && s.Index < len(c.out) {
			c.out[s.Index].Matches, c.out[s.Index].Truncated = s.Matches, s.Truncated
		}
	}
	return found.Missing, nil
}

func (n *node) ask(ctx context.Context, c *cutQuery, local *peers.Answer) (peers.Result, []peers.Owner, error) {
	partitions := n.cfg.Topics.Partitions
	owners, err := n.directory.Owners(ctx, partitions)
	if err != nil {
		return peers.Result{}, nil, err
	}
	q := peers.Query{Text: c.Text, Lang: c.Lang, Threshold: c.Threshold, Limit: c.Limit}
	found, err := n.asker.Ask(ctx, q, partitions, local, owners)
	return found, owners, err
}

// openPeers prepares asking others.
func (n *node) openPeers() (err error) {
	n.directory, n.asker = n.newDirectory(), peers.DefaultAsker()
	if n.asker.Token, err = n.cfg.Cluster.Token.Read(); err != nil {
		return err
	}
	return n.owners.observe()
}
