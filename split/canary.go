package split

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"refrain/feed"
	"refrain/text"
	"refrain/topic"
)

// minCanaryWords is how long a canary is at least.
const minCanaryWords = 8

// Canary is a text that nobody has written, to be sent in pairs through the whole route.
type Canary struct {
	text string
	topic.Canary
}

// NewCanary makes the first post of a pair. Its words are of 26 random letters each.
func (s *Split) NewCanary(pair uint64) *Canary {
	words := make([]string, max(minCanaryWords, s.cfg.MinTokens))
	for i := range words {
		words[i] = strings.ToLower(rand.Text())
	}
	return &Canary{strings.Join(words, " "), topic.Canary{Writer: s.writer, Pair: pair}}
}

// Writer is whose canaries are this Split's, and its watermarks.
func (s *Split) Writer() uint64 { return s.writer }

// WriteCanary writes the next post of a pair into every partition, tried once. It is no post of anybody's: no source
// partition wakes, no clock moves, and nothing is counted.
func (s *Split) WriteCanary(ctx context.Context, c *Canary) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.AppendTimeout)
	defer cancel()
	if err := s.cfg.Sentences.Append(ctx, s.canaryRecords(c, s.cfg.Now())); err != nil {
		return fmt.Errorf("write canary: %w", err)
	}
	c.Second = true
	return nil
}

func (s *Split) canaryRecords(c *Canary, now time.Time) []topic.Record {
	post := feed.Post{ID: fmt.Sprintf("%d/%t", c.Pair, c.Second), Text: c.text, Time: feed.FromTime(now), Timed: true}
	splitter := s.splitters.Get().(*text.Splitter)
	defer s.splitters.Put(splitter)
	sentences, _ := splitter.Sentences(nil, &post, s.cfg.MinTokens)
	b := topic.Batch{Sentences: sentences, Canary: &c.Canary, TextVersion: text.Version}
	data := b.Append(nil)
	records := make([]topic.Record, s.cfg.Sentences.Partitions())
	for p := range records {
		records[p] = topic.Record{Partition: p, Time: now, Data: data}
	}
	return records
}

// refusalCounts is how long a refusal counts after which nobody has tried again.
const refusalCounts = 30 * time.Second

// Full reports whether posts were refused for want of room in the last 30 s, and none got through since.
func (s *Split) Full() bool {
	at := s.full.Load()
	return at != 0 && s.cfg.Now().Sub(time.Unix(0, at)) < refusalCounts
}

// noteRoom notes how an append of posts has ended.
func (s *Split) noteRoom(to topic.Topic, err error) {
	switch {
	case to != s.cfg.Sentences:
	case err == nil:
		s.full.Store(0)
	case errors.Is(err, topic.ErrFull):
		s.full.Store(s.cfg.Now().UnixNano())
	}
}
