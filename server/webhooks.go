package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"refrain/api"
	"refrain/internal/rotated"
	"refrain/publish/webhook"
	"refrain/text"
)

// The delivery log keeps its size: the file and two older ones.
const (
	deliveryLogBytes = 16 << 20
	deliveryLogs     = 2
)

func (s *Server) openWebhooks(endpoints []Webhook) error {
	if len(endpoints) == 0 {
		return nil
	}
	log, err := rotated.Open(rotated.Config{
		Path: filepath.Join(s.cfg.DataDir, "webhooks.log"), MaxBytes: deliveryLogBytes, Old: deliveryLogs,
	})
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
		s.webhooks = append(s.webhooks, e)
		s.sinks = append(s.sinks, e.Run)
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

// webhooks are the endpoints, for the API.
type webhooks []*webhook.Endpoint

func (w webhooks) Status() []webhook.Status {
	all := make([]webhook.Status, len(w))
	for i, e := range w {
		all[i] = e.Status()
	}
	return all
}

func (w webhooks) Find(name string) api.Webhook {
	for _, e := range w {
		if e.Name == name {
			return e
		}
	}
	return nil
}
