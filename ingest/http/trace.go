package http

import (
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// traced gives each request a span, under the one that the client names in its traceparent header, with the names and
// attributes of the semantic conventions for HTTP servers
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span).
func traced(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		_, route, _ := strings.Cut(r.Pattern, " ")
		scheme := "http"
		if r.TLS != nil {
			scheme = "https"
		}
		ctx, span := otel.Tracer("refrain/ingest").Start(ctx, r.Pattern, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(route),
				semconv.URLPath(r.URL.Path), semconv.URLScheme(scheme)))
		defer span.End()
		if !span.IsRecording() {
			next(w, r.WithContext(ctx))
			return
		}
		answered := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next(answered, r.WithContext(ctx))
		endSpan(span, answered.status)
	}
}

// endSpan sets what is known when a request is answered. A mistake of the client is no error of the server's span.
func endSpan(span trace.Span, status int) {
	span.SetAttributes(semconv.HTTPResponseStatusCode(status))
	if status >= http.StatusInternalServerError {
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(status)))
		span.SetStatus(codes.Error, "")
	}
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK { // 1xx announce, they do not answer
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach flushing and deadlines.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
