package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	httpsource "refrain/ingest/http"
	"refrain/internal/peers"
)

// spread knows when a deletion has reached the rows of all owners. Those who wait share a question: thousands of deletions a
// second are some questions a second.
type spread struct {
	n    *node
	turn sync.Mutex // one question at a time

	mu   sync.Mutex
	next *spreading // the one that is still to be asked; nil: none is wanted
}

// spreading is one question, for all deletions that were durable before it was asked.
type spreading struct {
	done   chan struct{}
	behind []httpsource.Behind
}

// await names the workers whose rows may still show what is deleted, once all have answered or had the time for it.
func (s *spread) await(ctx context.Context) []httpsource.Behind {
	r := s.join()
	select {
	case <-r.done:
		return r.behind
	case <-ctx.Done(): // and nobody is there to be told
		return nil
	}
}

func (s *spread) join() *spreading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &spreading{done: make(chan struct{})}
		go s.ask(s.next)
	}
	return s.next
}

// ask waits for the question before r. Deletions that are durable from then on want another one.
func (s *spread) ask(r *spreading) {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 4*s.n.asker.Timeout)
	defer cancel()
	r.behind = s.n.behindDeletions(ctx)
	close(r.done)
}

// behindDeletions are the workers whose rows may show what is deleted by now.
func (n *node) behindDeletions(ctx context.Context) []httpsource.Behind {
	nobody := []httpsource.Behind{{Partitions: allOf(n.cfg.Topics.Partitions)}}
	_, end, err := n.control.Bounds(ctx)
	if err != nil {
		return nobody
	}
	found, owners, err := n.askOwners(ctx, n.localDeleted(ctx, end[0]), func(known *peers.Answer, owners []peers.Owner) (peers.Result, error) {
		return n.asker.AskDeleted(ctx, end[0], len(owners), known, owners)
	})
	if err != nil {
		return nobody
	}
	if len(found.Missing) > 0 {
		n.missing.Do(func() {
			n.log.Warn("not all workers have said that they know of a deletion", "missing", found.Missing, "error", errors.Join(found.Reasons...))
		})
	}
	return byWorker(found.Missing, owners)
}

// localDeleted are the partitions of this process that show nothing any more of what was deleted; nil: it has none.
func (n *node) localDeleted(ctx context.Context, before int64) *peers.Answer {
	if n.match == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, n.asker.Wait())
	defer cancel()
	return &peers.Answer{Partitions: n.match.crew.WaitDeleted(ctx, before)}
}

func allOf(partitions int) []int {
	all := make([]int, partitions)
	for q := range all {
		all[q] = q
	}
	return all
}

// byWorker are the partitions that nobody has answered for, by who should have.
func byWorker(missing []int, owners []peers.Owner) (all []httpsource.Behind) {
	for _, q := range missing {
		i := slices.IndexFunc(all, func(b httpsource.Behind) bool { return b.Worker == owners[q].Worker })
		if i < 0 {
			i, all = len(all), append(all, httpsource.Behind{Worker: owners[q].Worker})
		}
		all[i].Partitions = append(all[i].Partitions, q)
	}
	slices.SortFunc(all, func(a, b httpsource.Behind) int { return cmp.Compare(a.Worker, b.Worker) })
	return all
}
