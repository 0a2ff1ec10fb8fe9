package kafka

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"refrain/topic"
)

// registry is NAME-topics: what topics were made with, which Kafka has no place for. It is a log of one partition that
// nothing is ever dropped from, of a record for each time that a topic was created. All processes read the same log, so of
// those that open a new topic at once all believe the one whose record came first.
type registry struct {
	topic *Topic
	mu    sync.Mutex // one at a time
}

// entry is a record of the registry.
type entry struct {
	Topic      string            `json:"topic"`
	Generation int               `json:"generation"` // counts how often the topic was created
	ID         string            `json:"id"`         // of the incarnation
	Fixed      map[string]string `json:"fixed"`
}

func (c *Cluster) registryName() string { return c.cfg.Name + "-topics" }

func (c *Cluster) openRegistry(ctx context.Context, l *link) (*registry, error) {
	cfg := DefaultTopic()
	cfg.Name, cfg.MaxRecord, cfg.Now, cfg.Logger = c.registryName(), 1<<20-batchOverhead, c.cfg.Now, c.cfg.Logger
	if _, err := c.ensure(ctx, l, &spec{name: cfg.Name, partitions: 1, settings: c.settingsOf(&cfg)}); err != nil {
		return nil, fmt.Errorf("open topic %s: %w", cfg.Name, err)
	}
	return &registry{topic: newTopic(l, cfg)}, nil
}

// enter returns the entry of a topic, making one when it was created just now or has none.
func (r *registry) enter(ctx context.Context, cfg *TopicConfig, created bool) (*entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.find(ctx, cfg.Name)
	if err != nil {
		return nil, err
	}
	if e == nil || created {
		if e, err = r.add(ctx, cfg, e); err != nil {
			return nil, err
		}
	}
	return e, e.check(cfg)
}

func (r *registry) add(ctx context.Context, cfg *TopicConfig, last *entry) (*entry, error) {
	e := entry{Topic: cfg.Name, Generation: 1, ID: rand.Text()[:12], Fixed: cfg.Fixed}
	if last != nil {
		e.Generation = last.Generation + 1
	}
	data, err := json.Marshal(&e)
	if err != nil {
		return nil, err
	}
	if err := r.topic.Append(ctx, []topic.Record{{Data: data}}); err != nil {
		return nil, err
	}
	return r.find(ctx, cfg.Name)
}

// find reads the registry: the first entry of the last generation counts.
func (r *registry) find(ctx context.Context, name string) (found *entry, err error) {
	err = r.topic.readAll(ctx, func(record *topic.Record) error {
		var e entry
		if err := json.Unmarshal(record.Data, &e); err != nil {
			return fmt.Errorf("topic %s holds something else at %d: choose another topics.name: %w", r.topic.cfg.Name,
				record.Position, err)
		}
		if e.Topic == name && (found == nil || e.Generation > found.Generation) {
			found = &e
		}
		return nil
	})
	return found, err
}

// check compares the fixed settings. A process that knows one more than the topic was made with is refused too.
func (e *entry) check(cfg *TopicConfig) error {
	for _, key := range slices.Sorted(maps.Keys(cfg.Fixed)) {
		if have, ok := e.Fixed[key]; !ok || have != cfg.Fixed[key] {
			if !ok {
				have = "(none)"
			}
			return &topic.FixedError{Topic: cfg.Name, Setting: key, Is: have, Want: cfg.Fixed[key]}
		}
	}
	return nil
}

// readAll hands out what a topic of one partition holds now.
func (t *Topic) readAll(ctx context.Context, each func(*topic.Record) error) error {
	start, end, err := t.Bounds(ctx)
	if err != nil {
		return err
	}
	at := start[0]
	for at < end[0] {
		f, err := t.link.fetchNow(ctx, 0, at)
		if err != nil {
			return err
		}
		for i := range f.records {
			if err := each(f.records[i].decoded()); err != nil {
				return err
			}
		}
		at = f.next
	}
	return nil
}
