package models

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"refrain/hashcodes"
	"refrain/internal/check"
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

// Config says when models are learned, and how. Default has all but Registry, Windows and Measure.
type Config struct {
	Registry *Registry
	Windows  []Window // one or more
	Measure  text.Measure

	Every        time.Duration // a model is learned this often; 0: never
	Drift        float64       // and when false candidates have become so many times those just after the last change; 0: never
	Sentences    int           // learned from, at most; not below MinSentences
	MinSentences int           // with fewer nothing is learned; 1 or more
	Vocabulary   int           // words that get codes of their own, at most; 1 or more
	Workers      int           // goroutines that learn; 1 or more: 1 leaves the other cores to the posts

	Now    func() time.Time
	Logger *slog.Logger
}

// Default learns once a day, and when the feed has drifted.
func Default() Config {
	return Config{
		Every: 24 * time.Hour, Drift: 2, Sentences: 100_000, MinSentences: 5000, Vocabulary: 10_000, Workers: 1,
		Now: time.Now, Logger: slog.Default(),
	}
}

func (c *Config) validate() error {
	return errors.Join(
		check.Set("registry", c.Registry != nil), check.Set("windows", len(c.Windows) > 0),
		check.Set("measure", c.Measure.Threshold.Den > 0),
		check.AtLeast(0, "every", c.Every), check.AtLeast(0, "drift", c.Drift),
		check.AtLeast(1, "fewest", c.MinSentences), check.AtLeast(c.MinSentences, "sentences", c.Sentences),
		check.AtLeast(1, "vocabulary", c.Vocabulary), check.AtLeast(1, "workers", c.Workers),
		check.Set("now", c.Now != nil), check.Set("logger", c.Logger != nil),
	)
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
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	k := &Keeper{cfg: cfg, orders: make(chan order, 1)}
	k.status.Doing, k.status.Detail, k.status.Changed = nothing, cfg.Registry.fallbackReason(), len(cfg.Windows)
	_, current := cfg.Registry.List()
	k.model, k.learns = cfg.Windows[0].Model(), k.lastLearned()
	k.loaded = map[int]*hashcodes.Model{current: k.model}
	var err error
	if k.metrics, err = newMetrics(k); err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	return k, nil
}

// Close ends what others are shown of it. It comes after Run.
func (k *Keeper) Close() { k.metrics.stop() }

// minFirstDelay is how long after a start the first training by the schedule comes, at the earliest: windows are being
// filled.
const minFirstDelay = 10 * time.Minute

// lastLearned is when a training last began, as if in this run: a service that is started every day learns too.
func (k *Keeper) lastLearned() time.Time {
	now, last := k.cfg.Now(), k.cfg.Registry.Tried()
	earliest := now.Add(min(minFirstDelay, k.cfg.Every) - k.cfg.Every)
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
// the one in use before Use returns. The error is ErrBusy, or why the model cannot be had: see Registry.Load.
func (k *Keeper) Use(id int) error {
	if !k.begin(changing) {
		return ErrBusy
	}
	m, err := k.load(id)
	if err == nil {
		err = k.cfg.Registry.SetCurrent(id)
	}
	if err != nil {
		k.setStatus(nothing, "%v", err)
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
	m, err := k.cfg.Registry.Load(id)
	if damage := (*FileError)(nil); errors.As(err, &damage) {
		k.cfg.Logger.Error("models: a model cannot be read; the one in use stays", "file", k.cfg.Registry.file(id), "error", err)
	}
	return m, err
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

func (k *Keeper) setStatus(doing, format string, args ...any) {
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
	k.drift.observe(now, all)
	since := now.Sub(k.learns)
	switch {
	case k.cfg.Every > 0 && since >= k.cfg.Every:
		return schedule
	case k.cfg.Drift > 0 && since >= minTrainingInterval && k.drift.level() >= k.cfg.Drift:
		return drifted
	}
	return ""
}
