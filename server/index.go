package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"refrain/lookup"
	"refrain/lookup/boltstore"
	"refrain/lookup/redisstore"
	"refrain/publish"
	"refrain/topic"
)

// openIndex opens the index where it is asked, or follows the events.
func (s *Server) openIndex(ctx context.Context) error {
	store, err := s.openIndexStore(ctx)
	if err != nil || store == nil {
		return err
	}
	if s.index, err = lookup.NewIndex(lookup.IndexConfig{Store: store, Deleted: s.node.isDeleted, Logger: s.log}); err != nil {
		return errors.Join(err, store.Close())
	}
	s.closers = append(s.closers, store)
	if s.cfg.has(roleLookup) {
		return s.followIndex(ctx, store)
	}
	return nil
}

// followIndex follows the events with the index of reuse. Its cursor is in its own store: where that comes back empty or
// older, the index is made again from there.
func (s *Server) followIndex(ctx context.Context, store lookup.Store) error {
	to := &indexSink{index: s.index, store: store, events: s.node.events}
	if cursor, err := store.Get(ctx, publish.Key("lookup")); err == nil && cursor == nil { // new, or emptied meanwhile
		if err := to.setMissing(ctx); err != nil {
			return err
		}
	}
	reader := s.reader("lookup")
	// the index itself leaves out what is deleted, and keeps the rest
	reader.Store, reader.Deleted = indexCursor{store, to}, nil
	cfg := publish.FollowConfig{ReaderConfig: reader, Sink: to, Check: to.check, Gather: 4000, Busy: s.node.behind, Retry: true}
	if s.cfg.Lookup.Store == "embedded" { // each process that has one follows the events for itself
		s.ownRunners = append(s.ownRunners, func(ctx context.Context) error { return publish.Follow(ctx, cfg) })
		return nil
	}
	s.follow(roleLookup, cfg, nil)
	return nil
}

func (s *Server) openIndexStore(ctx context.Context) (lookup.Store, error) {
	retention := s.cfg.Lookup.Retention
	if retention == 0 {
		retention = s.node.window.Span
	}
	switch s.cfg.Lookup.Store {
	case "embedded":
		cfg := boltstore.Default()
		cfg.Path, cfg.Retention, cfg.Logger = filepath.Join(s.cfg.DataDir, "lookup.db"), retention, s.log
		return boltstore.Open(cfg)
	case "redis":
		return s.openRedis(ctx, retention)
	}
	return nil, nil
}

// openRedis fails where Redis does not let us in. One that cannot be reached now is tried again later.
func (s *Server) openRedis(ctx context.Context, retention time.Duration) (lookup.Store, error) {
	url, err := s.cfg.Lookup.Redis.URL.Read()
	if err != nil {
		return nil, fmt.Errorf("configuration: lookup.redis.url: %w", err)
	}
	owner, err := s.identity(ctx)
	if err != nil {
		return nil, err
	}
	cfg := redisstore.Default()
	cfg.URL, cfg.Prefix, cfg.Owner = url, cmp.Or(s.cfg.Lookup.Redis.Prefix, cfg.Prefix), owner
	cfg.Retention, cfg.Logger = retention, s.log
	r, err := redisstore.Open(cfg)
	if err != nil {
		return nil, err
	}
	if err := r.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("lookup.redis.url: %w", err), r.Close())
	}
	return r, nil
}

// identity names the data directory: its event topic, and the cursors in it.
func (s *Server) identity(ctx context.Context) (string, error) {
	const key = "identity"
	id, err := s.node.store.Get(ctx, key)
	if err != nil || id != nil {
		return string(id), err
	}
	name := rand.Text()
	return name, s.node.store.Put(ctx, key, []byte(name))
}

// indexSink hands events to the index. When the store has lost what it held, the index is incomplete until it has been
// given again what the topic held then.
type indexSink struct {
	index  *lookup.Index
	store  lookup.Store
	events topic.Topic

	missing map[int]int64 // by partition: the position below which events are to be given again
}

func (x *indexSink) Publish(ctx context.Context, events []publish.Event) error {
	converted := make([]lookup.Event, len(events))
	for i := range events {
		converted[i] = lookup.Event{Data: events[i].Data, FoundAt: events[i].FoundAt}
	}
	if err := x.index.Publish(ctx, converted); err != nil {
		return x.rewind(ctx, err)
	}
	for i := range events {
		if p, at := events[i].Position(); at+1 >= x.missing[p] {
			delete(x.missing, p)
		}
	}
	x.index.Incomplete(len(x.missing) > 0)
	return nil
}

// check: an index that comes back empty is to be made again also when there are no new events. It is called when there
// is nothing more to read.
func (x *indexSink) check(ctx context.Context) error {
	if err := x.store.Check(ctx); err != nil {
		return x.rewind(ctx, err)
	}
	x.missing = nil
	x.index.Incomplete(false)
	return nil
}

// rewind turns the store's error for having lost something into that of publish, and marks the index incomplete.
func (x *indexSink) rewind(ctx context.Context, err error) error {
	if !errors.Is(err, lookup.ErrRewound) {
		return err
	}
	return errors.Join(fmt.Errorf("%w: %w", publish.ErrRewind, err), x.setMissing(ctx))
}

func (x *indexSink) setMissing(ctx context.Context) error {
	start, end, err := x.events.Bounds(ctx)
	if err != nil {
		return err
	}
	x.missing = map[int]int64{}
	for p := range end {
		if end[p] > start[p] {
			x.missing[p] = end[p]
		}
	}
	x.index.Incomplete(len(x.missing) > 0)
	return nil
}

// indexCursor is where the cursor of the index is kept: with the data. A store may find out only when the cursor is
// stored that it has lost something.
type indexCursor struct {
	lookup.Store
	sink *indexSink
}

func (c indexCursor) Put(ctx context.Context, key string, value []byte) error {
	if err := c.Store.Put(ctx, key, value); err != nil {
		return c.sink.rewind(ctx, err)
	}
	return nil
}
