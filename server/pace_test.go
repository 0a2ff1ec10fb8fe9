package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/quota"
)

// paced are quotas of two posts a second, and a lag that a test sets.
func paced(t *testing.T) (*quotas, func(lag time.Duration)) {
	t.Helper()
	var mu sync.Mutex
	var lag time.Duration
	q := &quotas{now: time.Now, pace: pace{max: 2 * time.Second, patience: 20 * time.Second, lag: func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return lag
	}}}
	q.openMetrics()
	cfg := quota.Default()
	cfg.Token = quota.Limits{Posts: 2}
	q.counted = quota.New(cfg)
	return q, func(l time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		lag = l
	}
}

func from(sender quota.Sender) *ingest.Batch {
	return &ingest.Batch{Sender: string(sender), Posts: make([]feed.Post, 1)}
}

// TestWhoHurriesWaits: while look-ups are behind, a sender that has used more than two seconds of its quota is held
// back, and told to come back after a while; who sends slowly is not, nor anybody once they have caught up.
func TestWhoHurriesWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, setLag := paced(t)
		fast, slow := quota.Token("fast"), quota.Token("slow")
		admit := func(s quota.Sender) (time.Duration, error) {
			begin := time.Now()
			err := q.admit(t.Context(), from(s))
			return time.Since(begin), err
		}
		for _, s := range []quota.Sender{fast, slow} {
			if waited, err := admit(s); waited != 0 || err != nil {
				t.Fatalf("%s at first: %v after %v", s, err, waited)
			}
		}
		q.counted.Charge(fast, map[string]quota.Usage{"": {Posts: 1000}})
		q.counted.Charge(slow, map[string]quota.Usage{"": {Posts: 4}})
		if waited, err := admit(fast); waited != 0 || err != nil {
			t.Errorf("fast, nothing behind: %v after %v", err, waited)
		}
		setLag(3 * time.Second)
		if waited, err := admit(slow); waited != 0 || err != nil {
			t.Errorf("slow: %v after %v", err, waited)
		}
		if waited, err := admit(fast); waited != 20*time.Second || !errors.Is(err, ingest.ErrBehind) {
			t.Errorf("fast: %v after %v, want to be told to come back after 20 s", err, waited)
		}
		deletion := &ingest.Batch{Sender: string(fast), Deleted: make([]feed.Tombstone, 1)}
		if begin := time.Now(); q.admit(t.Context(), deletion) != nil || time.Since(begin) > 0 {
			t.Error("a deletion waits for look-ups")
		}
		time.AfterFunc(5*time.Second, func() { setLag(time.Second) })
		if waited, err := admit(fast); waited < 5*time.Second || waited > 6*time.Second || err != nil {
			t.Errorf("fast, until look-ups have caught up: %v after %v", err, waited)
		}
	})
}

// TestFeedsFollowThePace: a feed waits as long as it takes, and its clock knows.
func TestFeedsFollowThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, setLag := paced(t)
		touched := 0
		touch := func(string) { touched++ }
		setLag(time.Minute)
		time.AfterFunc(time.Hour, func() { setLag(0) })
		begin := time.Now()
		if err := q.await(t.Context(), from(quota.Feed("kafka")), touch); err != nil || time.Since(begin) < time.Hour ||
			touched < 3600 {
			t.Errorf("%v after %v, touched %d times", err, time.Since(begin), touched)
		}
		setLag(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := q.await(ctx, from(quota.Feed("kafka")), touch); err == nil {
			t.Error("it does not end with its context")
		}
	})
}

// TestAFloodFollowsTheLookUps: one client sends far more than its quota gives on average while the worker stands
// still: it is told to come back, and the other is accepted all the time.
func TestAFloodFollowsTheLookUps(t *testing.T) {
	s, _ := mustLimit(t, func(c *Config) { c.Quotas.Token, c.Quotas.Pace = Quota{Posts: 100}, 200*time.Millisecond })
	s.quotas.pace.patience = 100 * time.Millisecond
	release, held := make(chan struct{}), make(chan struct{})
	go s.node.workers[0].Locked(s.node.workers[0].Owned()[0], func() { close(held); <-release })
	<-held
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	n := 0
	send := func(token string, posts int) sent {
		n++
		return mustSend(t, s, token, plainPosts(fmt.Sprintf("%s%dx", token, n), posts))
	}
	for begin := time.Now(); send("flood", 500).problem != "pace"; {
		if time.Since(begin) > time.Minute {
			t.Fatal("a flood that nobody looks up is accepted for a minute")
		}
	}
	if got := send("honest", 50); got.status != http.StatusOK || got.accepted != 50 {
		t.Errorf("honest: %+v", got)
	}
	free()
	for begin := time.Now(); send("flood", 1).status != http.StatusOK; {
		if time.Since(begin) > time.Minute {
			t.Fatal("the flood is refused for a minute after look-ups have caught up")
		}
	}
}
