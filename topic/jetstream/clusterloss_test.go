package jetstream_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/devservers"
	"refrain/internal/natsconn"
	"refrain/internal/natsconn/natstest"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

// TestLeaderStopped takes the leader of a topic away in the midst of appending and reading, and brings it back: what was
// acknowledged is read, in order apart from repetitions.
func TestLeaderStopped(t *testing.T) {
	servers := natstest.MustCluster(t, 3, payload)
	c := mustConnect(t, many(servers))
	x := mustOpenOn(t, c)
	var leader *natstest.Server
	appendAndRead(t, x, 60, map[int]func(){
		20: func() { leader = leaderOf(t, servers); leader.Stop() },
		40: func() { leader.Start() },
	})
	if got := mustInfo(t, c, "sentences").Config.Replicas; got != 3 {
		t.Errorf("%d replicas", got)
	}
}

func leaderOf(t *testing.T, servers []*natstest.Server) *natstest.Server {
	t.Helper()
	i := slices.IndexFunc(servers, func(s *natstest.Server) bool { return s.Leads("sentences") })
	if i < 0 {
		t.Fatal("the stream has no leader")
	}
	return servers[i]
}

// TestLeaderKilled does it with kill -9, and also stops a leader where it stands.
func TestLeaderKilled(t *testing.T) {
	devservers.NATS3(t) // a minute: only where ./test all has started clusters
	cluster := devservers.StartNATS3(t)
	c := mustConnect(t, natsconn.Config{Servers: cluster.Addrs()})
	x := mustOpenOn(t, c)
	n := 0
	leader := func() int {
		if _, err := fmt.Sscanf(mustInfo(t, c, "sentences").Cluster.Leader, "n%d", &n); err != nil {
			t.Error(err)
		}
		return n
	}
	appendAndRead(t, x, 300, map[int]func(){
		40:  func() { cluster.Kill(leader()) },
		80:  func() { cluster.Start(n) },
		120: func() { cluster.Pause(leader()) },
		160: func() { cluster.Continue(n) },
		200: func() { cluster.Kill(leader()) },
		240: func() { cluster.Start(n) },
	})
}

// appendAndRead appends records one after the other, each until it is acknowledged, with things that happen before some of
// them, while a reader takes them.
func appendAndRead(t *testing.T, x topic.Topic, n int, happen map[int]func()) {
	t.Helper()
	r := conformance.MustOpen(t, x, 0, 0, 0)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		var longest time.Duration
		for i := range n {
			if f := happen[i]; f != nil {
				f()
			}
			begin := time.Now()
			appendUntilDone(t, x, topic.Record{Partition: i % 3, Data: []byte(fmt.Sprint(i))})
			longest = max(longest, time.Since(begin))
		}
		t.Logf("the longest append took %v", longest)
	})
	for want := 0; want < n; {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, record := range records {
			var got int
			if _, err := fmt.Sscan(string(record.Data), &got); err != nil || got > want {
				t.Fatalf("got %q, want %d", record.Data, want)
			}
			want = max(want, got+1)
		}
	}
}

// wantCheck looks until Check says something, or with "" says nothing.
func wantCheck(t *testing.T, c *jetstream.Cluster, want string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for again := time.NewTicker(50 * time.Millisecond); ; {
		c.Poll(t.Context())
		err := c.Check()
		if err == nil && want == "" || err != nil && want != "" && strings.Contains(err.Error(), want) {
			again.Stop()
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("check says %v, want %q", err, want)
		}
	}
}

// TestCheckWithoutMajority: one server of three is not enough, two are.
func TestCheckWithoutMajority(t *testing.T) {
	devservers.NATS3(t) // ten seconds: only where ./test all has started clusters
	servers := natstest.MustCluster(t, 3, payload)
	c := mustConnect(t, many(servers))
	x := mustOpenOn(t, c)
	conformance.MustAppend(t, x, topic.Record{})
	wantCheck(t, c, "")
	servers[0].Stop()
	wantCheck(t, c, "")
	servers[1].Stop()
	wantCheck(t, c, "stream sentences")
	servers[2].Stop()
	wantCheck(t, c, "not connected since about 20")
	for _, s := range servers {
		s.Start()
	}
	wantCheck(t, c, "")
	appendUntilDone(t, x, topic.Record{})
}

// TestStreamMadeAnew is deleted while a process reads it, and made again by another.
func TestStreamMadeAnew(t *testing.T) {
	at := natstest.MustServer(t, payload).Config()
	c := mustConnect(t, at)
	x := mustOpenOn(t, c)
	conformance.MustAppend(t, x, numbered(9)...)
	r := conformance.MustOpen(t, x, 0, 0, 0)
	conformance.MustFetch(t, r, 9)
	if err := c.JetStream().DeleteStream(t.Context(), "sentences"); err != nil {
		t.Fatal(err)
	}
	wantCheck(t, c, "stream sentences is gone")
	again := mustOpenOn(t, mustConnect(t, at))
	conformance.MustAppend(t, again, numbered(20)...) // beyond where the reader stands
	wantCheck(t, c, "made anew")
	wantBeyondEnd(t, x, r)
	if _, known := topic.ValidEnds(again, x.Lineage().Current(), make([]int64, 3)); known {
		t.Error("what was stored of the stream before is taken for valid")
	}
}

