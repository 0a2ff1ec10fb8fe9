// Package server is the service: it takes posts in, finds what they repeat, and gives out events, with everything in one
// process and its topics in a data directory. `refrain serve` runs it; other programs may embed it.
//
//	cfg := server.Default()
//	cfg.DataDir, cfg.HTTP = dir, "127.0.0.1:0"
//	s, err := server.New(cfg)
//	...
//	go s.Run(ctx)      // until ctx ends
//	err = s.Ready(ctx) // then POST /v1/posts and GET /v1/events answer at s.Addr()
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"refrain/ingest"
	httpsource "refrain/ingest/http"
	"refrain/internal/memory"
	"refrain/internal/quota"
	"refrain/lookup"
	"refrain/publish"
	"refrain/topic"
)

// Server is a node with its sources, its sinks and its HTTP API. What it answers, it answers over HTTP. AddSource
// comes before Run; the other methods may be called from any goroutine.
type Server struct {
	cfg Config
	log *slog.Logger

	node        *node
	listener    net.Listener
	route       route
	http        *httpsource.Source
	sources     []source
	lazySources []*lazySource                 // those of them that are behind a network
	firstTries  []func(context.Context) error // to open what is behind a network
	runners     []runner                      // what one process runs of all that share the topics
	ownRunners  []func(context.Context) error // what each process runs for itself
	closers     []io.Closer                   // to be closed when all of that has ended
	api         *httpServer
	webhooks    webhooks
	index       *lookup.Index // nil: there is none

	now    func() time.Time // for stamps and watermarks
	disk   disk             // nil: the topics are as they are
	quotas quotas

	ran   atomic.Bool
	ready chan struct{} // closed when the API answers
	ended chan struct{} // closed when Run has returned err
	err   error
}

// source is one that posts come from.
type source struct {
	name string
	ingest.Source
	status *ingest.Status
}

// New checks a configuration and makes a server of it, which begins with Run. The error names everything that is wrong.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Server{cfg: cfg, log: cfg.Logger, now: cfg.Now, ready: make(chan struct{}), ended: make(chan struct{})}
	s.quotas = quotas{log: cfg.Logger, now: time.Now, warning: rate.Sometimes{Interval: time.Minute}}
	return s, nil
}

// Run makes a server and runs it, and another one whenever the topics have become others (ErrTopicsChanged), until ctx ends.
func Run(ctx context.Context, cfg Config) error {
	for {
		s, err := New(cfg)
		if err != nil {
			return err
		}
		err = s.Run(ctx)
		if !errors.Is(err, ErrTopicsChanged) || ctx.Err() != nil {
			return err
		}
		s.log.Error("starting again", "error", err)
	}
}

// AddSource adds a source of posts to those of the configuration, before Run. Its batches are tried again until they are
// durable. It is closed, if it can be, when it has ended.
func (s *Server) AddSource(name string, src ingest.Source) {
	s.sources = append(s.sources, source{name: name, Source: src})
}

