package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"refrain/text"
	"refrain/topic"
)

// retentionMargin is how much longer than the window may need them the topics retain their records.
const retentionMargin = time.Hour

func (n *node) openTopics(ctx context.Context) (err error) {
	if n.sentences, err = n.broker.openTopic(ctx, n.sentenceTopic()); err != nil {
		return n.ofAnotherBuild(err)
	}
	if n.events, err = n.broker.openTopic(ctx, n.eventTopic()); err != nil {
		return err
	}
	n.control, err = n.broker.openTopic(ctx, n.controlTopic())
	return err
}

// ofAnotherBuild says what to do about text rules of another version, which are the program's and no setting.
func (n *node) ofAnotherBuild(err error) error {
	var fixed *topic.FixedError
	if !errors.As(err, &fixed) || fixed.Setting != textVersion {
		return err
	}
	where, others := "data directory "+n.cfg.DataDir, "an empty data directory"
	if n.cfg.onBroker() {
		where, others = "topics "+n.cfg.Topics.Name+"-*", "another topics.name"
	}
	return fmt.Errorf("%s: sentences by text rules of version %s, and this program's are of version %s: start with %s, or with the program "+
		"that wrote them", where, fixed.Is, fixed.Want, others)
}

// textVersion is the key of text.Version among what is fixed.
const textVersion = "normalisation version"

func (n *node) sentenceTopic() topicSpec {
	maxAge, _ := n.ages()
	return topicSpec{
		name: "sentences", partitions: n.cfg.Topics.Partitions, maxAge: maxAge, maxBytes: int64(n.cfg.Topics.SentenceBytes), refuses: true,
		purged: true, coded: true, prompt: !n.copying,
		fixed: map[string]string{
			"min_tokens": strconv.Itoa(n.cfg.Window.MinTokens),
			textVersion:  strconv.Itoa(text.Version),
		},
	}
}

func (n *node) eventTopic() topicSpec {
	_, maxAge := n.ages()
	return topicSpec{name: "events", partitions: 1, maxAge: maxAge, maxBytes: int64(n.cfg.Topics.EventBytes), packed: true, coded: true}
}

func (n *node) controlTopic() topicSpec {
	return topicSpec{name: "control", partitions: 1, maxAge: max(n.ages()), maxBytes: int64(n.cfg.Topics.ControlBytes), refuses: true}
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
	sentences, can := n.sentences.(topic.Purger)
	if !can || n.match == nil {
		return
	}
	needed := n.match.crew.Needed()
	if needed == nil || n.cfg.onBroker() { // other processes need others
		return
	}
	if err := sentences.Purge(ctx, needed); err != nil && ctx.Err() == nil {
		n.log.Warn("topic: retrying purge", "error", err)
	}
}
