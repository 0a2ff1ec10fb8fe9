package models

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/sigstore"
	"refrain/text"
)

// Window is one whose codes a Keeper keeps. Its methods, but for Searches, wait until nobody else uses the window, and are
// short.
type Window interface {
	Model() *hashcodes.Model
	// Recode begins a change of codes, RecodeSome goes on with it by about so many texts: see sigstore.Window.
	Recode(to *hashcodes.Model)
	RecodeSome(texts int) (more bool)
	// Sets visits up to n token sets from a row on, and says where to go on.
	Sets(from sigstore.Row, n int, visit func(tokens []uint64)) (next sigstore.Row, more bool)
	// Searches tells without waiting.
	Searches() Searches
}

// Config says when models are learned, and how. Registry, Windows and Threshold are required.
type Config struct {
	Registry  *Registry
	Windows   []Window
	Threshold text.Threshold

	Every      time.Duration // a model is learned this often; 0: never
	Drift      float64       // and when false candidates have become so many times those just after the last change; 0: never
	Sentences  int           // learned from, at most; 0: 100,000
	Fewest     int           // with fewer nothing is learned; 0: 5,000, or Sentences if that is less
	Vocabulary int           // words that get codes of their own, at most; 0: 10,000
	Workers    int           // goroutines that learn; 0: 1, which leaves the other cores to the posts

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: slog.Default()
}

func (c Config) withDefaults() Config {
	setDefault(&c.Sentences, 100_000)
	setDefault(&c.Fewest, min(5_000, c.Sentences))
	setDefault(&c.Vocabulary, 10_000)
	setDefault(&c.Workers, 1)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault(v *int, to int) {
	if *v == 0 {
		*v = to
	}
}

// Keeper learns models and hands them to windows, one thing at a time, in Run. Other methods are for any goroutine.
type Keeper struct {
	cfg     Config
	orders  chan order
	metrics *metrics

	mu     sync.Mutex
	status Status
	drift  drift
	model  *hashcodes.Model         // in use
	loaded map[int]*hashcodes.Model // those that windows may have: what is loaded again would be another
	learns time.Time                // when the last training began
}

// order is something that was asked for: a model to be taken on, or, without one, to be learned.
type order struct {
	use   int
	model *hashcodes.Model
}

// Status is what a Keeper does.
type Status struct {
	Current int       `json:"current"`
	Doing   string    `json:"doing"`           // nothing, learning or changing
	Detail  string    `json:"detail"`          // how far that is, or how the last thing ended
	Changed int       `json:"windows_changed"` // windows that have the codes of the current model,
	Windows int       `json:"windows"`         // of all
	Drift   float64   `json:"drift"`           // false candidates, in times those after the last change; 0: not known yet
	Models  []Entry   `json:"models"`
	Next    time.Time `json:"next,omitzero"` // when a model will be learned by the schedule
}

// What a Keeper may be doing.
const (
	nothing  = "nothing"
	learning = "learning"
	changing = "changing"
)

// New returns a Keeper of windows that have the codes of the registry's model in use.
func New(cfg Config) (*Keeper, error) {
	k := &Keeper{cfg: cfg.withDefaults(), orders: make(chan order, 1)}
	k.status.Doing, k.status.Changed = nothing, len(cfg.Windows)
	_, current := cfg.Registry.List()
	k.model, k.learns = cfg.Windows[0].Model(), k.lastLearned()
	k.loaded = map[int]*hashcodes.Model{current: k.model}
	var err error
	if k.metrics, err = newMetrics(k); err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	return k, nil
}

// soon is how long after a start the first training by the schedule comes, at the earliest: windows are being filled.
const soon = 10 * time.Minute

// lastLearned is when a training last began, as if in this run: a service that is started every day learns too.
func (k *Keeper) lastLearned() time.Time {
	now, last := k.cfg.Now(), k.cfg.Registry.Tried()
	earliest := now.Add(min(soon, k.cfg.Every) - k.cfg.Every)
	switch {
	case last.After(now):
		return now
	case last.Before(earliest):
		return earliest
	}
	return last
}

// ErrBusy says that a model is being learned or handed out.
var ErrBusy = errors.New("a model is being learned or taken on")

// Use asks for a model of the registry to be taken on, whichever is in use: 0 is that of the configuration. It is noted as
// the one in use before Use returns.
func (k *Keeper) Use(id int) error {
	if !k.begin(changing) {
		return ErrBusy
	}
	m, err := k.load(id)
	if err == nil {
		err = k.cfg.Registry.SetCurrent(id)
	}
	if err != nil {
		k.say(nothing, "%v", err)
		return err
	}
	k.orders <- order{id, m} // there is room: only one is under way
	return nil
}

// load reads a model, but for those that windows may have.
func (k *Keeper) load(id int) (*hashcodes.Model, error) {
	k.mu.Lock()
	m := k.loaded[id]
	k.mu.Unlock()
	if m != nil {
		return m, nil
	}
	return k.cfg.Registry.Load(id)
}

// Learn asks for a model to be learned now, and taken on if it is better by however little.
func (k *Keeper) Learn() error {
	if !k.begin(learning) {
		return ErrBusy
	}
	k.orders <- order{}
	return nil
}

// begin notes what is done from now on, if nothing is yet.
func (k *Keeper) begin(doing string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.status.Doing != nothing {
		return false
	}
	k.status.Doing, k.status.Detail = doing, ""
	return true
}

func (k *Keeper) say(doing, format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.Doing, k.status.Detail = doing, fmt.Sprintf(format, args...)
}

// Status tells what is going on.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.status
	s.Models, s.Current = k.cfg.Registry.List()
	s.Windows = len(k.cfg.Windows)
	s.Drift = k.drift.level()
	if k.cfg.Every > 0 {
		s.Next = k.learns.Add(k.cfg.Every)
	}
	return s
}

