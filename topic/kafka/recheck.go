package kafka

import (
	"context"
	"errors"
	"time"
)

// recheckEvery is how often the settings of the topics are compared while they are open: somebody may change them.
const recheckEvery = 10 * time.Second

// recheck compares the settings of all topics that are open. What is ours to set is set again; with anything else the topic
// takes no records of ours, as it would not be opened.
func (c *Cluster) recheck(ctx context.Context) {
	for _, l := range c.openTopics() {
		l.recheck(ctx)
	}
}

func (l *link) recheck(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, unreachableAfter)
	defer cancel()
	s := l.openSpec()
	if s == nil {
		return
	}
	var wrong *SettingsError
	err := l.cluster.checkSettings(ctx, l, s)
	if err != nil && !errors.As(err, &wrong) {
		return // what a request says of a broker is noted by others; the settings are as they were
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil && l.unsafe == nil:
		l.cluster.cfg.Logger.Error("kafka: a topic takes no records: its settings were changed", "topic", l.topic, "error", err)
	case err == nil && l.unsafe != nil:
		l.cluster.cfg.Logger.Info("kafka: a topic takes records again", "topic", l.topic)
	}
	l.unsafe = err
}

// openSpec is how the topic is to be; nil: it is not open.
func (l *link) openSpec() *spec {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spec
}

// refusal says why nothing may be appended.
func (l *link) refusal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unsafe
}

// markLost notes that the topic is another one than it was. Nothing of it is read any more: what is stored elsewhere of its
// positions is compared with its incarnations when the process starts again.
func (l *link) markLost(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		l.lost = why
		l.cluster.cfg.Logger.Error("kafka: a topic is another one than it was", "topic", l.topic, "error", why)
		close(l.ended)
	}
}

// lossErr is nil while the topic is what it was.
func (l *link) lossErr() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}
