package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/quota"
)

// mustPace is a pace of one worker, which has looked up all.
func mustPace(lag func() time.Duration) *pace {
	p := newPace(&Quotas{Pace: 2 * time.Second}, &node{})
	p.workers, p.lag, p.lookedUpTo, p.stands = 1, lag, time.Now, func() bool { return false }
	return p
}

// paced are quotas of two posts a second, and a lag that a test sets.
func paced(t *testing.T) (*quotas, func(lag time.Duration)) {
	t.Helper()
	var mu sync.Mutex
	var lag time.Duration
	q := &quotas{now: time.Now, pace: mustPace(func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return lag
	})}
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
			release, err := q.admit(t.Context(), from(s))
			if err == nil {
				release()
			}
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
		begin := time.Now()
		if _, err := q.admit(t.Context(), deletion); err != nil || time.Since(begin) > 0 {
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
		if _, err := q.await(t.Context(), from(quota.Feed("kafka")), touch); err != nil || time.Since(begin) < time.Hour ||
			touched < 3600 {
			t.Errorf("%v after %v, touched %d times", err, time.Since(begin), touched)
		}
		setLag(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.await(ctx, from(quota.Feed("kafka")), touch); err == nil {
			t.Error("it does not end with its context")
		}
	})
}

// hold keeps the first worker from the rows of a partition, once it has caught up, until free is called.
func hold(t *testing.T, s *Server) (free func()) {
	t.Helper()
	for begin := time.Now(); !s.node.caughtUp.Load(); runtime.Gosched() {
		if time.Since(begin) > time.Minute {
			t.Fatal("an empty topic is not looked up within a minute")
		}
	}
	release, held := make(chan struct{}), make(chan struct{})
	w := s.node.match.crew.Workers()[0]
	go w.Locked(w.Owned()[0], func() { close(held); <-release })
	<-held
	return sync.OnceFunc(func() { close(release) })
}

// TestDoorsCloseWhenOverdue: where look-ups are so far behind that records would leave the topic unseen, clients are refused at
// once, whatever they have sent so far, and feeds wait. Deletions pass.
func TestDoorsCloseWhenOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, setLag := paced(t)
		q.pace.overdue = time.Hour
		setLag(time.Hour + time.Second)
		client, source := from(quota.Token("client")), from("")
		begin := time.Now()
		if _, err := q.admit(t.Context(), client); !errors.Is(err, ingest.ErrOverdue) || time.Since(begin) > 0 {
			t.Errorf("a client is answered %v after %v, want ErrOverdue at once", err, time.Since(begin))
		}
		if _, err := q.admit(t.Context(), &ingest.Batch{Sender: client.Sender, Deleted: make([]feed.Tombstone, 1)}); err != nil {
			t.Errorf("a deletion: %v", err)
		}
		time.AfterFunc(time.Minute, func() { setLag(time.Second) })
		if _, err := q.await(t.Context(), source, func(string) {}); err != nil || time.Since(begin) < time.Minute {
			t.Errorf("a feed goes on after %v with %v, want that it waits for a minute", time.Since(begin), err)
		}
	})
}

// TestAFloodFollowsTheLookUps: one client sends far more than its quota gives on average while the worker stands
// still: it is told to come back, and the other is accepted all the time.
func TestAFloodFollowsTheLookUps(t *testing.T) {
	s, _ := mustLimit(t, func(c *Config) { c.Quotas.Token, c.Quotas.Pace = Quota{Posts: 100}, 200*time.Millisecond })
	s.quotas.pace.patience = 100 * time.Millisecond
	free := hold(t, s)
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

// TestAFloodWaitsForItsLookUps: with all defaults, a client that sends 20,000 posts in one request while nothing is looked up
// gets in what a new sender may have waiting, and is told to come back; the other is accepted, and once look-ups go on the rest
// gets in. Before, all were let in at once, and whoever came next waited for their look-ups: 24 s where each was a variant of
// those before.
func TestAFloodWaitsForItsLookUps(t *testing.T) {
	s, _ := mustLimit(t, func(*Config) {})
	s.quotas.pace.patience = 100 * time.Millisecond
	free := hold(t, s)
	defer free()
	flood := plainPosts("flood", 20_000)
	got := mustSend(t, s, "flood", flood)
	if got.problem != "pace" || got.accepted == 0 || got.accepted > 2*minBacklog || got.next != got.accepted+1 {
		t.Errorf("flood: %+v, want at most %d let in", got, 2*minBacklog)
	}
	if got := mustSend(t, s, "honest", plainPosts("honest", 50)); got.status != http.StatusOK || got.accepted != 50 {
		t.Errorf("honest: %+v", got)
	}
	free()
	s.quotas.pace.patience = maxPaceWait
	if got := mustSend(t, s, "flood", flood); got.status != http.StatusOK || got.accepted != 20_000 {
		t.Errorf("once look-ups go on: %+v", got)
	}
}

// TestLagGrowsWhileATurnLasts: the metric of the lag, by which alerts are made, moves while a turn takes long. It had stood
// still until its end.
func TestLagGrowsWhileATurnLasts(t *testing.T) {
	lags := mustReadGauge(t, "refrain_shard_lag")
	s, _ := mustLimit(t, func(*Config) {})
	defer hold(t, s)()
	if got := mustSend(t, s, "honest", plainPosts("honest", 5)); got.accepted != 5 {
		t.Fatalf("%+v", got)
	}
	last := 0.0
	for times, begin := 0, time.Now(); times < 3; {
		if lag := slices.Max(lags()); lag > last {
			times, last = times+1, lag
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("the lag stays at %v s while a turn lasts", last)
		}
	}
}

// mustReadGauge returns what reads all values of a gauge.
func mustReadGauge(t *testing.T, name string) func() []float64 {
	t.Helper()
	reader := metric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(old) })
	return func() []float64 {
		t.Helper()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		values := []float64{0}
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				if gauge, ok := m.Data.(metricdata.Gauge[float64]); ok && m.Name == name {
					for _, p := range gauge.DataPoints {
						values = append(values, p.Value)
					}
				}
			}
		}
		return values
	}
}