// Model is the one in use: while it is handed out, not all windows have it.
func (k *Keeper) Model() *hashcodes.Model {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.model
}

// Run does what is asked for and what is due, until ctx ends. What is under way then is given up: after the next start
// the windows have the model in use.
func (k *Keeper) Run(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-k.orders:
			k.do(ctx, o)
		case <-t.C:
			if why := k.due(k.cfg.Now()); why != "" && k.begin(learning) {
				k.learn(ctx, why)
			}
		}
	}
}

func (k *Keeper) do(ctx context.Context, o order) {
	if o.model == nil {
		k.learn(ctx, request)
		return
	}
	k.use(ctx, o.use, o.model)
}

// due says why a model should be learned now; "": it should not.
func (k *Keeper) due(now time.Time) string {
	var all Searches
	for _, w := range k.cfg.Windows {
		all.add(w.Searches())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drift.look(now, all)
	since := now.Sub(k.learns)
	switch {
	case k.cfg.Every > 0 && since >= k.cfg.Every:
		return schedule
	case k.cfg.Drift > 0 && since >= rest && k.drift.level() >= k.cfg.Drift:
		return drifted
	}
	return ""
}

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
	case errors.Is(err, errKept):
		k.metrics.learned(ctx, "kept")
		k.resetDrift() // as it is now is how it should be
		k.finish(err.Error())
	case err != nil:
		k.metrics.learned(ctx, "failed")
		k.cfg.Logger.Error("models: learning fails; the model in use stays", "error", err)
		k.say(nothing, "%v", err)
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
	k.say(nothing, "%s", how)
}

// errKept says that there is no better model to be had.
var errKept = errors.New("the model in use stays")

// learnOne learns a model from the windows and puts it into the registry; errKept says why not.
func (k *Keeper) learnOne(ctx context.Context, why string) (id int, m *hashcodes.Model, err error) {
	now := k.cfg.Now()
	k.mu.Lock()
	k.learns = now
	k.mu.Unlock()
	if err := k.cfg.Registry.SetTried(now); err != nil {
		return 0, nil, err
	}
	used := k.Model()
	if _, refused := k.change(ctx, used); refused > 0 {
		return 0, nil, fmt.Errorf("%w: %d of %d windows have no room to change their codes within window.budget", errKept, refused, len(k.cfg.Windows))
	}
	k.say(learning, "reading the texts of the windows")
	sample := train.Collect(k.sets(ctx), k.cfg.Sentences, seed)
	if n := len(sample.Learning) + len(sample.Validation); n < k.cfg.Fewest {
		return 0, nil, fmt.Errorf("%w: the windows hold %d texts, too few to learn from; %d would do", errKept, n, k.cfg.Fewest)
	}
	before := k.cost(ctx, used, sample)
	if why != request && before.PerQuery() < little {
		return 0, nil, fmt.Errorf("%w: %.3g false candidates a query are too few to gain anything", errKept, before.PerQuery())
	}
	k.say(learning, "from %d texts", len(sample.Learning))
	if m, _, err = k.learner().Learn(ctx, sample); err != nil {
		return 0, nil, err
	}
	after := k.cost(ctx, m, sample)
	if !isBetter(before, after) && (why != request || after.False >= before.False) {
		return 0, nil, fmt.Errorf("%w: %.3g false candidates a query, %.3g with codes learned anew", errKept, before.PerQuery(), after.PerQuery())
	}
	k.cfg.Logger.Info("models: learned", "false_candidates_before", before.PerQuery(), "after", after.PerQuery(), "took", k.cfg.Now().Sub(now).Round(time.Millisecond))
	id, err = k.cfg.Registry.Add(m, Entry{
		Why: why, Made: k.cfg.Now().UTC(), Sentences: len(sample.Learning), Before: before.PerQuery(), After: after.PerQuery(),
	})
	return id, m, err
}

