package webhook

import (
	"context"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"refrain/internal/tracing"
)

// startSpan begins the span of an attempt, in the trace of its event, by the semantic conventions for HTTP clients
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span). Of the URL it
// shows what logs show.
func (e *Endpoint) startSpan(ctx context.Context, d *delivery) (context.Context, trace.Span) {
	attributes := []attribute.KeyValue{
		semconv.HTTPRequestMethodPost, semconv.URLFull(e.target.String()), semconv.ServerAddress(e.target.Hostname()),
		semconv.ServerPort(e.target.port()), attribute.String("refrain.webhook.name", e.Name),
	}
	if d.attempt > 0 {
		attributes = append(attributes, semconv.HTTPRequestResendCount(d.attempt))
	}
	return otel.Tracer("refrain/publish/webhook").Start(tracing.Context(ctx, d.trace()), http.MethodPost,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
}

// port is that of the URL, or its scheme's.
func (t target) port() int {
	if port, err := strconv.Atoi(t.Port()); err == nil {
		return port
	}
	if t.Scheme == "https" {
		return 443
	}
	return 80
}

// endSpan sets what came of the attempt.
func (r *result) endSpan(span trace.Span) {
	defer span.End()
	if r.status != 0 {
		span.SetAttributes(semconv.HTTPResponseStatusCode(r.status))
	}
	switch {
	case r.err == nil:
		return
	case r.status != 0:
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(r.status)))
	default:
		span.SetAttributes(semconv.ErrorType(r.err))
	}
	span.SetStatus(codes.Error, r.err.Error())
}
