package models

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/sigstore"
)

// Why a model is learned.
const (
	schedule = "schedule"
	drifted  = "drift"
	request  = "request"
)

// learn learns a model and has the windows take it on if it is better than theirs.
func (k *Keeper) learn(ctx context.Context, why string) {
	k.cfg.Logger.Info("models: learning", "why", why)
	id, m, err := k.learnOne(ctx, why)
	if err == nil {
		err = k.cfg.Registry.SetCurrent(id)
	}
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errNotReplaced):
		k.metrics.learned(ctx, "kept")
		k.resetDrift() // as it is now is how it should be
		k.finish(err.Error())
	case err != nil:
		k.metrics.learned(ctx, "failed")
		k.cfg.Logger.Error("models: learning fails; the model in use stays", "error", err)
		k.setStatus(nothing, "%v", err)
	default:
		k.metrics.learned(ctx, "taken_on")
		k.use(ctx, id, m)
	}
}

func (k *Keeper) resetDrift() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drift.reset()
}

func (k *Keeper) finish(how string) {
	k.cfg.Logger.Info("models: " + how)
	k.setStatus(nothing, "%s", how)
}

// errNotReplaced says that there is no better model to be had.
var errNotReplaced = errors.New("the model in use stays")

// learnOne learns a model from the windows and puts it into the registry; errNotReplaced says why not.
func (k *Keeper) learnOne(ctx context.Context, why string) (id int, m *hashcodes.Model, err error) {
	began, used := k.cfg.Now(), k.Model()
	if err := k.noteTried(began); err != nil {
		return 0, nil, err
	}
	sample, err := k.sample(ctx, used)
	if err != nil {
		return 0, nil, err
	}
	before := k.cost(ctx, used, sample)
	if why != request && before.PerQuery() < minFalsePerQuery {
		return 0, nil, fmt.Errorf("%w: %.3g false candidates a query are too few to gain anything", errNotReplaced,
			before.PerQuery())
	}
	k.setStatus(learning, "from %d texts", len(sample.Learning))
	if m, _, err = k.learner().Learn(ctx, sample); err != nil {
		return 0, nil, err
	}
	after := k.cost(ctx, m, sample)
	if err := ctx.Err(); err != nil { // then the costs are not whole
		return 0, nil, err
	}
	if !after.Beats(before) && (why != request || after.False >= before.False) {
		return 0, nil, fmt.Errorf("%w: %.3g false candidates a query, %.3g with codes learned anew", errNotReplaced,
			before.PerQuery(), after.PerQuery())
	}
	now := k.cfg.Now()
	k.cfg.Logger.Info("models: learned", "false_candidates_before", before.PerQuery(), "after", after.PerQuery(), "took",
		now.Sub(began).Round(time.Millisecond))
	id, err = k.cfg.Registry.Add(m, Entry{
		Why: why, LearnedAt: now.UTC(), Sentences: len(sample.Learning), Before: before.PerQuery(), After: after.PerQuery(),
	})
	return id, m, err
}

func (k *Keeper) noteTried(now time.Time) error {
	k.mu.Lock()
	k.learns = now
	k.mu.Unlock()
	return k.cfg.Registry.SetTried(now)
}

// sample is some of the windows' texts. Windows that had no room for the model in use are tried again first: one that has
// none now would have none for the next model.
func (k *Keeper) sample(ctx context.Context, used *hashcodes.Model) (*train.Sample, error) {
	if _, refused := k.change(ctx, used); refused > 0 {
		return nil, fmt.Errorf("%w: %d of %d windows have no room to change their codes within window.budget",
			errNotReplaced, refused, len(k.cfg.Windows))
	}
	k.setStatus(learning, "reading the texts of the windows")
	s := train.Collect(k.sets(ctx), k.cfg.Sentences, seed)
	if n := len(s.Learning) + len(s.Validation); n < k.cfg.MinSentences {
		return nil, fmt.Errorf("%w: the windows hold %d texts, too few to learn from; %d would do", errNotReplaced, n,
			k.cfg.MinSentences)
	}
	return s, ctx.Err()
}

// minFalsePerQuery: with fewer false candidates a query there is nothing to gain.
const minFalsePerQuery = 0.05

// seed is of the trainings: what a window holds is random enough.
const seed = 1

// learner learns codes of the shape that the configuration has, whatever the shape of those in use.
func (k *Keeper) learner() train.Config {
	base, _ := k.cfg.Registry.Load(0)
	return train.Config{
		Learner: "direct", Bits: base.Bits(), Ones: base.Ones(), Measure: k.cfg.Measure, Vocabulary: k.cfg.Vocabulary,
		Seed: seed, Sources: []string{"the window"}, Workers: k.cfg.Workers,
		Progress: func(s string) { k.setStatus(learning, "%s", s) },
	}
}

// cost counts what the newest texts of a sample would cost, searched for among all of them.
func (k *Keeper) cost(ctx context.Context, m *hashcodes.Model, s *train.Sample) train.Cost {
	return train.Count(ctx, m, k.cfg.Measure, s.Validation, slices.Concat(s.Learning, s.Validation))
}

// sets yields the token sets of all windows, setsPerTurn from each in turn, so that they come in about the order of time:
// a window is not held for long.
func (k *Keeper) sets(ctx context.Context) iter.Seq[[]uint64] {
	const setsPerTurn = 512
	return func(yield func([]uint64) bool) {
		var chunk flat
		next := make([]sigstore.Row, len(k.cfg.Windows))
		more := true
		for more && ctx.Err() == nil {
			more = false
			for i, w := range k.cfg.Windows {
				chunk.clear()
				var unread bool
				next[i], unread = w.Sets(next[i], setsPerTurn, chunk.add)
				more = more || unread
				if !chunk.each(yield) {
					return
				}
			}
		}
	}
}

// flat holds sets side by side.
type flat struct {
	items []uint64
	ends  []int
}

func (f *flat) clear() { f.items, f.ends = f.items[:0], f.ends[:0] }

func (f *flat) add(set []uint64) {
	f.items = append(f.items, set...)
	f.ends = append(f.ends, len(f.items))
}

func (f *flat) each(yield func([]uint64) bool) bool {
	from := 0
	for _, end := range f.ends {
		if !yield(f.items[from:end]) {
			return false
		}
		from = end
	}
	return true
}