// little: with fewer false candidates a query there is nothing to gain.
const little = 0.05

// isBetter reports whether the gain is at least 5 %, and more than chance makes: counts of rare things differ by about
// their root.
func isBetter(before, after train.Cost) bool {
	gain := float64(before.False - after.False)
	return gain >= 0.05*float64(before.False) && gain > 2*math.Sqrt(float64(before.False+after.False))
}

// seed is of the trainings: what a window holds is random enough.
const seed = 1

// learner learns codes of the shape that the configuration has, whatever the shape of those in use.
func (k *Keeper) learner() train.Config {
	base, _ := k.cfg.Registry.Load(0)
	return train.Config{
		Learner: "direct", Bits: base.Bits(), Ones: base.Ones(), Threshold: k.cfg.Threshold, Vocabulary: k.cfg.Vocabulary,
		Seed: seed, Sources: []string{"the window"}, Workers: k.cfg.Workers,
		Say: func(s string) { k.say(learning, "%s", s) },
	}
}

// cost counts what the newest texts of a sample would cost, searched for among all of them.
func (k *Keeper) cost(ctx context.Context, m *hashcodes.Model, s *train.Sample) train.Cost {
	return train.Count(ctx, m, k.cfg.Threshold, s.Validation, slices.Concat(s.Learning, s.Validation))
}

// sets yields the token sets of all windows, from each some in turn, so that they come in about the order of time. It
// holds a window for some hundred texts at a time.
func (k *Keeper) sets(ctx context.Context) iter.Seq[[]uint64] {
	const some = 512
	return func(yield func([]uint64) bool) {
		var chunk flat
		next := make([]sigstore.Row, len(k.cfg.Windows))
		more := true
		for more && ctx.Err() == nil {
			more = false
			for i, w := range k.cfg.Windows {
				chunk.clear()
				var rest bool
				next[i], rest = w.Sets(next[i], some, chunk.add)
				more = more || rest
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

// use has the windows take a model on.
func (k *Keeper) use(ctx context.Context, id int, m *hashcodes.Model) {
	k.mu.Lock()
	k.model, k.loaded[id] = m, m
	k.mu.Unlock()
	began := k.cfg.Now()
	done, refused := k.change(ctx, m)
	if ctx.Err() != nil {
		return
	}
	k.metrics.changed(ctx, done, refused, k.cfg.Now().Sub(began))
	if refused > 0 {
		how := fmt.Sprintf("model %d, %s, is to be used, but %d of %d windows have no room to change their codes within window.budget: they will have it after a restart",
			id, m.Name(), refused, len(k.cfg.Windows))
		k.cfg.Logger.Warn("models: " + how)
		k.say(nothing, "%s", how)
		return
	}
	k.forget(id)
	k.resetDrift()
	k.finish(fmt.Sprintf("model %d, %s, is in use", id, m.Name()))
}

// forget lets go of the models that no window has any more, once all have one.
func (k *Keeper) forget(but int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.loaded, func(id int, _ *hashcodes.Model) bool { return id != but })
}

// change has the windows that have another model take m on, one after the other, and counts those that did, and those that
// have no room for it.
func (k *Keeper) change(ctx context.Context, m *hashcodes.Model) (done, refused int) {
	for i, w := range k.cfg.Windows {
		if w.Model() == m {
			continue
		}
		k.changed(i - refused)
		k.say(changing, "window %d of %d takes %s on", i+1, len(k.cfg.Windows), m.Name())
		w.Recode(m)
		for more := true; more && ctx.Err() == nil; {
			more = recodeSome(ctx, w)
		}
		if w.Model() == m {
			done++
		} else {
			refused++
		}
	}
	k.changed(len(k.cfg.Windows) - refused)
	return done, refused
}

// changed notes how many windows have the current model.
func (k *Keeper) changed(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.Changed = n
}

// recodeSome goes on with a change for a moment, and then leaves the window to the posts for as long.
func recodeSome(ctx context.Context, w Window) (more bool) {
	const some = 512
	began := time.Now()
	more = w.RecodeSome(some)
	select {
	case <-ctx.Done():
	case <-time.After(time.Since(began)):
	}
	return more
}