func wantBeyondEnd(t *testing.T, x topic.Topic, r topic.Reader) {
	t.Helper()
	if records, err := r.Fetch(t.Context()); !errors.Is(err, topic.ErrBeyondEnd) {
		t.Errorf("fetch: got %v, %v, want ErrBeyondEnd", records, err)
	}
	if _, err := x.Open(t.Context(), []int64{0, 0, 0}); !errors.Is(err, topic.ErrBeyondEnd) {
		t.Errorf("open: got %v, want ErrBeyondEnd", err)
	}
}

// TestStreamOfABackup comes back as it was some time ago, and grows beyond where it had been before anybody looks. What
// was stored of positions up to the backup goes on being valid.
func TestStreamOfABackup(t *testing.T) {
	for _, grown := range []bool{false, true} {
		t.Run(fmt.Sprint("grown ", grown), func(t *testing.T) { testStreamOfABackup(t, grown) })
	}
}

func testStreamOfABackup(t *testing.T, grown bool) {
	dir, backup := t.TempDir(), t.TempDir()
	s := natstest.MustServer(t, func(o *server.Options) { payload(o); o.StoreDir = dir })
	c := mustConnect(t, s.Config())
	x := mustOpenOn(t, c)
	other := mustConnect(t, s.Config()) // appends, and does not look
	before := x.Lineage().Current()
	conformance.MustAppend(t, x, numbered(9)...)
	wantCheck(t, c, "")
	s.Stop()
	if err := os.CopyFS(backup+"/copy", os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s.Start()
	for _, record := range numbered(9) {
		appendUntilDone(t, x, record)
	}
	r := conformance.MustOpen(t, x, 0, 0, 0)
	conformance.MustFetch(t, r, 18)
	wantCheck(t, c, "")
	s.Stop()
	if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(backup+"/copy"))); err != nil {
		t.Fatal(err)
	}
	s.Start()
	if grown {
		for _, record := range numbered(12) {
			appendUntilDone(t, mustOpenOn(t, other), record)
		}
	}
	wantCheck(t, c, "has lost what was acknowledged, from message 10 on: starting again")
	wantBeyondEnd(t, x, r)
	again := mustOpenOn(t, mustConnect(t, s.Config()))
	if valid := MustValidEnd(t, again, before); valid != 10 {
		t.Errorf("valid up to %d, want 10: %v", valid, again.Lineage())
	}
	if again.Lineage().Current() == before {
		t.Error("no incarnation has begun")
	}
	conformance.MustAppend(t, again, numbered(3)...)
}

// TestRetentionIsNoLoss: what limits drop, also all of it, is not taken for lost.
func TestRetentionIsNoLoss(t *testing.T) {
	c := mustConnect(t, natstest.MustServer(t, payload).Config())
	x := mustOpenOn(t, c, func(c *jetstream.TopicConfig) { c.MaxAge, c.Purged = time.Second, true })
	for range 3 {
		conformance.MustAppend(t, x, numbered(9)...)
		wantCheck(t, c, "")
		_, end := conformance.MustBounds(t, x)
		if err := x.Purge(t.Context(), end); err != nil {
			t.Fatal(err)
		}
		wantCheck(t, c, "")
	}
	deadline := time.Now().Add(20 * time.Second)
	for mustInfo(t, c, "sentences").State.Msgs > 0 && time.Now().Before(deadline) {
		wantCheck(t, c, "")
	}
	conformance.MustAppend(t, x, numbered(9)...)
	wantCheck(t, c, "")
}

// TestReplicasGrow: a topic that one server had gets three, when that is asked for.
func TestReplicasGrow(t *testing.T) {
	at := many(natstest.MustCluster(t, 3, payload))
	conformance.MustAppend(t, mustOpenOn(t, mustConnect(t, at, func(c *jetstream.ClusterConfig) { c.Replicas = 1 })), numbered(3)...)
	c := mustConnect(t, at)
	x := mustOpenOn(t, c)
	wantReplicasNow := func(want int) {
		t.Helper()
		if got := mustInfo(t, c, "sentences").Config.Replicas; got != want {
			t.Errorf("%d replicas, want %d", got, want)
		}
	}
	wantReplicasNow(1) // nobody has asked
	mustOpenOn(t, mustConnect(t, at, func(c *jetstream.ClusterConfig) { c.Replicas = 3 }))
	wantReplicasNow(3)
	mustOpenOn(t, mustConnect(t, at, func(c *jetstream.ClusterConfig) { c.Replicas = 1 }))
	wantReplicasNow(3)
	conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), 3)
	_, err := mustConnect(t, at, func(c *jetstream.ClusterConfig) { c.Replicas = 5 }).JetStream().CreateStream(t.Context(),
		js.StreamConfig{Name: "five", Replicas: 5})
	wantError(t, err, "no suitable peers")
}
