package server

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// lossy is a topic, or the store of positions, that may lose records to damage, and what that means.
type lossy struct {
	name        string
	topic       interface{ Lost() int64 }
	consequence string
}

// lossy are those in the data directory: what a broker has lost, it says itself.
func (n *node) lossy() (all []lossy) {
	for _, t := range []struct {
		name        string
		topic       any
		consequence string
	}{
		{"sentences", n.sentences, "what was in them is not compared with what comes, and had it not been looked up yet, " +
			"its events are missing: send those posts again, if they are still to be had"},
		{"events", n.events, "sinks and clients that had not got them miss them, and so does an index that is made again; " +
			"docs/operations.md says how to have the events of the window found again"},
		{"control", n.control, "deletions are forgotten, and which is not known: deleted posts may be shown again. " +
			"Delete again what was deleted lately"},
		{"KV_state", n.store, "where it was a position, the one before counts, or none: " +
			"what was looked up or sent since is looked up and sent again, with the same ids"},
	} {
		if topic, may := t.topic.(interface{ Lost() int64 }); may {
			all = append(all, lossy{t.name, topic, t.consequence})
		}
	}
	return all
}

// observeLosses says what the topics have lost, in the log and as a metric.
func (n *node) observeLosses() error {
	for _, t := range n.lossy() {
		if lost := t.topic.Lost(); lost > 0 {
			n.log.Error("a topic lacks records that were acknowledged: its files are damaged", "topic", t.name, "records",
				lost, "hint", t.consequence)
		}
	}
	meter := otel.Meter("refrain/topic")
	lost, err := meter.Int64ObservableGauge("refrain_topic_lost_records",
		metric.WithDescription("Records that a topic lacks because its files are damaged, as far as this process knows."))
	if err != nil {
		return err
	}
	return n.observe(meter, func(_ context.Context, o metric.Observer) error {
		for _, t := range n.lossy() {
			o.ObserveInt64(lost, t.topic.Lost(), metric.WithAttributes(attribute.String("topic", t.name)))
		}
		return nil
	}, lost)
}
