package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

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
		h := &hook{endpoint: e, fresh: func() (*webhook.Endpoint, error) { return webhook.New(cfg, deps) }}
		s.webhooks = append(s.webhooks, h)
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
	fresh func() (*webhook.Endpoint, error)

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
type webhooks []*hook

func (w webhooks) Status() []webhook.Status {
	all := make([]webhook.Status, len(w))
	for i, h := range w {
		all[i] = h.current().Status()
	}
	return all
}

func (w webhooks) Find(name string) api.Webhook {
	for _, h := range w {
		if e := h.current(); e.Name == name {
			return e
		}
	}
	return nil
}
