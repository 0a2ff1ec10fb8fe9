package shard

import (
	"context"
	"errors"
	"slices"
	"time"

	"refrain/internal/delays"
	"refrain/internal/tracing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// counts are what one partition did since they were last reported.
type counts struct {
	inserted, redelivered, deleted, short int64
	lookups, events, truncated            int64
	passed                                int64
}

type metrics struct {
	sentences, lookups, events, truncated, passed, dead, lost, corrupt, failures metric.Int64Counter
	clock                                                                        metric.Float64Gauge
	delay                                                                        metric.Float64Histogram
}

func newMetrics() (*metrics, error) {
	var m metrics
	var errs []error
	counter := func(meter, name, what string) metric.Int64Counter {
		c, err := otel.Meter(meter).Int64Counter(name, metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	gauge := func(name, what string) metric.Float64Gauge {
		g, err := otel.Meter("refrain/shard").Float64Gauge(name, metric.WithUnit("s"), metric.WithDescription(what))
		errs = append(errs, err)
		return g
	}
	m.sentences = counter("refrain/sigstore", "refrain_sigstore_sentences",
		"Sentences by what became of them: inserted, repeat, too_short or deleted")
	m.lookups = counter("refrain/shard", "refrain_shard_lookups", "Look-ups of one sentence in the rows of one partition")
	m.events = counter("refrain/detector", "refrain_detector_events", "Matches found, repeats of an id included")
	m.truncated = counter("refrain/detector", "refrain_detector_truncated", "Look-ups cut short by max_matches")
	m.dead = counter("refrain/shard", "refrain_shard_dead_events",
		"Events that are too large for the event topic: dead letters")
	m.passed = counter("refrain/shard", "refrain_shard_max_hold",
		"Times that the clock of a partition's window moved past a source partition that was more than max_hold behind")
	m.lost = counter("refrain/shard", "refrain_shard_lost_window",
		"Times that the sentence topic had dropped records which the window still needed")
	m.corrupt = counter("refrain/shard", "refrain_shard_corrupt",
		"Records of the sentence topic, or of the control topic, left out because they cannot be read")
	m.failures = counter("refrain/shard", "refrain_shard_turn_failures",
		"Turns of a worker that failed and are taken again, by the worker's first partition")
	delay, err := otel.Meter("refrain/shard").Float64Histogram("refrain_shard_event_delay", metric.WithUnit("s"),
		delays.Buckets(),
		metric.WithDescription("From accepted to its events durable, of every post that repeats something"))
	m.delay, errs = delay, append(errs, err)
	m.clock = gauge("refrain_shard_clock", "The window's clock W, as Unix time")
	return &m, errors.Join(errs...)
}

var results = map[string]metric.MeasurementOption{
	"inserted":  metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "inserted"))),
	"repeat":    metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "repeat"))),
	"too_short": metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "too_short"))),
	"deleted":   metric.WithAttributeSet(attribute.NewSet(attribute.String("result", "deleted"))),
}

// appear makes the counters exist, at 0, before anything is counted: an alert needs a first value.
func (m *metrics) appear(ctx context.Context, owned []*partition) {
	for _, result := range results {
		m.sentences.Add(ctx, 0, result)
	}
	for _, c := range []metric.Int64Counter{m.lookups, m.events, m.truncated, m.passed, m.dead} {
		c.Add(ctx, 0)
	}
	m.failures.Add(ctx, 0, firstOf(owned))
	for _, q := range owned {
		m.lost.Add(ctx, 0, metric.WithAttributes(attribute.Int("partition", q.id)))
	}
}

// firstOf names a worker by its first partition.
func firstOf(owned []*partition) metric.MeasurementOption {
	return metric.WithAttributes(attribute.Int("first", owned[0].id))
}

// turn reports what a turn did; called by the worker's goroutine.
func (m *metrics) turn(ctx context.Context, w *Worker) {
	var sum counts
	for _, q := range w.owned {
		w.warnPassed(q)
		sum.add(&q.counts)
		q.counts = counts{}
		if clock, known := q.state.Watermarks.Clock(); known {
			m.clock.Record(ctx, float64(clock)/1000, metric.WithAttributes(attribute.Int("partition", q.id)))
		}
	}
	m.count(ctx, &sum)
}

