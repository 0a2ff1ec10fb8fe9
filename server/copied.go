package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"refrain/internal/migrate"
	"refrain/publish/webhook"
	"refrain/shard"
)

// OpenedTopics are the topics of a service that does not run, for who copies them. They are closed by Close.
type OpenedTopics struct {
	migrate.Deployment
	n *node
}

// OpenTopics opens the topics that a configuration names, creating those that are not there. It refuses while a service
// uses them, as far as that can be told.
func OpenTopics(ctx context.Context, cfg Config) (*OpenedTopics, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	n := &node{cfg: cfg, log: cfg.Logger, now: time.Now}
	t := &OpenedTopics{n: n}
	if err := t.open(ctx); err != nil {
		_ = n.close() // err says what is wrong
		return nil, err
	}
	return t, nil
}

func (t *OpenedTopics) open(ctx context.Context) (err error) {
	n := t.n
	if n.window, err = windowConfig(n.cfg.Window, n.log); err != nil {
		return err
	}
	if n.broker, err = n.openBroker(ctx); err != nil {
		return err
	}
	if err := n.limitTopics(ctx); err != nil {
		return err
	}
	n.copying = true
	if err := n.openTopics(ctx); err != nil {
		return err
	}
	if n.store, err = n.broker.openStore(ctx, "state"); err != nil {
		return err
	}
	t.Deployment = migrate.Deployment{Sentences: n.sentences, Events: n.events, Control: n.control, Store: n.store}
	return t.refuseInUse(ctx)
}

// refuseInUse names a worker that has said lately that it runs.
func (t *OpenedTopics) refuseInUse(ctx context.Context) error {
	for q := range t.n.cfg.Topics.Partitions {
		o, err := shard.ReadOwner(ctx, t.n.store, q)
		if err != nil {
			return err
		}
		if o != nil && !o.Released && time.Since(o.Time) < ownerSilence {
			return fmt.Errorf("topics %s are in use: worker %s (%s) owns partition %d: stop it, and wait for %v", t.n.cfg.Topics.Name,
				o.Worker, o.Address, q, ownerSilence)
		}
	}
	return nil
}

// Close gives the topics free.
func (t *OpenedTopics) Close() error { return t.n.close() }

// SinkNames are those of what follows the events of a configuration.
func (c *Config) SinkNames() (names []string) {
	for i := range c.Publish.Kafka {
		names = append(names, c.Publish.Kafka[i].Name)
	}
	for i := range c.Publish.NATS {
		names = append(names, c.Publish.NATS[i].Name)
	}
	for i := range c.Publish.Webhooks {
		names = append(names, c.Publish.Webhooks[i].Name)
	}
	return names
}

// CopiedKeys are the keys of the store that go along when the topics are copied.
func (c *Config) CopiedKeys() []string {
	keys := []string{authorKeyName}
	for i := range c.Publish.Webhooks {
		keys = append(keys, webhook.Key(c.Publish.Webhooks[i].Name), webhook.PausedKey(c.Publish.Webhooks[i].Name))
	}
	return keys
}
