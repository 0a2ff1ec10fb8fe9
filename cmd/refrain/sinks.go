package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"time"

	"refrain/api"
	"refrain/ingest"
	"refrain/internal/config"
	"refrain/publish"
	kafkasink "refrain/publish/kafka"
	natssink "refrain/publish/nats"
	"refrain/publish/webhook"
	"refrain/text"
)

// openSinks puts the readers of the event topic there that the configuration names.
func (s *service) openSinks(ctx context.Context) error {
	letters, err := ingest.OpenDeadLetters(filepath.Join(s.cfg.DataDir, "dead-events.jsonl"))
	if err != nil {
		return err
	}
	s.deadEvents, s.closers = deadEvents{letters}, append(s.closers, letters)
	p := &s.cfg.Publish
	for i := range p.Kafka {
		if err := s.publishKafka(ctx, &p.Kafka[i]); err != nil {
			return fmt.Errorf("publish.kafka[%d]: %w", i, err)
		}
	}
	for i := range p.NATS {
		if err := s.publishNATS(ctx, &p.NATS[i]); err != nil {
			return fmt.Errorf("publish.nats[%d]: %w", i, err)
		}
	}
	if err := s.openWebhooks(p.Webhooks); err != nil {
		return err
	}
	return s.openIndex(ctx)
}

// reader is how a sink reads the events: from its cursor in the node's store.
func (s *service) reader(name string) publish.ReaderConfig {
	return publish.ReaderConfig{Topic: s.events, Store: s.store, Name: name, Deleted: s.isDeleted, Logger: s.log}
}

// follow adds a sink that is handed batch after batch, and closed at the end.
func (s *service) follow(cfg publish.FollowConfig, closer io.Closer) {
	s.closers = append(s.closers, closer)
	cfg.Retry = true
	s.sinks = append(s.sinks, func(ctx context.Context) error { return publish.Follow(ctx, cfg) })
}

// followLate adds a sink that is behind a network.
func (s *service) followLate(ctx context.Context, name string, open func(context.Context) (publish.Sink, error)) error {
	to := new(lateSink)
	to.open = open
	if err := to.try(ctx, name, s.log); err != nil {
		return err
	}
	s.follow(publish.FollowConfig{ReaderConfig: s.reader(name), Sink: to}, to)
	return nil
}

func (s *service) publishKafka(ctx context.Context, k *config.KafkaSink) error {
	conn, err := kafkaConn(&k.KafkaCluster)
	if err != nil {
		return err
	}
	cfg := kafkasink.Config{Conn: conn, Topic: k.Topic, Name: k.Name, DeadLetters: s.deadEvents, Logger: s.log}
	return s.followLate(ctx, k.Name, func(ctx context.Context) (publish.Sink, error) { return kafkasink.Open(ctx, cfg) })
}

func (s *service) publishNATS(ctx context.Context, n *config.NATSSink) error {
	conn, err := natsConn(&n.NATSServer)
	if err != nil {
		return err
	}
	cfg := natssink.Config{Name: n.Name, Conn: conn, Subject: n.Subject, DeadLetters: s.deadEvents, Logger: s.log}
	return s.followLate(ctx, n.Name, func(ctx context.Context) (publish.Sink, error) { return natssink.Open(ctx, cfg) })
}

// The delivery log keeps its size: the file and two older ones.
const (
	deliveryLogBytes = 16 << 20
	deliveryLogs     = 2
)

func (s *service) openWebhooks(endpoints []config.Webhook) error {
	if len(endpoints) == 0 {
		return nil
	}
	log, err := webhook.OpenLog(filepath.Join(s.cfg.DataDir, "webhooks.log"), deliveryLogBytes, deliveryLogs)
	if err != nil {
		return err
	}
	deps := webhook.Deps{
		Topic: s.events, Store: s.store, Deleted: s.isDeleted, DeadLetters: s.deadEvents, Log: log, Logger: s.log, Version: buildVersion(),
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

func webhookConfig(w *config.Webhook) (cfg webhook.Config, err error) {
	cfg = webhook.Config{
		Name: w.Name, URL: w.URL, Headers: map[string]string{}, Batch: w.Batch, BatchWait: time.Duration(w.BatchWait),
		Timeout: time.Duration(w.Timeout), Concurrency: w.Concurrency, Pending: w.Pending, AllowPrivate: w.AllowPrivate,
		Filter: webhook.Filter{Languages: w.Languages, MinOccurrences: w.MinOccurrences, OtherAuthors: w.OtherAuthors},
	}
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
	for _, r := range w.Retries {
		cfg.Retries = append(cfg.Retries, time.Duration(r))
	}
	for _, network := range w.Allow {
		prefix, err := netip.ParsePrefix(network)
		cfg.Allow, errs = append(cfg.Allow, prefix), append(errs, err)
	}
	return cfg, errors.Join(errs...)
}

// deadEvents keeps the events that no sink can deliver in a file like that of the rejected posts.
type deadEvents struct{ *ingest.DeadLetters }

func (d deadEvents) Write(place, reason string, event []byte) error {
	return d.DeadLetters.Write([]ingest.Rejection{ingest.NewRejection(place, reason, event)})
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

func (w webhooks) Enable(ctx context.Context, name string) error {
	for _, e := range w {
		if e.Name == name {
			return e.Enable(ctx)
		}
	}
	return fmt.Errorf("webhook %s: %w", name, api.ErrUnknown)
}
