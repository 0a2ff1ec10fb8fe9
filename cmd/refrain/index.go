package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"refrain/internal/problem"
	"refrain/lookup"
	"refrain/lookup/boltstore"
	"refrain/lookup/redisstore"
	"refrain/publish"
)

// openIndex follows the events with the index of reuse. Its cursor is in its own store: where that comes back empty or
// older, the index is made again from there.
func (s *service) openIndex(ctx context.Context) error {
	store, err := s.openIndexStore(ctx)
	if err != nil || store == nil {
		return err
	}
	if r, ok := store.(*redisstore.Store); ok {
		if err := r.Ping(ctx); err != nil {
			return errors.Join(fmt.Errorf("lookup.redis.url: %w", err), store.Close())
		}
	}
	if s.index, err = lookup.NewIndex(lookup.IndexConfig{Store: store, Deleted: s.isDeleted, Logger: s.log}); err != nil {
		return errors.Join(err, store.Close())
	}
	reader := s.reader("lookup")
	reader.Store, reader.Deleted = store, nil // the index itself leaves out what is deleted, and keeps the rest of an event
	s.follow(reader, indexSink{s.index, store}, store)
	return nil
}

func (s *service) openIndexStore(ctx context.Context) (lookup.Store, error) {
	retention := time.Duration(s.cfg.Lookup.Retention)
	if retention == 0 {
		retention = s.window.Span
	}
	switch s.cfg.Lookup.Store {
	case "embedded":
		return boltstore.Open(boltstore.Config{Path: filepath.Join(s.cfg.DataDir, "lookup.db"), Retention: retention})
	case "redis":
		url, err := s.cfg.Lookup.Redis.URL.Read()
		if err != nil {
			return nil, fmt.Errorf("configuration: lookup.redis.url: %w", err)
		}
		owner, err := s.identity(ctx)
		if err != nil {
			return nil, err
		}
		return redisstore.Open(redisstore.Config{URL: url, Prefix: s.cfg.Lookup.Redis.Prefix, Owner: owner, Retention: retention, Logger: s.log})
	}
	return nil, nil
}

// identity names the data directory: its event topic, and the cursors in it.
func (s *service) identity(ctx context.Context) (string, error) {
	const key = "identity"
	id, err := s.store.Get(ctx, key)
	if err != nil || id != nil {
		return string(id), err
	}
	name := rand.Text()
	return name, s.store.Put(ctx, key, []byte(name))
}

// indexSink hands events to the index.
type indexSink struct {
	*lookup.Index
	store lookup.Store
}

func (x indexSink) Publish(ctx context.Context, events []publish.Event) error {
	data := make([][]byte, len(events))
	for i := range events {
		data[i] = events[i].Data
	}
	return rewind(x.Index.Publish(ctx, data))
}

// Check implements publish.Checker: an index in Redis that comes back empty is to be made again also when there are no
// new events.
func (x indexSink) Check(ctx context.Context) error {
	if c, ok := x.store.(publish.Checker); ok {
		return rewind(c.Check(ctx))
	}
	return nil
}

func rewind(err error) error {
	if errors.Is(err, lookup.ErrRewound) {
		return fmt.Errorf("%w: %w", publish.ErrRewind, err)
	}
	return err
}

// noIndex answers where there is no index.
var noIndex = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	problem.Write(w, r, problem.Problem{Status: http.StatusNotFound, Detail: "This server keeps no index: lookup.store is none."})
})

// answers are the handlers of the index.
func (s *service) answers() (reuse, text, author http.Handler) {
	if s.index == nil {
		return noIndex, noIndex, noIndex
	}
	return http.HandlerFunc(s.index.ServeReuse), http.HandlerFunc(s.index.ServeText), http.HandlerFunc(s.index.ServeAuthor)
}