// Ready waits until the API answers. It returns the error of Run, should that end before, or ctx's.
func (s *Server) Ready(ctx context.Context) error {
	select {
	case <-s.ended: // also where it was ready once
		return s.endError()
	default:
	}
	select {
	case <-s.ready:
		return nil
	case <-s.ended:
		return s.endError()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) endError() error { return errors.Join(errors.New("the server has ended"), s.err) }

// Addr is where the API answers, host and port, once it is Ready.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Follow hands the events to a sink, from the oldest that is kept, until ctx ends, and then returns nil; an error of the
// sink ends it too, and is returned. Ready must have returned nil. name is what logs and metrics call the sink.
func (s *Server) Follow(ctx context.Context, name string, to publish.Sink) error {
	// Its position is kept for as long as it lasts.
	reader := publish.ReaderConfig{
		Topic: s.node.events, Store: &topic.MemoryStore{}, Name: name, Deleted: s.node.isDeleted, Logger: s.log,
	}
	return publish.Follow(ctx, publish.FollowConfig{ReaderConfig: reader, Sink: to})
}

// Run opens the data directory and serves until ctx ends; then it finishes what was accepted. It returns nil, or what
// ended it. A Server runs once.
func (s *Server) Run(ctx context.Context) (err error) {
	if s.ran.Swap(true) {
		return errors.New("the server has run already: make another")
	}
	defer close(s.ended)
	defer func() { s.err = err }()
	if err := s.open(ctx); err != nil {
		if errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) {
			err = nil // told to stop before it was open
		}
		return errors.Join(err, s.closeSources(), s.close())
	}
	s.log.Info("serving", "http", "http://"+s.Addr(), "data", s.cfg.DataDir, "measure", s.cfg.Window.Measure, "threshold", s.cfg.Window.Threshold, "span",
		s.cfg.Window.Span.String(),
		"engine", s.cfg.Window.Engine, "model", s.node.model().Name())
	if s.node.start != nil {
		s.node.start.started.Store(true)
	}
	close(s.ready)
	defer context.AfterFunc(ctx, func() { s.log.Info("stopping: what was accepted is finished first") })()
	err = s.serve(ctx)
	s.log.Info("stopped")
	return err
}

func (s *Server) open(ctx context.Context) (err error) {
	// The address first: a port that is taken is the commonest mistake, and the quickest to find.
	if s.listener, err = net.Listen("tcp", s.cfg.HTTP); err != nil {
		return fmt.Errorf("http %s: %w", s.cfg.HTTP, err)
	}
	s.logStart()
	begin, err := s.beginStarting()
	if err != nil {
		return err
	}
	return errors.Join(s.openParts(ctx, begin.setReason), begin.finish())
}

// openParts opens what the route is made of. waiting is told what that waits for.
func (s *Server) openParts(ctx context.Context, waiting func(error)) (err error) {
	s.quotas.openMetrics()
	if s.node, err = openNode(ctx, s.cfg, s.now, s.disk, &s.quotas, s.Addr(), waiting); err != nil {
		return err
	}
	s.webhooks.n = s.node
	s.quotas.pace = newPace(&s.cfg.Quotas, s.node)
	for _, open := range []struct {
		role string
		open func(context.Context) error
	}{
		{roleSplit, s.openDoors}, {roleAPI, s.openIndex}, {rolePublish, s.openSinks},
	} {
		if s.cfg.has(open.role) || open.role == roleAPI && s.cfg.has(roleLookup) {
			if err := open.open(ctx); err != nil {
				return err
			}
		}
	}
	if err := s.openFirst(ctx); err != nil {
		return err
	}
	if err := s.openHealth(); err != nil {
		return err
	}
	s.api, err = newAPI(s)
	return err
}

// openDoors opens what posts come through.
func (s *Server) openDoors(ctx context.Context) error {
	limits := s.quotaConfig(s.node.cfg.Topics.SentenceBytes) // which may be by the disk
	s.quotas.initSeries(&limits)
	s.quotas.counted = quota.New(limits)
	dead, err := s.node.openDeadLetters(ctx, deadPosts)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, dead)
	deletions, err := newDeletions(s.node)
	if err != nil {
		return err
	}
	s.route = route{
		split: s.node.split, deletions: deletions, dead: dead, quotas: &s.quotas, posts: newPostLog(s.log),
		roomIn: s.node.roomIn, log: s.log,
	}
	if err := s.openSources(ctx); err != nil {
		return err
	}
	return s.openStatuses()
}

// serve runs all parts until ctx ends, and then stops in the order of the route: the sources stop, what they handed on
// becomes durable, the workers store where they are, the topics close.
func (s *Server) serve(ctx context.Context) error {
	workers, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkers()
	var match, others errgroup.Group
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if m := s.node.match; m != nil {
		match.Go(func() error { return failing(fail, m.run(workers)) })
	}
	for _, part := range s.parts() {
		others.Go(func() error { return failing(fail, part(failed)) })
	}
	err := others.Wait()
	stopWorkers()
	return errors.Join(err, match.Wait(), s.close())
}

