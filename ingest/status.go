package ingest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

// Status is whether a source gets at its posts, reported by the source and read by others. A source has parts (partitions, a
// connection), by names of its own; it is up while none of them fails. All methods do nothing on a nil Status.
type Status struct {
	attributes metric.MeasurementOption
	failures   metric.Int64Counter
	registered metric.Registration

	mu      sync.Mutex
	failing map[string]error // by part
	fetched time.Time        // zero: not yet
}

// NewStatus makes the status of a source, which is up, and the metrics of it. Close removes them.
func NewStatus(source string) (*Status, error) {
	meter := otel.Meter("refrain/ingest")
	s := &Status{failing: map[string]error{}, attributes: metric.WithAttributes(attribute.String("source", source))}
	var err error
	if s.failures, err = meter.Int64Counter("refrain_ingest_failures",
		metric.WithDescription("Tries at a source that failed, and are made again.")); err != nil {
		return nil, err
	}
	up, err1 := meter.Int64ObservableGauge("refrain_ingest_up",
		metric.WithDescription("1 while a source gets at its posts, else 0."))
	age, err2 := meter.Float64ObservableGauge("refrain_ingest_last_fetch_age", metric.WithUnit("s"),
		metric.WithDescription("How long ago a source last answered, be it that there is nothing new."))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	s.failures.Add(context.Background(), 0, s.attributes)
	s.registered, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s.observe(o, up, age)
		return nil
	}, up, age)
	return s, err
}

func (s *Status) observe(o metric.Observer, up metric.Int64Observable, age metric.Float64Observable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.ObserveInt64(up, meters.Bool(len(s.failing) == 0), s.attributes)
	if !s.fetched.IsZero() {
		o.ObserveFloat64(age, time.Since(s.fetched).Seconds(), s.attributes)
	}
}

// Fetched says that a part has answered, be it that there is nothing new.
func (s *Status) Fetched(part string) {
	s.update(func() {
		delete(s.failing, part)
		s.fetched = time.Now()
	})
}

// Reached says that a part fails no longer, and has not answered yet.
func (s *Status) Reached(part string) {
	s.update(func() { delete(s.failing, part) })
}

// update changes what the metrics and Down read.
func (s *Status) update(change func()) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Failed counts a try at a part that has failed and is made again.
func (s *Status) Failed(part string, err error) {
	if s != nil {
		s.failures.Add(context.Background(), 1, s.attributes)
	}
	s.update(func() { s.failing[part] = err })
}

// FailedOnce is Failed for what is noticed again and again: it counts once.
func (s *Status) FailedOnce(part string, err error) {
	if s == nil || s.isFailing(part) {
		return
	}
	s.Failed(part, err)
}

func (s *Status) isFailing(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing[part] != nil
}

// Reset forgets all parts: others are given.
func (s *Status) Reset() {
	s.update(func() { clear(s.failing) })
}

// Down says why the source is down, of the first of the parts that fail; nil: it is up.
func (s *Status) Down() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range slices.Sorted(maps.Keys(s.failing)) {
		return s.failing[part]
	}
	return nil
}

// Close removes the metrics.
func (s *Status) Close() {
	if s != nil && s.registered != nil {
		_ = s.registered.Unregister() // it cannot fail
	}
}
