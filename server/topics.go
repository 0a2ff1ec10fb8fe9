package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"refrain/shard"
	"refrain/text"
	"refrain/topic"
	"refrain/topic/jetstream"
)

// retentionMargin is how much longer than the window may need them the topics retain their records.
const retentionMargin = time.Hour

func (n *node) openTopics(ctx context.Context) (err error) {
	if n.sentences, err = n.server.OpenTopic(ctx, n.sentenceTopic()); err != nil {
		return n.ofAnotherBuild(err)
	}
	if n.events, err = n.server.OpenTopic(ctx, n.eventTopic()); err != nil {
		return err
	}
	n.control, err = n.server.OpenTopic(ctx, n.controlTopic())
	return err
}

// ofAnotherBuild says what to do about text rules of another version, which are the program's and no setting.
func (n *node) ofAnotherBuild(err error) error {
	var fixed *topic.FixedError
	if !errors.As(err, &fixed) || fixed.Setting != textVersion {
		return err
	}
	return fmt.Errorf("data directory %s has sentences by text rules of version %s, and this program's are of version %s: "+
		"start with an empty data directory, or with the program that wrote it", n.cfg.DataDir, fixed.Is, fixed.Want)
}

// textVersion is the key of text.Version among what is fixed.
const textVersion = "normalisation version"

func (n *node) sentenceTopic() jetstream.TopicConfig {
	c := n.topic("sentences")
	c.Partitions, c.Discard, c.MaxBytes = n.cfg.Topics.Partitions, jetstream.DiscardNew, int64(n.cfg.Topics.SentenceBytes)
	c.MaxAge, _ = n.ages()
	c.Purged, c.Coding = true, jetstream.S2
	c.Fixed = map[string]string{
		"min_tokens": strconv.Itoa(n.cfg.Window.MinTokens),
		textVersion:  strconv.Itoa(text.Version),
	}
	return c
}

func (n *node) eventTopic() jetstream.TopicConfig {
	c := n.topic("events")
	c.MaxBytes, c.Packed = int64(n.cfg.Topics.EventBytes), true
	c.Coding = jetstream.S2
	_, c.MaxAge = n.ages()
	return c
}

func (n *node) controlTopic() jetstream.TopicConfig {
	c := n.topic("control")
	c.Discard, c.MaxBytes = jetstream.DiscardNew, int64(n.cfg.Topics.ControlBytes)
	c.MaxAge = max(n.ages())
	return c
}

func (n *node) topic(name string) jetstream.TopicConfig {
	c := jetstream.DefaultTopic()
	c.Name, c.Logger = name, n.log
	return c
}

// ages are how long the topics keep sentences and events. The window needs those of span and lateness behind its clock,
// which may be maxHold behind the newest posts.
func (n *node) ages() (sentences, events time.Duration) {
	sentences = n.window.Span + n.window.Lateness + n.cfg.Window.MaxHold + retentionMargin
	if n.cfg.Topics.EventAge > 0 {
		return sentences, n.cfg.Topics.EventAge
	}
	return sentences, sentences
}

// purgeEvery is how often sentences are purged: each time one file of the topic is rewritten.
const purgeEvery = time.Minute

// purge drops the sentences that no worker needs any more, now and then.
func (n *node) purge(ctx context.Context) error {
	return every(ctx, purgeEvery, n.purgeNow)
}

// every calls f so often until ctx ends.
func every(ctx context.Context, pause time.Duration, f func(context.Context)) error {
	t := time.NewTicker(pause)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			f(ctx)
		}
	}
}

func (n *node) purgeNow(ctx context.Context) {
	needed := n.workers[0].Needed()
	for _, w := range n.workers[1:] {
		needed = shard.MinPositions(needed, w.Needed())
	}
	if err := n.sentences.Purge(ctx, needed); err != nil && ctx.Err() == nil {
		n.log.Warn("topic: retrying purge", "error", err)
	}
}
