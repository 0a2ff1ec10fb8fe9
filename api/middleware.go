package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"refrain/internal/problem"
)

// checkQuery refuses query parameters that next does not know, all of them by name: a misspelt one would
// otherwise do nothing, silently. So would one that is there twice, and what is behind a semicolon.
func (a *handlers) checkQuery(known []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if detail := badQuery(r, known); detail != "" {
			a.refuse(w, r, "", "query", problem.Problem{
				Type: problem.BadParameter, Status: http.StatusBadRequest, Detail: detail,
			})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// maxUnknown bounds the parameters that an answer names.
const maxUnknown = 10

func badQuery(r *http.Request, known []string) string {
	if r.URL.RawQuery == "" {
		return ""
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // url.URL.Query leaves out what it cannot read
		return fmt.Sprintf("The query cannot be read: %s. Parameters are separated by &; a ; in a value is written %%3B.",
			truncate(err.Error()))
	}
	var unknown, twice []string
	for name, values := range query {
		if !slices.Contains(known, name) {
			unknown = append(unknown, truncate(name))
		} else if len(values) > 1 {
			twice = append(twice, name)
		}
	}
	slices.Sort(unknown)
	slices.Sort(twice)
	unknown = unknown[:min(len(unknown), maxUnknown)]
	switch {
	case len(unknown) == 0 && len(twice) > 0:
		return fmt.Sprintf("Query parameters that are there more than once: %s. Want each once.", strings.Join(twice, ", "))
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

type observedKey struct{}

// observedOf is what is noted of a request on its way.
func observedOf(r *http.Request) *observed {
	o, _ := r.Context().Value(observedKey{}).(*observed)
	return o
}

// observe measures every request, logs it at debug level, and turns a panic into a problem as long as nothing has been
// answered yet.
func (a *handlers) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &observed{ResponseWriter: w}
		r = r.WithContext(context.WithValue(r.Context(), observedKey{}, seen))
		defer func() {
			if cause := recover(); cause != nil {
				a.recovered(seen, r, cause)
			}
			took := time.Since(began)
			a.durations.add(r, seen.status, took)
			a.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request",
				slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", seen.status),
				slog.String("token", seen.who), slog.Int64("bytes", seen.bytes), slog.Duration("took", took))
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
	problem.Write(w, r, internalError)
}

// observed remembers what was answered.
type observed struct {
	http.ResponseWriter
	who    string // the name of the token
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