// warnPassed says now and then that a source partition holds the window no longer: repeats of what it brings may be
// missed.
func (w *Worker) warnPassed(q *partition) {
	if q.counts.passed > 0 {
		w.passing.Do(func() {
			w.cfg.Logger.Warn("a source partition is more than max_hold behind: the window goes on without it, and "+
				"repeats of its posts may be missed",
				"partition", q.passed, "max_hold", w.cfg.MaxHold.String(), "clock", q.state.Watermarks.clock.String())
		})
	}
}

func (m *metrics) count(ctx context.Context, c *counts) {
	add := func(to metric.Int64Counter, n int64, options ...metric.AddOption) {
		if n > 0 {
			to.Add(ctx, n, options...)
		}
	}
	add(m.sentences, c.inserted, results["inserted"])
	add(m.sentences, c.redelivered, results["repeat"])
	add(m.sentences, c.short, results["too_short"])
	add(m.sentences, c.deleted, results["deleted"])
	add(m.lookups, c.lookups)
	add(m.events, c.events)
	add(m.truncated, c.truncated)
	add(m.passed, c.passed)
}

func (c *counts) add(o *counts) {
	c.inserted += o.inserted
	c.redelivered += o.redelivered
	c.deleted += o.deleted
	c.short += o.short
	c.lookups += o.lookups
	c.events += o.events
	c.truncated += o.truncated
	c.passed += o.passed
}

func (m *metrics) countLost(ctx context.Context, p int) {
	m.lost.Add(ctx, 1, metric.WithAttributes(attribute.Int("partition", p)))
}

// corruptControl counts a control record.
func (m *metrics) corruptControl() {
	m.corrupt.Add(context.Background(), 1, metric.WithAttributes(attribute.String("topic", "control")))
}

func (m *metrics) corruptRecord(p int) {
	m.corrupt.Add(context.Background(), 1, metric.WithAttributes(attribute.Int("partition", p)))
}

// lag is the age of the oldest record that waits, or of the last one of this turn; 0 when all is done.
func (w *Worker) lag(items []*item) time.Duration {
	stamp, waits := w.queue.oldest()
	if !waits && len(items) > 0 {
		stamp, waits = items[len(items)-1].stamp, true
	}
	if !waits {
		return 0
	}
	return max(0, w.cfg.Now().Sub(time.Unix(0, stamp)))
}

// startSpan begins the span of a turn that looks posts up. One that receives nothing, or only a watermark or a canary, has
// none: an idle server takes many of these a second.
func (w *Worker) startSpan(ctx context.Context, items []*item) (context.Context, trace.Span) {
	if !slices.ContainsFunc(items, (*item).hasPosts) {
		return ctx, trace.SpanFromContext(ctx)
	}
	return w.tracer.Start(ctx, "match", trace.WithLinks(links(items)...))
}

func (x *item) hasPosts() bool { return x.batch.Canary == nil && len(x.batch.Sentences) > 0 }

// links connects a turn to the traces of some of the batches in it.
func links(items []*item) []trace.Link {
	const maxLinks = 16
	return tracing.Links(func(yield func(string) bool) {
		for _, x := range items {
			if !yield(x.trace) {
				return
			}
		}
	}, maxLinks)
}

// snapshotMetrics are those of the snapshots of a process.
type snapshotMetrics struct {
	snapshots, bytes metric.Int64Counter
	pause            metric.Float64Histogram
}

func newSnapshotMetrics() (*snapshotMetrics, error) {
	meter := otel.Meter("refrain/shard")
	snapshots, err1 := meter.Int64Counter("refrain_shard_snapshots",
		metric.WithDescription("Snapshots of partitions by result: written or failed, and at a restart restored or refused"))
	bytes, err2 := meter.Int64Counter("refrain_shard_snapshot_bytes",
		metric.WithDescription("Bytes written of snapshots"))
	pause, err3 := meter.Float64Histogram("refrain_shard_snapshot_pause", metric.WithUnit("s"), delays.Buckets(),
		metric.WithDescription("How long a turn was held up by the begin of a snapshot"))
	m := &snapshotMetrics{snapshots, bytes, pause}
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	for _, result := range []string{"written", "failed", "restored", "refused"} {
		m.add(result, 0)
	}
	return m, nil
}

func (m *snapshotMetrics) count(result string) { m.add(result, 1) }

func (m *snapshotMetrics) add(result string, n int64) {
	m.snapshots.Add(context.Background(), n, metric.WithAttributes(attribute.String("result", result)))
}
