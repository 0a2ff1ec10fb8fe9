package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"refrain/internal/problem"
)

// checkQuery refuses query parameters that next does not know, all of them by name: a misspelt one would
// otherwise do nothing, silently.
func checkQuery(known []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if detail := badQuery(r, known); detail != "" {
			problem.Write(w, r, problem.Problem{Status: http.StatusBadRequest, Detail: detail})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func badQuery(r *http.Request, known []string) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	var unknown []string
	for name := range r.URL.Query() {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	switch {
	case len(unknown) == 0:
		return ""
	case len(known) == 0:
		return fmt.Sprintf("Unknown query parameters: %s. There are none here.", strings.Join(unknown, ", "))
	}
	return fmt.Sprintf("Unknown query parameters: %s. Known here: %s.", strings.Join(unknown, ", "), strings.Join(known, ", "))
}

func onlyMethods(allowed []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.MethodNotAllowed(w, r, strings.Join(allowed, ", "))
	})
}

// check answers "ok", or 503 and why not.
func check(f func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(r.Context()); err != nil {
			problem.Write(w, r, problem.Problem{Status: http.StatusServiceUnavailable, Detail: err.Error(), RetryAfter: time.Second})
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, "ok\n")
	})
}

// observe logs every request at debug level, and turns a panic into a problem as long as nothing has been
// answered yet.
func (a *handlers) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &observed{ResponseWriter: w}
		defer func() {
			if cause := recover(); cause != nil {
				a.recovered(seen, r, cause)
			}
			a.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request",
				slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", seen.status),
				slog.Int64("bytes", seen.bytes), slog.Duration("took", time.Since(began)))
		}()
		next.ServeHTTP(seen, r)
	})
}

func (a *handlers) recovered(w *observed, r *http.Request, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler) // a handler that cuts its answer short means it
	}
	a.Logger.Error("panic", "method", r.Method, "path", r.URL.Path, "cause", cause, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler) // half an answer is out: let the client see that it is half
	}
	problem.Write(w, r, problem.Problem{Status: http.StatusInternalServerError, Detail: "The cause is in the server's log."})
}

// observed remembers what was answered.
type observed struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (o *observed) WriteHeader(status int) {
	if o.status == 0 && status >= 200 { // 1xx announce, they do not answer
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

func (o *observed) Write(p []byte) (int, error) {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	n, err := o.ResponseWriter.Write(p)
	o.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }
