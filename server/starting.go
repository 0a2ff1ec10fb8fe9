package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"refrain/api"
	"refrain/internal/problem"
)

// starting answers while the process waits for a broker: that it is alive, what it waits for, and nothing else yet. Else
// whoever watches it would hear nothing at all, and start it again for that.
type starting struct {
	server   *http.Server
	listener *lentListener
	served   chan struct{} // closed when Serve has returned

	mu      sync.Mutex
	waiting error // for what; nil: for nothing in particular
}

// lentListener is given back by Close, and stays open.
type lentListener struct{ *net.TCPListener }

// Close implements net.Listener: it ends an Accept that waits.
func (l *lentListener) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// startAnswering answers on a listener until stop; where nobody shares the topics, nothing is waited for, and it is nil.
func (s *Server) startAnswering() (*starting, error) {
	l, is := s.listener.(*net.TCPListener)
	if !is || !s.cfg.onBroker() {
		return nil, nil
	}
	a := &starting{listener: &lentListener{l}, served: make(chan struct{})}
	h, err := a.handler(s)
	if err != nil {
		return nil, err
	}
	a.server = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() {
		defer close(a.served)
		if err := a.server.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Warn("nobody is told what this process waits for", "error", err)
		}
	}()
	return a, nil
}

// handler is the API, as far as it asks nobody.
func (a *starting) handler(s *Server) (http.Handler, error) {
	access, err := s.access()
	if err != nil {
		return nil, err
	}
	health, err := api.New(api.Config{
		Access: access, Origins: s.cfg.Auth.Origins, Limits: s.cfg.Limits.api(), Metrics: s.metrics(), Roles: []string{}, Logger: s.log,
		Live: func(context.Context) error { return nil }, Ready: a.conditions,
	})
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains([]string{"/livez", "/readyz", "/metrics"}, r.URL.Path) {
			health.ServeHTTP(w, r)
			return
		}
		problem.Write(w, r, problem.Problem{Type: problem.NotReady, Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
			Detail: "The process is starting; /readyz says what it waits for."})
	}), nil
}

func (a *starting) conditions(context.Context) []api.Condition {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := api.Condition{Name: "starting", Means: "The process is starting."}
	if a.waiting != nil {
		c.Means, c.Detail = "The process is starting, and waits for the broker of the topics.", a.waiting.Error()
	}
	return []api.Condition{c}
}

// waitsFor notes what is waited for. a may be nil.
func (a *starting) waitsFor(err error) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = err
}

// stop gives the listener back. a may be nil.
func (a *starting) stop() error {
	if a == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := a.server.Shutdown(ctx); err != nil {
		_ = a.server.Close() // what is still being answered is cut off
	}
	<-a.served
	return a.listener.SetDeadline(time.Time{})
}
