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

// entry is a record of the registry: a topic was created, or has lost records since.
type entry struct {
	Topic      string            `json:"topic"`
	Generation int               `json:"generation"` // counts how often the topic was created
	ID         string            `json:"id"`         // of the incarnation
	Partitions int               `json:"partitions,omitempty"`
	Fixed      map[string]string `json:"fixed,omitempty"`
	// From is where the partitions ended when the incarnation began; nil where the topic was created with it.
	From []int64 `json:"from,omitempty"`
}

func (c *Cluster) registryName() string { return c.cfg.Name + "-topics" }

func (c *Cluster) openRegistry(ctx context.Context, l *link) (*registry, error) {
	cfg := DefaultTopic()
	cfg.Name, cfg.MaxRecord, cfg.Now, cfg.Logger = c.registryName(), 1<<20-batchOverhead, c.cfg.Now, c.cfg.Logger
	if _, err := c.ensure(ctx, l, &spec{name: cfg.Name, partitions: 1, made: 1, settings: c.settingsOf(&cfg)}); err != nil {
		return nil, fmt.Errorf("open topic %s: %w", cfg.Name, err)
	}
	return &registry{topic: newTopic(l, cfg)}, nil
}

// last returns the entry of a topic that may not exist any more; one of generation 0 where there is none.
func (r *registry) last(ctx context.Context, name string) (*entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := r.find(ctx, name)
	if len(all) == 0 {
		return &entry{}, err
	}
	return &all[0], err
}

// ensure returns the entries of a topic, making one if it has none. last is what the registry said before the topic was looked
// for; fresh, that it did not exist then: who creates it first, and who finds that somebody was quicker, want the same next
// generation, and the first of their entries counts.
func (r *registry) ensure(ctx context.Context, cfg *TopicConfig, last *entry, fresh bool) ([]entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	generation := max(1, last.Generation)
	if fresh {
		generation = last.Generation + 1
	}
	all, err := r.find(ctx, cfg.Name)
	if err == nil && (len(all) == 0 || all[0].Generation < generation) {
		err = r.add(ctx, &entry{Topic: cfg.Name, Generation: generation, Partitions: cfg.Partitions, Fixed: cfg.Fixed})
		if err == nil {
			all, err = r.find(ctx, cfg.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("topic %s does not hold what was just written", r.topic.cfg.Name)
	}
	return all, all[0].check(cfg)
}

// addIncarnation makes an incarnation of a topic that is what it was up to these positions. Several processes may do so at once: then
// there are several, of which the last counts.
func (r *registry) addIncarnation(ctx context.Context, name string, kept []int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	e := entry{Topic: name, Generation: 1, From: kept}
	if len(all) > 0 {
		e.Generation = all[0].Generation
	}
	return r.add(ctx, &e)
}

func (r *registry) add(ctx context.Context, e *entry) error {
	e.ID = rand.Text()[:12]
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return r.topic.Append(ctx, []topic.Record{{Data: data}})
}

// find reads the registry: of the last generation of a topic the first entry that created it counts, and behind it all
// incarnations that have begun since.
func (r *registry) find(ctx context.Context, name string) (found []entry, err error) {
	err = r.topic.readAll(ctx, func(record *topic.Record) error {
		var e entry
		if err := json.Unmarshal(record.Data, &e); err != nil {
			return fmt.Errorf("topic %s holds something else at %d: choose another topics.name: %w", r.topic.cfg.Name,
				record.Position, err)
		}
		switch {
		case e.Topic != name:
		case len(found) == 0 || e.Generation > found[0].Generation:
			found = []entry{e}
		case e.Generation == found[0].Generation && e.From != nil:
			found = append(found, e)
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
		f, err := t.link.fetchNow(ctx, 0, at, firstAnswer)
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
