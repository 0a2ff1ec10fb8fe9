package server

import (
	"context"
	"strconv"
	"time"

	"refrain/text"
	"refrain/topic/jetstream"
)

// slack is how much longer than span and lateness the topics keep their records.
const slack = time.Hour

func (n *node) openTopics(ctx context.Context) (err error) {
	keep, events := n.ages()
	topics := []struct {
		to  **jetstream.Topic
		cfg jetstream.TopicConfig
	}{
		{&n.sentences, jetstream.TopicConfig{
			Name: "sentences", Partitions: n.cfg.Topics.Partitions, MaxAge: keep,
			MaxBytes: int64(n.cfg.Topics.SentenceBytes), Discard: jetstream.DiscardNew,
			Fixed: map[string]string{
				"min_tokens":            strconv.Itoa(n.cfg.Window.MinTokens),
				"normalisation version": strconv.Itoa(text.Version),
			},
		}},
		{&n.events, jetstream.TopicConfig{Name: "events", MaxAge: events, MaxBytes: int64(n.cfg.Topics.EventBytes), Packed: true}},
		{&n.control, jetstream.TopicConfig{Name: "control", MaxAge: max(keep, events)}},
	}
	for _, t := range topics {
		t.cfg.Logger = n.log
		if *t.to, err = n.server.OpenTopic(ctx, t.cfg); err != nil {
			return err
		}
	}
	return nil
}

// ages are how long the topics keep sentences and events.
func (n *node) ages() (sentences, events time.Duration) {
	sentences = n.window.Span + n.window.Lateness + slack
	if n.cfg.Topics.EventAge > 0 {
		return sentences, n.cfg.Topics.EventAge
	}
	return sentences, sentences
}
