package shard

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/topic"
)

// smallTopic takes no record of more than so many bytes, as a broker with a limit of its own.
type smallTopic struct {
	topic.Topic
	limit int
}

func (s smallTopic) Append(ctx context.Context, records []topic.Record) error {
	for i := range records {
		if n := len(records[i].Data); n > s.limit {
			return fmt.Errorf("append: %w: %d bytes, %d are allowed", topic.ErrTooLarge, n, s.limit)
		}
	}
	return s.Topic.Append(ctx, records)
}

// letters are dead letters.
type letters []string

func (k *letters) Write(origin, reason string, event []byte) error {
	*k = append(*k, origin+": "+reason+": "+string(event))
	return nil
}

// TestEventsTooLargeForTheTopic: what the event topic refuses is a dead letter, all else goes on. Before, the worker
// tried the same events for ever, after a restart too.
func TestEventsTooLargeForTheTopic(t *testing.T) {
	whole, small, dead := newRoute(t, 1), newRoute(t, 1), &letters{}
	cfg := small.config(0)
	cfg.Events, cfg.DeadLetters = smallTopic{small.events, 2000}, dead
	for r, w := range map[*route]*Worker{whole: whole.mustOpen(whole.config(0)), small: small.mustOpen(cfg)} {
		for i := range 9 {
			text := words
			if i%4 == 2 {
				text += strings.Repeat(" ", 2500) + "end" // still a near repeat of the others
			}
			r.post(fmt.Sprint("p", i), text, 0)
		}
		r.mustStep(w)
	}
	want, got := eventIDs(whole.out()), eventIDs(append(small.out(), *dead...))
	if diff := cmp.Diff(want, got); diff != "" || len(*dead) == 0 || len(small.out()) == 0 {
		t.Errorf("%d events and %d dead letters; (-want +got):\n%s", len(small.out()), len(*dead), diff)
	}
	for _, letter := range *dead {
		if !strings.HasPrefix(letter, "event topic, partition 0: append: record too large: ") || len(letter) <= 2000 {
			t.Errorf("dead letter %.150q does not say why", letter)
		}
	}
}

func eventIDs(events []string) map[string]int {
	ids := map[string]int{}
	for _, event := range events {
		ids[event[strings.Index(event, `"id":"`):][:38]]++
	}
	return ids
}
