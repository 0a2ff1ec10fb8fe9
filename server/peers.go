package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

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
		return &peers.Record{Worker: o.Worker, Address: o.Address, Epoch: o.Epoch, Released: o.Released, Put: o.Time}, nil
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
	inside := &peers.Handler{
		Token: token, MaxText: feed.MaxText, Look: look, BadInput: api.ErrInput, Deleted: n.match.crew.WaitDeleted,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // no ServeMux: it would clean the paths of posts' ids
		if peers.Answers(r.URL.Path) {
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

// lookUpEverywhere looks in the rows of all partitions, and returns those that nobody has answered for.
func (n *node) lookUpEverywhere(ctx context.Context, c *cutQuery) (missing []int, err error) {
	if len(c.compared) == 0 {
		return nil, nil
	}
	q := peers.Query{Text: c.Text, Lang: c.Lang, Threshold: c.Threshold, Limit: c.Limit}
	found, _, err := n.askOwners(ctx, n.answerInTime(ctx, c), func(known *peers.Answer, owners []peers.Owner) (peers.Result, error) {
		return n.asker.Ask(ctx, q, len(owners), known, owners)
	})
	if err != nil {
		return nil, err
	}
	if len(found.Missing) > 0 {
		n.partial.Add(ctx, 1)
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

// askOwners asks the owners of all partitions but those of local, a second time where one of them has changed meanwhile. ask is
// given what is known already.
func (n *node) askOwners(ctx context.Context, local *peers.Answer,
	ask func(known *peers.Answer, owners []peers.Owner) (peers.Result, error)) (peers.Result, []peers.Owner, error) {
	owners, err := n.directory.Owners(ctx, n.cfg.Topics.Partitions)
	if err != nil {
		return peers.Result{}, nil, err
	}
	found, err := ask(local, owners)
	if err != nil || len(found.Missing) == 0 {
		return found, owners, err
	}
	n.directory.Forget(ctx)
	now, err := n.directory.Owners(ctx, len(owners))
	if err != nil || slices.Equal(now, owners) {
		return found, owners, nil
	}
	found, err = ask(found.Answer(len(owners)), now)
	return found, now, err
}

// openPeers prepares asking others.
func (n *node) openPeers() (err error) {
	n.directory, n.asker = n.newDirectory(), peers.DefaultAsker()
	if n.asker.Token, err = n.cfg.Cluster.Token.Read(); err != nil {
		return err
	}
	n.partial, err = otel.Meter("refrain/server").Int64Counter("refrain_server_partial_answers",
		metric.WithDescription("Look-ups of clients that were answered without some partitions of the window."))
	if err != nil {
		return err
	}
	n.partial.Add(context.Background(), 0) // an alert needs a first value
	return n.owners.observe(n)
}
