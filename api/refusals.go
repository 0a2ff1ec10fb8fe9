package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"

	"refrain/internal/loglimit"
	"refrain/internal/meters"
	"refrain/internal/problem"
)

// refusalPause is between two lines of the log about refusals: who guesses tokens does not fill it.
const refusalPause = time.Second

// refusals counts requests that were refused, and logs them now and then.
type refusals struct {
	logger  *slog.Logger
	lines   *loglimit.Limiter
	refused metric.Int64Counter
}

func newRefusals(logger *slog.Logger) *refusals {
	return &refusals{
		logger: logger, lines: loglimit.New(rate.Every(refusalPause), 1),
		refused: meters.Counter("refrain/api", "refrain_api_refused",
			"Requests refused, by reason: token (none, or an unknown one), scope, host, forwarded, browser, query, busy, "+
				"held, crowded."),
	}
}

// add takes note of a refusal; who is the name of the token, if one was given that is known.
func (f *refusals) add(r *http.Request, who, reason string, status int) {
	f.refused.Add(context.Background(), 1, metric.WithAttributes(attribute.String("reason", reason)))
	others, ok := f.lines.Allow()
	if !ok {
		return
	}
	f.logger.LogAttrs(r.Context(), slog.LevelWarn, "request refused", slog.String("reason", reason), slog.Int("status", status),
		slog.String("token", who), slog.String("remote", r.RemoteAddr), slog.String("method", r.Method),
		slog.String("path", r.URL.Path), slog.Int("others", others))
}

// refuse answers with a problem, and takes note of it.
func (a *handlers) refuse(w http.ResponseWriter, r *http.Request, who, reason string, p problem.Problem) {
	a.refusals.add(r, who, reason, p.Status)
	problem.Write(w, r, p)
}
