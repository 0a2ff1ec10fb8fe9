package server

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/meters"
)

// observe makes the windows' sizes metrics.
func (m *matcher) observe() error {
	meter := otel.Meter("refrain/sigstore")
	texts, err1 := meter.Int64ObservableGauge("refrain_sigstore_texts", metric.WithDescription("Texts in the window."))
	occurrences, err2 := meter.Int64ObservableGauge("refrain_sigstore_occurrences",
		metric.WithDescription("Occurrences of texts that the window keeps."))
	bytes, err3 := meter.Int64ObservableGauge("refrain_sigstore_bytes", metric.WithDescription("Bytes that the window holds."))
	span, err4 := meter.Float64ObservableGauge("refrain_sigstore_span_seconds",
		metric.WithDescription("How far back the window reaches for certain: less than the span when the budget forces "+
			"texts out."))
	forced, err5 := meter.Int64ObservableCounter("refrain_sigstore_forced",
		metric.WithDescription("Texts that the budget dropped before their time."))
	candidates, err6 := meter.Int64ObservableCounter("refrain_detector_candidates",
		metric.WithDescription("Texts that look-ups compared word by word."))
	similar, err7 := meter.Int64ObservableCounter("refrain_detector_similar",
		metric.WithDescription("Those of them that were similar enough."))
	again, err8 := meter.Int64ObservableGauge("refrain_shard_redeliveries_bytes",
		metric.WithDescription("Bytes of what tells which posts without a usable time are sent again."))
	forcedOccurrences, err9 := meter.Int64ObservableCounter("refrain_sigstore_forced_occurrences",
		metric.WithDescription("Occurrences that the budget dropped before their time, of texts that stayed."))
	budget, err10 := meter.Int64ObservableGauge("refrain_sigstore_budget_bytes",
		metric.WithDescription("Bytes that the windows of this process may hold, all together."))
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10); err != nil {
		return err
	}
	return m.n.observe(meter, func(_ context.Context, o metric.Observer) error {
		t := m.total()
		o.ObserveInt64(texts, int64(t.Groups))
		o.ObserveInt64(occurrences, int64(t.Occurrences))
		o.ObserveInt64(bytes, t.Bytes)
		o.ObserveFloat64(span, t.Span.Seconds())
		o.ObserveInt64(forced, t.Forced)
		o.ObserveInt64(forcedOccurrences, t.ForcedOccurrences)
		o.ObserveInt64(candidates, t.Candidates)
		o.ObserveInt64(similar, t.Similar)
		o.ObserveInt64(again, m.redeliveries.Bytes())
		o.ObserveInt64(budget, m.budget)
		return nil
	}, texts, occurrences, bytes, span, forced, forcedOccurrences, candidates, similar, again, budget)
}

// observeWorkers makes metrics of what keeps workers from going on, and of who holds the window's clock.
func (m *matcher) observeWorkers() error {
	meter := otel.Meter("refrain/shard")
	stuck, err1 := meter.Int64ObservableGauge("refrain_shard_stuck_position",
		metric.WithDescription("While the turns of a worker fail: the record of the sentence topic that it does not get past."))
	held, err2 := meter.Float64ObservableGauge("refrain_shard_held_by", metric.WithUnit("s"),
		metric.WithDescription("How far the source partition that holds the window's clock is behind the fastest."))
	lag, err3 := meter.Float64ObservableGauge("refrain_shard_lag", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest record that is not looked up everywhere, by the worker's first partition"))
	served, err4 := meter.Int64ObservableGauge("refrain_shard_partitions",
		metric.WithDescription("Partitions of the window that this process serves and has caught up with."))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	return m.n.observe(meter, func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(served, m.served())
		for _, w := range m.crew.Workers() {
			if first, serves := w.First(); serves {
				o.ObserveFloat64(lag, w.Lag().Seconds(), metric.WithAttributes(attribute.Int("first", first)))
			}
			if t := w.Trouble(); t != nil {
				o.ObserveInt64(stuck, t.Position, metric.WithAttributes(attribute.Int("partition", t.Partition)))
			}
		}
		if h := m.heldBy(); h != nil {
			o.ObserveFloat64(held, h.Behind.Seconds(), metric.WithAttributes(attribute.String("source", h.Source)))
		}
		return nil
	}, stuck, held, lag, served)
}

// observeGPUs makes metrics of the GPUs that are open: none, where there are none.
func (m *matcher) observeGPUs() error {
	const scope = "refrain/sigstore/gpu"
	windows := meters.Gauge(scope, "refrain_gpu_windows", "Windows that are dealt to the GPU.")
	bytes := meters.Gauge(scope, "refrain_gpu_bytes", "Bytes of its memory that rows and searches take.")
	budget := meters.Gauge(scope, "refrain_gpu_budget_bytes", "Bytes that they may take.")
	lost := meters.Gauge(scope, "refrain_gpu_lost",
		"1 when it has failed: its windows are compared on the CPU until the process starts again.")
	return m.n.observe(otel.Meter(scope), func(_ context.Context, o metric.Observer) error {
		for _, g := range m.window.Dealer.GPUs() {
			of := metric.WithAttributes(attribute.Int("number", g.Number), attribute.String("name", g.Name))
			o.ObserveInt64(windows, int64(g.Windows), of)
			o.ObserveInt64(bytes, g.Memory, of)
			o.ObserveInt64(budget, g.Budget, of)
			o.ObserveInt64(lost, meters.Bool(g.Lost), of)
		}
		return nil
	}, windows, bytes, budget, lost)
}

// served counts the partitions that this process serves and has caught up with.
func (m *matcher) served() (n int64) {
	for _, p := range m.crew.Partitions() {
		if p.CaughtUp {
			n++
		}
	}
	return n
}

// logHeld says now and then who holds the window's clock, once that is by more than lateness: the window grows meanwhile.
func (n *node) logHeld() {
	if n.match == nil {
		return
	}
	h := n.match.heldBy()
	if h == nil || h.Behind <= n.window.Lateness {
		return
	}
	n.holding.Do(func() {
		n.log.Info("a source partition holds the window's clock: the windows keep what it may still repeat",
			"source", h.Source, "behind", h.Behind.String(), "max_hold", n.cfg.Window.MaxHold.String())
	})
}
