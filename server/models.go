package server

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"refrain/api"
	"refrain/detector"
	"refrain/hashcodes"
	"refrain/models"
	"refrain/sigstore"
	"refrain/text"
)

// openModels opens the models that were learned here, and lets the windows begin with the one in use.
func (m *matcher) openModels() (err error) {
	m.registry, err = models.OpenRegistry(filepath.Join(m.n.cfg.DataDir, "models"), m.window.Model,
		purposeOf(m.window.Measure()), m.n.log)
	if err != nil {
		return err
	}
	inUse := m.registry.InUse(m.n.log)
	for q := range m.n.cfg.Topics.Partitions {
		m.slots = append(m.slots, &windowSlot{of: m, partition: q, model: inUse})
	}
	return nil
}

// purposeOf is what codes are learned for: nothing is said of Jaccard, which was the only similarity once.
func purposeOf(m text.Measure) string {
	if m.Similarity == text.Jaccard {
		return m.Threshold.String()
	}
	return m.String()
}

// openKeeper makes the keeper of the windows' codes.
func (m *matcher) openKeeper() (err error) {
	c, cfg := m.n.cfg.Models, models.Default()
	cfg.Registry, cfg.Measure, cfg.Logger = m.registry, m.window.Measure(), m.n.log
	cfg.Every, cfg.Drift, cfg.Sentences, cfg.Vocabulary, cfg.Workers = c.Every, c.Drift, c.Sentences, c.Vocabulary, c.Workers
	for _, w := range m.slots {
		cfg.Windows = append(cfg.Windows, w)
	}
	m.models, err = models.New(cfg)
	return err
}

// windowSlot is the window of one partition, between the turns of its worker, or its place while the window is elsewhere.
type windowSlot struct {
	of        *matcher
	partition int

	mu    sync.Mutex
	model *hashcodes.Model // that the window has, or begins with
}

var _ models.Window = (*windowSlot)(nil)

func (w *windowSlot) current() *hashcodes.Model {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.model
}

func (w *windowSlot) set(to *hashcodes.Model) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.model = to
}

// use calls f with the window, if it is here.
func (w *windowSlot) use(f func(*detector.Partition)) {
	w.of.crew.Locked(w.partition, func() {
		if d := w.of.detector(w.partition); d != nil {
			f(d)
		}
	})
}

func (w *windowSlot) Model() *hashcodes.Model {
	w.use(func(d *detector.Partition) { w.set(d.Model()) })
	return w.current()
}

func (w *windowSlot) Recode(to *hashcodes.Model) {
	w.set(to)
	w.use(func(d *detector.Partition) { d.Recode(to) })
}

func (w *windowSlot) RecodeSome(texts int) (more bool) {
	w.use(func(d *detector.Partition) { more = d.RecodeSome(texts) })
	return more
}

func (w *windowSlot) Sets(from sigstore.Row, n int, visit func([]uint64)) (next sigstore.Row, more bool) {
	w.use(func(d *detector.Partition) { next, more = d.Sets(from, n, visit) })
	return next, more
}

func (w *windowSlot) Searches() (s models.Searches) {
	d := w.of.detector(w.partition)
	if d == nil {
		return s
	}
	v := d.View()
	return models.Searches{
		Lookups: v.Counts.Lookups, Candidates: v.Counts.Candidates, Similar: v.Counts.Similar, Texts: v.Window.Groups,
	}
}

// modelsAPI is what the HTTP API shows of the keeper.
type modelsAPI struct{ *models.Keeper }

var _ api.Models = modelsAPI{}

func (m modelsAPI) Learn() error { return asAPI(m.Keeper.Learn()) }

func (m modelsAPI) Use(id int) error { return asAPI(m.Keeper.Use(id)) }

// asAPI gives errors the names that the API knows.
func asAPI(err error) error {
	switch {
	case errors.Is(err, models.ErrBusy):
		return fmt.Errorf("%w: %w", api.ErrBusy, err)
	case errors.Is(err, models.ErrUnknown):
		return fmt.Errorf("%w: %w", api.ErrUnknown, err)
	}
	if damage := (*models.FileError)(nil); errors.As(err, &damage) {
		return fmt.Errorf("%w: %w", api.ErrUnusable, err)
	}
	return err
}
