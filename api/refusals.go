package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/problem"
)

// refusalPause is between two lines of the log about refusals: who guesses tokens does not fill it.
const refusalPause = time.Second

// refusals counts requests that were refused, and logs them now and then.
type refusals struct {
	logger  *slog.Logger
	now     func() time.Time
	refused metric.Int64Counter

	mu         sync.Mutex
	next       time.Time // before it nothing is logged
	suppressed int       // refused since the last line
}

func newRefusals(logger *slog.Logger) *refusals {
	refused, err := otel.Meter("refrain/api").Int64Counter("refrain_api_refused",
		metric.WithDescription("Requests refused, by reason: token (none, or an unknown one), scope, host, forwarded, browser, query, busy, held, crowded."))
	if err != nil {
		otel.Handle(err) // the instrument still works as a no-op
	}
	return &refusals{logger: logger, now: time.Now, refused: refused}
}

// add takes note of a refusal; who is the name of the token, if one was given that is known.
func (f *refusals) add(r *http.Request, who, reason string, status int) {
	f.refused.Add(context.Background(), 1, metric.WithAttributes(attribute.String("reason", reason)))
	others, due := f.due()
	if !due {
		return
	}
	f.logger.LogAttrs(r.Context(), slog.LevelWarn, "request refused", slog.String("reason", reason), slog.Int("status", status),
		slog.String("token", who), slog.String("remote", r.RemoteAddr), slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.Int("others", others))
}

// due says whether a line may be logged, and how many refusals went by without one.
func (f *refusals) due() (others int, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if now.Before(f.next) {
		f.suppressed++
		return 0, false
	}
	others, f.suppressed, f.next = f.suppressed, 0, now.Add(refusalPause)
	return others, true
}

// refuse answers with a problem, and takes note of it.
func (a *handlers) refuse(w http.ResponseWriter, r *http.Request, who, reason string, p problem.Problem) {
	a.refusals.add(r, who, reason, p.Status)
	problem.Write(w, r, p)
}
