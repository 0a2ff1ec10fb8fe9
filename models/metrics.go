package models

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

type metrics struct {
	learnings, changes metric.Int64Counter
	duration           metric.Float64Gauge
	stop               func() // observing
}

func newMetrics(k *Keeper) (*metrics, error) {
	var m metrics
	meter := otel.Meter("refrain/models")
	var errs [6]error
	m.learnings, errs[0] = meter.Int64Counter("refrain_models_learned",
		metric.WithDescription("Trainings by what became of the model: taken_on, kept (the one in use is as good) or failed"))
	m.changes, errs[1] = meter.Int64Counter("refrain_models_changes",
		metric.WithDescription("Changes of a window's codes: done, or refused for want of room in the budget"))
	m.duration, errs[2] = meter.Float64Gauge("refrain_models_change", metric.WithUnit("s"),
		metric.WithDescription("How long the last change of all windows took"))
	current, err := meter.Int64ObservableGauge("refrain_models_current",
		metric.WithDescription("Number of the model in use; 0: that of the configuration"))
	errs[3] = err
	level, err := meter.Float64ObservableGauge("refrain_models_drift",
		metric.WithDescription("False candidates, in times those after the last change of codes; 0: not known yet"))
	errs[4] = err
	changed, err := meter.Int64ObservableGauge("refrain_models_windows_changed",
		metric.WithDescription("Windows with the codes of the current model"))
	errs[5] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.stop = meters.Observe("refrain/models", func(_ context.Context, o metric.Observer) error {
		s := k.Status()
		o.ObserveInt64(current, int64(s.Current))
		o.ObserveFloat64(level, s.Drift)
		o.ObserveInt64(changed, int64(s.Changed))
		return nil
	}, current, level, changed)
	m.initCounters()
	return &m, nil
}

// initCounters makes the counters exist, at 0: an alert needs a first value.
func (m *metrics) initCounters() {
	ctx := context.Background()
	for _, result := range []string{"taken_on", "kept", "failed"} {
		m.learnings.Add(ctx, 0, metric.WithAttributes(attribute.String("result", result)))
	}
	m.changes.Add(ctx, 0, metric.WithAttributes(attribute.String("result", "done")))
	m.changes.Add(ctx, 0, metric.WithAttributes(attribute.String("result", "refused")))
}

func (m *metrics) learned(ctx context.Context, result string) {
	m.learnings.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result)))
}

func (m *metrics) changed(ctx context.Context, done, refused int, elapsed time.Duration) {
	m.changes.Add(ctx, int64(done), metric.WithAttributes(attribute.String("result", "done")))
	m.changes.Add(ctx, int64(refused), metric.WithAttributes(attribute.String("result", "refused")))
	m.duration.Record(ctx, elapsed.Seconds())
}
