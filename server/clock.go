package server

import (
	"context"
	"math"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// clockEvery is how often our clock is compared with the broker's: one that is set shows soon, and costs little.
const clockEvery = 5 * time.Second

// watchClock compares the clocks until ctx ends.
func (n *node) watchClock(ctx context.Context) error {
	look := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, clockEvery)
		defer cancel()
		if ahead, measured := n.broker.skew(ctx); measured {
			n.clockAhead.Store(int64(ahead))
		}
	}
	look(ctx)
	return every(ctx, clockEvery, look)
}

// clockUnknown is what is stored before the first comparison.
const clockUnknown = math.MinInt64

// observeClock makes the difference a metric, once it is known.
func (n *node) observeClock() error {
	n.clockAhead.Store(clockUnknown)
	meter := otel.Meter("refrain/server")
	offset, err := meter.Float64ObservableGauge("refrain_server_clock_offset", metric.WithUnit("s"),
		metric.WithDescription("How far the clock of this machine is ahead of the broker's, that much at least; below 0: behind."))
	if err != nil {
		return err
	}
	return n.observe(meter, func(_ context.Context, o metric.Observer) error {
		if ahead := n.clockAhead.Load(); ahead != clockUnknown {
			o.ObserveFloat64(offset, time.Duration(ahead).Seconds())
		}
		return nil
	}, offset)
}
