package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"refrain/api"
	"refrain/publish/webhook"
	"refrain/text"
)

func (s *Server) openWebhooks(ctx context.Context, endpoints []Webhook) error {
	if len(endpoints) == 0 {
		return nil
	}
	log, err := s.node.openDeliveryLog(ctx)
	if err != nil {
		return err
	}
	deps := webhook.Deps{
		Topic: s.node.events, Store: s.node.store, Deleted: s.node.isDeleted, DeadLetters: s.node.deadEvents,
		Letters: s.node.deadEvents, Log: log, Past: log, Deployment: s.cfg.deployment(), Logger: s.log, Version: s.cfg.Version,
	}
	s.closers = append(s.closers, log)
	for i := range endpoints {
		cfg, err := webhookConfig(&endpoints[i])
		if err != nil {
			return fmt.Errorf("publish.webhooks[%d]: %w", i, err)
		}
		e, err := webhook.New(cfg, deps)
		if err != nil {
			return err
		}
		h := &hook{n: s.node, endpoint: e, fresh: func() (*webhook.Endpoint, error) { return webhook.New(cfg, deps) }}
		s.webhooks.hooks = append(s.webhooks.hooks, h)
		s.addRunner(rolePublish, cfg.Name, h.run)
	}
	return nil
}

func webhookConfig(w *Webhook) (cfg webhook.Config, err error) {
	cfg = webhook.Default()
	cfg.Name, cfg.URL, cfg.Headers, cfg.AllowPrivate = w.Name, w.URL, map[string]string{}, w.AllowPrivate
	cfg.Filter = webhook.Filter{Types: w.Types, Languages: w.Languages, MinOccurrences: w.MinOccurrences, OtherAuthors: w.OtherAuthors}
	cfg.Array = w.BatchFormat == "array"
	w.pace(&cfg)
	var errs []error
	if w.Threshold != "" {
		cfg.Filter.Threshold, err = text.ParseThreshold(w.Threshold)
		errs = append(errs, err)
	}
	for _, secret := range w.Secrets {
		value, err := secret.Read()
		cfg.Secrets, errs = append(cfg.Secrets, value), append(errs, err)
	}
	for name, secret := range w.Headers {
		cfg.Headers[name], err = secret.Read()
		errs = append(errs, err)
	}
	for _, network := range w.Allow {
		prefix, err := netip.ParsePrefix(network)
		cfg.Allow, errs = append(cfg.Allow, prefix), append(errs, err)
	}
	return cfg, errors.Join(errs...)
}

// pace sets when requests are made, and how many: 0 and [] in an entry of the file mean the default.
func (w *Webhook) pace(cfg *webhook.Config) {
	cfg.Batch, cfg.BatchWait = cmp.Or(w.Batch, cfg.Batch), cmp.Or(w.BatchWait, cfg.BatchWait)
	cfg.Timeout, cfg.Concurrency, cfg.Pending = cmp.Or(w.Timeout, cfg.Timeout), cmp.Or(w.Concurrency, cfg.Concurrency),
		cmp.Or(w.Pending, cfg.Pending)
	if len(w.Retries) > 0 {
		cfg.Retries = w.Retries
	}
}

// hook is an endpoint that may run here, and stop, and run here again.
type hook struct {
	n       *node
	fresh   func() (*webhook.Endpoint, error)
	running atomic.Bool

	mu       sync.Mutex
	endpoint *webhook.Endpoint // that runs, or ran last
	ran      bool
}

// run runs the endpoint. Each time it is another: what an earlier one knew of it may have changed elsewhere.
func (h *hook) run(ctx context.Context) error {
	e, err := h.next()
	if err != nil {
		return err
	}
	h.running.Store(true)
	defer h.running.Store(false)
	if !h.n.cfg.onBroker() {
		return e.Run(ctx)
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() { h.n.putPlace(ctx, e.Name) })
	return e.Run(ctx)
}

func (h *hook) next() (*webhook.Endpoint, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ran {
		h.ran = true
		return h.endpoint, nil
	}
	e, err := h.fresh()
	if err == nil {
		h.endpoint = e
	}
	return e, err
}

func (h *hook) current() *webhook.Endpoint {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.endpoint
}

// webhooks are the endpoints, for the API.
type webhooks struct {
	n     *node
	hooks []*hook
}

var _ api.Webhooks = (*webhooks)(nil)

// Status implements api.Webhooks.
func (w *webhooks) Status(r *http.Request) []webhook.Status {
	all := make([]webhook.Status, len(w.hooks))
	var asking sync.WaitGroup
	for i, h := range w.hooks {
		asking.Go(func() { all[i] = w.status(r, h) })
	}
	asking.Wait()
	return all
}

func (w *webhooks) status(r *http.Request, h *hook) webhook.Status {
	s := h.current().Status()
	if !w.n.cfg.onBroker() || h.running.Load() {
		return s
	}
	err := errNobodyRuns
	if r.Header.Get(askedOn) == "" {
		var there *webhook.Status
		if there, err = w.remoteStatus(r, s.Name); err == nil {
			return *there
		}
	}
	return webhook.Status{Name: s.Name, URL: s.URL, State: webhook.Unknown, Since: s.Since, Lag: -1, Last: &webhook.Last{Error: err.Error()}}
}

// Find implements api.Webhooks.
func (w *webhooks) Find(name string) api.Webhook {
	if h := w.find(name); h != nil {
		return h.current()
	}
	return nil
}

func (w *webhooks) find(name string) *hook {
	i := slices.IndexFunc(w.hooks, func(h *hook) bool { return h.current().Name == name })
	if i < 0 {
		return nil
	}
	return w.hooks[i]
}