// parts are what runs beside the workers.
func (s *Server) parts() []func(context.Context) error {
	n := s.node
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return s.api.serve(ctx, s.listener) },
		s.tick, n.catchUp, n.purge, n.watchSpace, n.watchTopics, n.watchLetters, n.health.run,
	}
	if n.owners != nil {
		parts = append(parts, n.owners.run, n.followDeletions, n.watchClock, n.watchStrangers)
	}
	if s.cfg.has(roleAPI) {
		parts = append(parts, s.followRecent)
	}
	if n.match != nil {
		parts = append(parts, n.match.models.Run)
	}
	if c := n.canaries; c != nil {
		parts = append(parts, c.parts()...)
	}
	if s.http != nil {
		parts = append(parts, s.runHTTP)
	}
	for _, src := range s.sources {
		parts = append(parts, func(ctx context.Context) error { return s.runSource(ctx, src) })
	}
	return append(append(parts, s.ownRunners...), s.runnerParts()...)
}

// failing ends the whole service when one of its parts fails.
func failing(fail context.CancelCauseFunc, err error) error {
	if err != nil {
		fail(err)
	}
	return err
}

// runHTTP carries what clients post. It ends by itself when the API stops, after what that has accepted.
func (s *Server) runHTTP(ctx context.Context) error {
	return s.ends("http", ingest.Run(context.WithoutCancel(ctx), s.http, s.route.handle))
}

// runSource carries what a source has until there is no more, or ctx ends.
func (s *Server) runSource(ctx context.Context, src source) error {
	defer func() { _ = src.close() }() // there is nothing left to lose
	handle := func(ctx context.Context, b *ingest.Batch) error {
		b.Sender = string(quota.Feed(src.name))
		release, err := s.quotas.await(ctx, b, s.node.split.Touch)
		if err != nil {
			return err
		}
		defer release()
		return s.route.handleRetrying(ctx, src.name, b)
	}
	err := ingest.Run(ctx, src, handle)
	if err == nil { // it has ended; one that failed stays down
		src.status.Close()
	}
	return s.ends(src.name, err)
}

// ends is nil: the service goes on without a source.
func (s *Server) ends(name string, err error) error {
	if err != nil {
		s.log.Error("source ends", "source", name, "error", err)
	}
	return nil
}

func (s source) close() error {
	if c, ok := s.Source.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// closeSources closes those that never ran.
func (s *Server) closeSources() error {
	var errs []error
	for _, src := range s.sources {
		errs = append(errs, src.close())
	}
	return errors.Join(errs...)
}

// close closes what open has opened, in reverse.
func (s *Server) close() error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		errs = append(errs, c.Close())
	}
	for _, src := range s.sources {
		src.status.Close()
	}
	if s.node != nil {
		errs = append(errs, s.node.close())
	}
	if s.listener != nil {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) { // the API has closed it, if it ever ran
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// tick does what is due every second: watermarks, and memory back to the system.
func (s *Server) tick(ctx context.Context) error {
	var release memory.Keeper
	if m := s.node.match; m == nil {
		memory.Limit(s.node.tombstoneLimit()) // which such a process holds too
	} else {
		// A service makes more garbage than detect, and all its goroutines wait for each collection a little: with 6 MiB
		// between two of them posts went through a fifth more slowly.
		release = memory.Keeper{Garbage: 32 << 20, Budget: m.budget}
	}
	return every(ctx, time.Second, func(ctx context.Context) {
		s.touchWaiting()
		s.node.logHeld()
		if s.node.split != nil {
			s.node.split.Tick(context.WithoutCancel(ctx), s.now())
		}
		if m := s.node.match; m != nil {
			release.Holds(m.total().Bytes)
		}
	})
}

// Texts is the number of texts in the windows of this process, once the server is Ready.
func (s *Server) Texts() int64 {
	if s.node.match == nil {
		return 0
	}
	return int64(s.node.match.total().Groups)
}
