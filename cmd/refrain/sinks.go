package main

import (
	"context"
	"fmt"
	"path/filepath"

	"refrain/ingest"
	"refrain/lookup"
	"refrain/publish"
)

// sink is something that follows the event topic until ctx ends.
type sink struct {
	name string
	run  func(ctx context.Context) error
}

// openSinks puts the readers of the event topic there that the configuration names.
func (s *service) openSinks(ctx context.Context) (err error) {
	if s.deadEvents.DeadLetters, err = ingest.OpenDeadLetters(filepath.Join(s.cfg.DataDir, "dead-events.jsonl")); err != nil {
		return err
	}
	return nil
}

// follow adds a sink that is handed event after event.
func (s *service) follow(name string, to publish.Sink) {
	s.sinks = append(s.sinks, sink{name, func(ctx context.Context) error {
		return publish.Follow(ctx, publish.FollowConfig{ReaderConfig: s.reader(name), Sink: to, Retry: true})
	}})
}

// reader is how a sink reads the events: from its cursor in the node's store.
func (s *service) reader(name string) publish.ReaderConfig {
	return publish.ReaderConfig{Topic: s.events, Store: s.store, Name: name, Deleted: s.isDeleted, Logger: s.log}
}

// deadEvents keeps the events that no sink can deliver in a file like that of the rejected posts.
type deadEvents struct{ *ingest.DeadLetters }

func (d deadEvents) Write(place, reason string, event []byte) error {
	return d.DeadLetters.Write([]ingest.Rejection{ingest.NewRejection(place, reason, event)})
}

func (d deadEvents) close() error {
	if d.DeadLetters == nil {
		return nil
	}
	return d.Close()
}

// webhooks are the endpoints, for the API.
type webhooks struct{ s *service }

func (w webhooks) Status() any { return []any{} }

func (w webhooks) Enable(_ context.Context, name string) error {
	return fmt.Errorf("webhook %s: %w", name, lookup.ErrUnknown)
}

// access is who may use the API.
func (s *service) access() (lookup.Access, error) {
	if len(s.cfg.Auth.Tokens) == 0 {
		return lookup.LoopbackOnly(), nil
	}
	tokens := make([]lookup.Token, len(s.cfg.Auth.Tokens))
	for i, t := range s.cfg.Auth.Tokens {
		secret, err := t.Token.Read()
		if err != nil {
			return nil, fmt.Errorf("configuration: auth.tokens[%d]: %w", i, err)
		}
		tokens[i] = lookup.Token{Name: t.Name, Token: secret}
		for _, scope := range t.Scopes {
			tokens[i].Scopes = append(tokens[i].Scopes, lookup.Scope(scope))
		}
	}
	return lookup.Tokens(tokens), nil
}
