package server

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/topic"
)

// silent is a broker that opens nothing for a while.
type silent struct {
	broker
	until time.Time
	lost  error
}

func (b *silent) Lost() error { return b.lost }

func (b *silent) openTopic(context.Context, topicSpec) (openTopic, error) { return nil, b.answer() }

func (b *silent) openStore(context.Context, string) (topic.Store, error) { return nil, b.answer() }

func (b *silent) answer() error {
	if time.Now().Before(b.until) {
		return kafka.LeaderNotAvailable
	}
	return nil
}

// TestStartWaitsForTheBroker: with whatever it opens there, until the node has to be opened anew, and afterwards for as long as it
// takes: nobody would try again.
func TestStartWaitsForTheBroker(t *testing.T) {
	for name, open := range map[string]func(context.Context, *startBroker) error{
		"topic": func(ctx context.Context, b *startBroker) error { _, err := b.openTopic(ctx, topicSpec{}); return err },
		"store": func(ctx context.Context, b *startBroker) error { _, err := b.openStore(ctx, "state"); return err },
	} {
		for _, test := range []struct {
			what            string
			away            time.Duration
			opened, started bool
			waits           bool
		}{
			{"the node is being opened", maxStartWait / 2, false, false, true},
			{"the node is being opened, for too long", 2 * maxStartWait, false, false, false},
			{"the doors are being opened", 10 * maxStartWait, true, false, true},
			{"all is open", time.Second, true, true, false},
		} {
			t.Run(name+", "+test.what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					told := 0
					n := &node{log: slog.New(slog.DiscardHandler), waiting: func(error) { told++ }}
					b := &startBroker{broker: &silent{until: time.Now().Add(test.away)}, n: n}
					b.opened.Store(test.opened)
					b.started.Store(test.started)
					if err := open(t.Context(), b); (err == nil) != test.waits || err != nil && !errors.Is(err, kafka.LeaderNotAvailable) {
						t.Errorf("got %v", err)
					}
					if (told > 0) == test.started {
						t.Errorf("said %d times what it waits for", told)
					}
				})
			})
		}
	}
}

// TestStartEndsWithItsTopics: while nobody watches them, who waits has to see that one has been deleted.
func TestStartEndsWithItsTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{log: slog.New(slog.DiscardHandler), waiting: func(error) {}}
		deleted := errors.New("deleted")
		b := &startBroker{broker: &silent{until: time.Now().Add(time.Hour), lost: deleted}, n: n}
		b.opened.Store(true)
		if _, err := b.openStore(t.Context(), "state"); !errors.Is(err, ErrTopicsChanged) || !errors.Is(err, deleted) {
			t.Errorf("got %v, want ErrTopicsChanged", err)
		}
	})
}
