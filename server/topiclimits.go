package server

import (
	"context"
	"fmt"

	"refrain/internal/units"
	"refrain/topic/jetstream"
)

// What the topics may hold where the configuration says 0: enough for a feed of 1,000 posts a second and the default span
// (docs/design/0013-doors.md has the sum), and no more than their part of the disk.
const (
	maxSentenceBytes = 48 << 30
	maxEventBytes    = 24 << 30
	sentenceShare    = 2 // one part in so many of what the disk has for them
	eventShare       = 4
)

// limitTopics sets the limits of the topics in the data directory where the configuration leaves them to the disk, and compares
// those that it sets with the disk. What a broker has room for is its own affair.
func (n *node) limitTopics(ctx context.Context) error {
	local, is := n.broker.(*embedded)
	if !is {
		return nil
	}
	free, err := jetstream.Free(n.cfg.DataDir)
	if err != nil {
		return err
	}
	sentences, err := local.StreamBytes(ctx, "sentences")
	if err != nil {
		return err
	}
	events, err := local.StreamBytes(ctx, "events")
	if err != nil {
		return err
	}
	t := &n.cfg.Topics
	configured := t.SentenceBytes > 0 && t.EventBytes > 0
	t.SentenceBytes = topicLimit(t.SentenceBytes, free+sentences+events, sentences, sentenceShare, maxSentenceBytes)
	t.EventBytes = topicLimit(t.EventBytes, free+sentences+events, events, eventShare, maxEventBytes)
	n.logLimits(configured, free, sentences+events)
	return nil
}

// topicLimit is what is configured, or by the disk: never less than the topic holds now, for that would drop records, or
// refuse all, because something else fills the disk.
func topicLimit(configured Bytes, disk, used, share, atMost int64) Bytes {
	if configured > 0 {
		return configured
	}
	return Bytes(max(used, min(atMost, disk/share), 1))
}

func (n *node) logLimits(configured bool, free, used int64) {
	t := &n.cfg.Topics
	args := []any{"topics.sentence_bytes", units.FormatBytes(int64(t.SentenceBytes)), "topics.event_bytes",
		units.FormatBytes(int64(t.EventBytes)),
		"used", units.Bytes(used), "free", units.Bytes(free), "data", n.cfg.DataDir}
	if more := int64(t.SentenceBytes) + int64(t.EventBytes) - used; more > free {
		n.log.Warn(fmt.Sprintf("the disk is full before the topics are: they may take %s more and %s are free: "+
			"lower topics.sentence_bytes and topics.event_bytes, or give them a larger disk", units.Bytes(more),
			units.Bytes(free)), args...)
		return
	}
	if !configured {
		n.log.Info("limits of the topics are by the disk", args...)
	}
}
