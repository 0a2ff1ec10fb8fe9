package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"refrain/api"
	"refrain/internal/problem"
)

// starting answers while a process opens what it needs, which may take as long as a broker is away: that it lives, and is
// not ready, and why. All other requests are told to come again, but for those of streams of events, which wait: a browser
// comes back by itself when a connection is cut, and never after an error.
type starting struct {
	server   *http.Server
	listener *net.TCPListener
	opened   chan struct{} // closed by finish
	done     chan struct{}

	mu  sync.Mutex
	why error // what it waits for; nil: nothing
}

const (
	retryStarting = 5 * time.Second  // when clients shall come again that come too early
	maxStreamWait = 10 * time.Second // of a stream, before it is cut: then its client is told apart from one that has gone
)

// beginStarting answers on the listener until finish.
func (s *Server) beginStarting() (*starting, error) {
	l, ok := s.listener.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("http %s: %T is no TCP listener", s.cfg.HTTP, s.listener)
	}
	b := &starting{listener: l, opened: make(chan struct{}), done: make(chan struct{})}
	access, err := s.access()
	if err != nil {
		return nil, err
	}
	health, err := api.New(api.Config{
		Origins: s.cfg.Auth.Origins, Limits: s.cfg.Limits.api(), Metrics: s.metrics(), Access: access, Logger: s.log,
		Live: func(context.Context) error { return nil }, Ready: b.conditions, Roles: []string{"starting"},
	})
	if err != nil {
		return nil, err
	}
	b.server = &http.Server{Handler: b.onlyHealth(health), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 2 * maxStreamWait,
		MaxHeaderBytes: int(s.cfg.Limits.HeaderBytes)}
	b.server.SetKeepAlivesEnabled(false) // the next request is for another server
	go func() {
		defer close(b.done)
		_ = b.server.Serve(lent{l}) // it ends with finish
	}()
	return b, nil
}

// onlyHealth lets questions about the process through.
func (b *starting) onlyHealth(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez", "/readyz", "/metrics":
			h.ServeHTTP(w, r)
		case "/v1/events":
			b.abort(r.Context())
		default:
			w.Header().Set("Refresh", "1") // browsers ask for the page again, others do not care
			problem.Write(w, r, problem.Problem{Type: problem.NotReady, Status: http.StatusServiceUnavailable,
				RetryAfter: retryStarting, Detail: "The server is starting: /readyz says what it waits for. Send it again later."})
		}
	})
}

// abort ends a connection without an answer once all is open, or it has waited for long enough.
func (b *starting) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxStreamWait)
	defer cancel()
	select {
	case <-b.opened:
	case <-ctx.Done():
	}
	panic(http.ErrAbortHandler)
}

// lent is a listener that goes on to another server: its Close only ends Accept.
type lent struct{ *net.TCPListener }

func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// setReason notes what the process waits for.
func (b *starting) setReason(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.why = why
}

func (b *starting) conditions(context.Context) []api.Condition {
	c := api.Condition{Name: "starting", Means: "The process is starting: it waits for the broker of the topics, or for another deployment that uses them, " +
		"or reads what is stored."}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why != nil {
		c.Detail = b.why.Error()
	}
	return []api.Condition{c}
}

// finish ends the answers, and leaves the listener to its next server.
func (b *starting) finish() error {
	close(b.opened)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.server.Shutdown(ctx) != nil { // somebody sends slowly
		_ = b.server.Close()
	}
	<-b.done
	return b.listener.SetDeadline(time.Time{})
}
