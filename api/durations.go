package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/delays"
	"refrain/internal/meters"
)

// durations measure how long requests take, by route and status. Both are from lists of ours, so nobody makes series up.
type durations struct{ histogram metric.Float64Histogram }

func newDurations() durations {
	h, err := otel.Meter("refrain/api").Float64Histogram("refrain_api_request_duration", metric.WithUnit("s"), delays.Buckets(),
		metric.WithDescription("How long requests take until they are answered, by route and status; without streams of events."))
	meters.Handle(err)
	return durations{h}
}

// add measures a request. A stream of events lasts as long as its client likes, and is left out.
func (d durations) add(r *http.Request, status int, took time.Duration) {
	route := r.Pattern
	switch {
	case route == eventsRoute && status == http.StatusOK:
		return
	case route == "" || route == "/": // refused before, or a path that there is not
		route = "none"
	}
	d.histogram.Record(context.Background(), took.Seconds(), metric.WithAttributes(
		attribute.String("route", route), attribute.String("status", statusLabel(r, status))))
}

const eventsRoute = "GET /v1/events"

// statusLabel is the status of an answer: of an empty one 200, which net/http sends, and "none" if nobody was left to
// be answered.
func statusLabel(r *http.Request, status int) string {
	switch {
	case status != 0:
		return strconv.Itoa(status)
	case r.Context().Err() != nil:
		return "none"
	}
	return "200"
}
