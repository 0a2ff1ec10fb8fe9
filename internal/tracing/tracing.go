// Package tracing carries W3C trace contexts (https://www.w3.org/TR/trace-context/) with records and messages.
//
// A trace is one text: the traceparent, and behind a space the tracestate where there is one; "" is none. A space is in
// no traceparent, so a trace without a tracestate is the traceparent itself.
package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The names of the two headers.
const (
	Parent = "traceparent"
	State  = "tracestate"
)

// MaxState bounds a tracestate, in bytes: it goes with every record and event. The standard asks for as much to be kept.
const MaxState = 512

// Of is the trace of ctx.
func Of(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return Join(carrier[Parent], carrier[State])
}

// Context is ctx with a trace as the parent of its spans; what is none changes nothing.
func Context(ctx context.Context, trace string) context.Context {
	parent, state := Split(trace)
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{Parent: parent, State: state})
}

// Join makes a trace of the values of the headers. Of a tracestate that is too long the last members go, as the standard
// has it (3.3.1.5).
func Join(parent, state string) string {
	for len(state) > MaxState {
		state = state[:max(0, strings.LastIndexByte(state, ','))]
	}
	if parent == "" || state == "" {
		return parent
	}
	return parent + " " + state
}

// Split returns the values of the headers of a trace.
func Split(trace string) (parent, state string) {
	parent, state, _ = strings.Cut(trace, " ")
	return parent, state
}

// Links are to the different traces among some, to limit of them.
func Links(traces func(yield func(string) bool), limit int) []trace.Link {
	var links []trace.Link
	seen := map[string]bool{"": true}
	for t := range traces {
		if len(links) == limit {
			break
		}
		if !seen[t] {
			seen[t] = true
			links = append(links, trace.LinkFromContext(Context(context.Background(), t)))
		}
	}
	return links
}
