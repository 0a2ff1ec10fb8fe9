package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"refrain/internal/units"
	"refrain/topic"
)

// space watches how full the topics get: their metrics, and a warning before one is full.
type space struct {
	topics []*topicSpace // that of sentences first
}

// topicSpace is one topic's. The mutex guards what metrics read.
type topicSpace struct {
	name, key, outcome string // of the topic, of its limit, and of what happens at it
	topic              openTopic
	retention          time.Duration // how long a record is needed
	purges             bool          // what no window needs goes sooner than by age

	mu     sync.Mutex
	usage  usage
	size   topic.Size
	now    forecast
	warned spaceWarning
}

// spaceEvery is how often the topics are measured.
const spaceEvery = time.Minute

// openSpace measures the topics for the first time.
func (n *node) openSpace(ctx context.Context) error {
	_, eventAge := n.ages()
	n.space.topics = []*topicSpace{
		{name: "sentences", key: "topics.sentence_bytes", outcome: "posts are then refused", topic: n.sentences,
			retention: n.sentencesNeeded(), purges: true},
		{name: "events", key: "topics.event_bytes", outcome: "the oldest events then go before their age", topic: n.events,
			retention: eventAge},
	}
	n.measureSpace(ctx)
	return n.observeSpace()
}

// sentencesNeeded is how long a window needs its sentences, as a rule: for span and lateness, and a block more, since
// blocks of span/16 go as a whole; and what tells redeliveries. A purge follows within minutes.
func (n *node) sentencesNeeded() time.Duration {
	const purgeDelay = 10 * time.Minute
	w := n.window
	return max(w.Span+w.Span/16+w.Lateness, n.cfg.Window.Redelivery) + purgeDelay
}

// watchSpace measures the topics until ctx ends.
func (n *node) watchSpace(ctx context.Context) error {
	return every(ctx, spaceEvery, n.measureSpace)
}

func (n *node) measureSpace(ctx context.Context) {
	for _, t := range n.space.topics {
		size, err := t.topic.Size(ctx)
		if err != nil {
			if ctx.Err() == nil {
				n.log.Warn("topic: retrying size", "topic", t.name, "error", err)
			}
			continue
		}
		if text, isWarning := t.update(n.now(), size); text != "" {
			n.logSpace(t, text, isWarning)
		}
	}
	if n.match != nil {
		n.match.measureMargins(ctx)
	}
}

func (n *node) logSpace(t *topicSpace, text string, isWarning bool) {
	args := []any{"topic", t.name, "hours_to_full", math.Round(100*t.now.Hours) / 100, "bytes", t.size.Bytes,
		"max_bytes", t.size.MaxBytes,
		"bytes_per_second", int64(t.now.Rate), "needed_bytes", int64(t.now.Needed), "needed_for",
		t.now.Retention.Round(time.Minute).String()}
	if !isWarning {
		n.log.Info(text, args...)
		return
	}
	n.log.Warn(text, args...)
}

// update takes a measurement. text is what to log of it.
func (t *topicSpace) update(now time.Time, s topic.Size) (text string, isWarning bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usage.observe(now, s)
	t.size, t.now = s, t.usage.predict(now, s, t.retention, t.purges)
	if !t.warned.due(now, t.now.Hours) {
		return "", false
	}
	switch {
	case math.IsInf(t.now.Hours, 1):
		return "the topic will hold what is needed again", false
	case t.now.Hours == 0:
		return fmt.Sprintf("the topic is full: %s: set %s to more than %s, or let fewer posts in", t.outcome, t.key,
			units.FormatBytes(s.MaxBytes)), true
	}
	return fmt.Sprintf("the topic will be full before what is needed may go: %s: set %s to %s or more, or let fewer posts in",
		t.outcome, t.key, units.Bytes(int64(1.1*t.now.Needed))), true
}

// spaceWarning bounds what is logged: a change, once in ten minutes; that a topic is full at once.
type spaceWarning struct {
	hours float64 // that the log has
	at    time.Time
	any   bool // the log has something
}

const minWarningPause = 10 * time.Minute

// due reports whether that is to be logged: a topic that would never be full will be, in half the time that was
// logged, is, or will not be after all.
func (w *spaceWarning) due(now time.Time, hours float64) bool {
	known := w.hours
	if !w.any {
		known = math.Inf(1)
	}
	changed := math.IsInf(hours, 1) != math.IsInf(known, 1) || hours < known/2
	if !changed || w.any && hours > 0 && now.Sub(w.at) < minWarningPause {
		return false
	}
	*w = spaceWarning{hours, now, true}
	return true
}

func (n *node) observeSpace() error {
	meter := otel.Meter("refrain/topic")
	bytes, err1 := meter.Int64ObservableGauge("refrain_topic_bytes",
		metric.WithDescription("Bytes that a topic holds, as they count against its limit."))
	limit, err2 := meter.Int64ObservableGauge("refrain_topic_max_bytes",
		metric.WithDescription("The limit of a topic, in bytes."))
	needed, err3 := meter.Float64ObservableGauge("refrain_topic_needed_bytes",
		metric.WithDescription("Bytes that a topic comes to hold at the rate of the last hour, each record for as long "+
			"as it is needed."))
	hours, err4 := meter.Float64ObservableGauge("refrain_topic_hours_to_full",
		metric.WithDescription("Hours until a topic reaches its limit, at the rate of the last hour, while what is no "+
			"longer needed goes. "+
			"0: it is full. +Inf: it never is, as where nothing is appended."))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	return n.observe(meter, func(_ context.Context, o metric.Observer) error {
		for _, t := range n.space.topics {
			size, now := t.read()
			name := metric.WithAttributes(attribute.String("topic", t.name))
			o.ObserveInt64(bytes, size.Bytes, name)
			o.ObserveInt64(limit, size.MaxBytes, name)
			o.ObserveFloat64(needed, now.Needed, name)
			o.ObserveFloat64(hours, now.Hours, name)
		}
		return nil
	}, bytes, limit, needed, hours)
}

// roomIn is how long it takes until a sentence topic that has refused posts may have room, about.
func (n *node) roomIn() time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	size, err := n.sentences.Size(ctx)
	if err != nil {
		return purgeEvery
	}
	_, predicted := n.space.topics[0].read()
	age, _ := n.ages()
	return predicted.roomIn(n.now(), size, age)
}

// roomIn is until the oldest record goes. Posts move the window, and where all are refused nothing does: then records go by
// their age. Where the topic has room the disk has none, or the records are large: that may end at any time.
func (f *forecast) roomIn(now time.Time, s topic.Size, maxAge time.Duration) time.Duration {
	if f.Purged || s.Oldest.IsZero() || s.MaxBytes-s.Bytes > minRoom(s.MaxBytes) {
		return purgeEvery
	}
	return max(maxAge-now.Sub(s.Oldest), purgeEvery)
}

func (t *topicSpace) read() (topic.Size, forecast) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size, t.now
}
