// Package meters makes instruments for packages that go on without one: an error goes to OpenTelemetry's handler, and the
// instrument does nothing then.
package meters

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// Counter makes a counter of the meter of a scope.
func Counter(scope, name, description string) metric.Int64Counter {
	c, err := otel.Meter(scope).Int64Counter(name, metric.WithDescription(description))
	Handle(err)
	return c
}

// Gauge makes a gauge for Observe.
func Gauge(scope, name, description string) metric.Int64ObservableGauge {
	g, err := otel.Meter(scope).Int64ObservableGauge(name, metric.WithDescription(description))
	Handle(err)
	return g
}

// Observe has the instruments of a scope observed by observe, until the function it returns is called.
func Observe(scope string, observe metric.Callback, instruments ...metric.Observable) (stop func()) {
	registered, err := otel.Meter(scope).RegisterCallback(observe, instruments...)
	if err != nil {
		otel.Handle(err)
		return func() {}
	}
	return func() { _ = registered.Unregister() } // it cannot fail
}

// Handle reports that an instrument could not be made.
func Handle(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

// Bool is what a gauge shows of b.
func Bool(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
