package server

import (
	"errors"
	"fmt"
	"path/filepath"

	"refrain/api"
	"refrain/detector"
	"refrain/hashcodes"
	"refrain/models"
	"refrain/shard"
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
	m.window.Model = m.registry.InUse(m.n.log)
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
	for _, w := range m.workers {
		for _, q := range w.Owned() {
			cfg.Windows = append(cfg.Windows, sharedWindow{w, q, m.detectors[q]})
		}
	}
	m.models, err = models.New(cfg)
	return err
}

// sharedWindow is the window of one partition of a worker, between its turns.
type sharedWindow struct {
	worker    *shard.Worker
	partition int
	detector  *detector.Partition
}

var _ models.Window = sharedWindow{}

func (w sharedWindow) use(f func()) { w.worker.Locked(w.partition, f) }

func (w sharedWindow) Model() (m *hashcodes.Model) {
	w.use(func() { m = w.detector.Model() })
	return m
}

func (w sharedWindow) Recode(to *hashcodes.Model) {
	w.use(func() { w.detector.Recode(to) })
}

func (w sharedWindow) RecodeSome(texts int) (more bool) {
	w.use(func() { more = w.detector.RecodeSome(texts) })
	return more
}

func (w sharedWindow) Sets(from sigstore.Row, n int, visit func([]uint64)) (next sigstore.Row, more bool) {
	w.use(func() { next, more = w.detector.Sets(from, n, visit) })
	return next, more
}

func (w sharedWindow) Searches() models.Searches {
	v := w.detector.View()
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
