package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"refrain/api"
	"refrain/internal/places"
	"refrain/publish"
)

// httpServer is the HTTP server of a service.
type httpServer struct {
	s      *Server
	server *http.Server
	events *publish.Events
	recent *api.Tail

	connections *connections
}

// latest is how many events the page at / shows.
const latest = 100

func newAPI(s *Server) (*httpServer, error) {
	a := &httpServer{s: s}
	cfg := api.Config{
		Origins: s.cfg.Auth.Origins, Limits: s.cfg.Limits.api(), Metrics: s.metrics(), Live: s.node.live, Ready: s.node.health.Holding,
		Roles: s.cfg.Roles, Logger: s.log,
	}
	if err := a.answer(&cfg); err != nil {
		return nil, err
	}
	a.connections = newConnections(s.cfg.Limits.Connections)
	access, err := s.access()
	if err != nil {
		return nil, err
	}
	cfg.Access, cfg.Crowded = access, a.connections.crowded
	h, err := api.New(cfg)
	if err != nil {
		return nil, err
	}
	all, err := s.node.withPeers(h)
	if err != nil {
		return nil, err
	}
	a.server = a.newServer(all)
	return a, nil
}

// answer sets what answers in each role.
func (a *httpServer) answer(cfg *api.Config) error {
	s := a.s
	if s.cfg.has(roleSplit) {
		cfg.Posts = s.http
	}
	if m := s.node.match; m != nil {
		cfg.Models = modelsAPI{m.models}
	}
	if s.cfg.has(rolePublish) {
		cfg.Webhooks = &s.webhooks
	}
	if !s.cfg.has(roleAPI) {
		return nil
	}
	a.recent = api.NewTail(s.node.events, latest)
	cfg.Index, cfg.Matcher, cfg.Recent, cfg.Explain = s.index, a, a.recent, a.explain
	if err := a.openEvents(); err != nil {
		return err
	}
	cfg.Events = a.events
	return nil
}

func (a *httpServer) openEvents() (err error) {
	cfg := publish.DefaultEvents()
	l := &a.s.cfg.Limits
	cfg.MaxClients, cfg.MaxBytes, cfg.WriteTimeout = l.Streams, int64(l.StreamBytes), l.WriteTimeout
	cfg.Client = func(r *http.Request) string { return places.Client(r, api.TokenName(r.Context())) }
	cfg.Topic, cfg.AwaitAccepted, cfg.Deleted, cfg.Logger = a.s.node.events, a.s.node.flush, a.s.node.isDeleted, a.s.log
	a.events, err = publish.NewEvents(cfg)
	return err
}

// shutdownTimeout is how long requests under way may take once the service is told to stop.
const shutdownTimeout = 4 * time.Second

// serve answers requests until ctx ends; then it finishes those under way.
func (a *httpServer) serve(ctx context.Context, l net.Listener) error {
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		stopped <- a.stop(stop)
	}()
	if err := a.server.Serve(a.connections.limit(l)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	if err := <-stopped; err != nil {
		a.s.log.Warn("some requests were cut off", "error", err)
	}
	return nil
}

// stop ends the streams of events, lets requests finish until ctx ends, and cuts off what is left. Uploads are given
// up a little earlier, so that their clients can still be told how far they got.
func (a *httpServer) stop(ctx context.Context) error {
	if a.events != nil {
		a.events.Close()
	}
	early, cancel := context.WithTimeout(ctx, shutdownTimeout*3/4)
	defer cancel()
	uploads := make(chan error, 1)
	go func() {
		if a.s.http == nil {
			uploads <- nil
			return
		}
		uploads <- a.s.http.Shutdown(early)
	}()
	err := errors.Join(a.server.Shutdown(ctx), <-uploads)
	return errors.Join(err, a.server.Close())
}

// metrics answers GET /metrics.
func (s *Server) metrics() http.Handler {
	if s.cfg.Metrics != nil {
		return s.cfg.Metrics
	}
	return http.NotFoundHandler()
}

// newServer sets the limits that keep strangers from holding connections for ever. What is read and written after the
// header has deadlines of its own, which package api sets.
func (a *httpServer) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, WriteTimeout: a.s.cfg.Limits.WriteTimeout,
		MaxHeaderBytes: int(a.s.cfg.Limits.HeaderBytes), ConnState: a.connections.observe, ConnContext: a.connections.remember,
	}
}

// followRecent keeps the page's events; the service goes on without.
func (s *Server) followRecent(ctx context.Context) error {
	if err := s.api.recent.Run(ctx); err != nil {
		s.log.Error("the page of events ends", "error", err)
	}
	return nil
}
