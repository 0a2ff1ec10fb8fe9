package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

var (
	seed = flag.Uint64("chaos.seed", 1, "the first seed")
	runs = flag.Int("chaos.runs", 40, "how many of each, with -full; a quarter as many with the times of a deployment")
)

// TestTakenApart: two splits, some workers and the rest, on a broker that stays: one after the other is killed and started
// again, stands still, comes and goes.
func TestTakenApart(t *testing.T) {
	short := scaled
	short.lasts, short.between = 12*time.Second, time.Second
	t.Run("kafka", func(t *testing.T) { (&run{posts: 3000, times: short}).on(t, sharedKafka(t), *seed) })
	t.Run("nats", func(t *testing.T) { (&run{posts: 3000, times: short}).on(t, sharedNATS(t), *seed) })
}

// TestChaos does the same with the nodes of the brokers and the connections to them, seed after seed.
func TestChaos(t *testing.T) {
	if !*e2e.Full {
		t.Skip("hours: runs with -full")
	}
	r := &run{posts: 8000, times: scaled}
	t.Run("kafka", func(t *testing.T) { r.seeds(t, ownKafka(t), *runs) })
	t.Run("nats", func(t *testing.T) { r.seeds(t, ownNATS(t), *runs) })
}

// TestChaosAtRealTimes does it with the times of a deployment. It mostly waits: those of Kafka and of NATS go on beside each
// other.
func TestChaosAtRealTimes(t *testing.T) {
	if !*e2e.Full {
		t.Skip("an hour: runs with -full")
	}
	r := &run{posts: 40_000, times: actual}
	t.Run("kafka", func(t *testing.T) { t.Parallel(); r.seeds(t, ownKafka(t), (*runs+7)/8) })
	t.Run("nats", func(t *testing.T) { t.Parallel(); r.seeds(t, ownNATS(t), (*runs+7)/8) })
}

// run is one run of a deployment.
type run struct {
	posts int
	times times
}

// seeds are runs one after the other on the same broker, but those that went well before.
func (r *run) seeds(t *testing.T, b broker, n int) {
	done := openProgress(t)
	for s := *seed; s < *seed+uint64(n); s++ {
		if !done.has(t, s) {
			t.Run(fmt.Sprint(s), func(t *testing.T) { done.add(t, r.on(t, b, s)) })
		}
	}
}

// From line dense on a day has thousands of posts, many of them the same text. Each seed has others, a stride further on.
const dense, stride = 200_000, 8_500

// quiet are the posts that come when everything is over.
const quiet = 500

func (r *run) on(t *testing.T, b broker, seed uint64) *result {
	t.Logf("seed %d", seed)
	begin := time.Now()
	lines := e2e.SplitLines(e2e.LinesFrom(t, "stream/ira_2012-02_2016-08.jsonl.zst", dense+int(seed)*stride, r.posts+quiet))
	snapshots := "" // each has its own
	if seed%2 == 0 {
		snapshots = t.TempDir()
	}
	d := newDeployment(t, b, r.times, partitions, snapshots)
	m := newFaultInjector(d, seed)
	front := d.addAll(2, 4)
	d.awaitReady()
	d.wantReplicas()
	lag := d.watchLag(t.Context())
	f := newFeeder(d, seed, 0.1)
	m.runDuring(t.Context(), func(ctx context.Context) { f.feed(ctx, lines[:r.posts], r.times.lasts) })
	d.awaitReady()
	wantEvents(t, front, lines[:r.posts])
	d.wantCountsBalance(f, lines[r.posts:])
	events := wantEvents(t, front, lines)
	front.wantComplete(lines)
	return &result{seed, m.counts, m.starts, f.repeated, events, lag.end(), time.Since(begin)}
}

// runDuring runs as long as feed does, which ends with the last post.
func (m *faultInjector) runDuring(ctx context.Context, feed func(context.Context)) {
	injecting, end := context.WithCancel(ctx)
	time.AfterFunc(m.times.lasts, end)
	var feeding sync.WaitGroup
	feeding.Go(func() {
		defer end()
		feed(ctx)
	})
	m.run(injecting)
	feeding.Wait()
}

// wantEvents wants those of detect, when all that was accepted is through.
func wantEvents(t *testing.T, front *node, lines [][]byte) int {
	t.Helper()
	want := oracle.Sorted(e2e.Detect(t, bytes.Join(lines, nil), e2e.DefaultSettings(), nil))
	var got []feed.Hash
	front.Await(2*time.Minute, "answer with all events", func() bool {
		matches, err := front.TryMatches()
		if err != nil {
			t.Log(err) // a broker is choosing its leaders
			return false
		}
		for i := range matches {
			got = append(got, matches[i].ID)
		}
		return true
	})
	if missing, extra := oracle.Diff(slices.Compact(oracle.Sorted(got)), want); len(missing)+len(extra) > 0 {
		t.Fatalf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	return len(want)
}

// wantCountsBalance sends the rest, and something that is no post, while nothing happens, and wants the counters to balance.
func (d *deployment) wantCountsBalance(f *feeder, lines [][]byte) {
	d.t.Helper()
	before := d.atRest()
	lines = slices.Insert(slices.Clone(lines), len(lines)/2, []byte("{}\n"))
	for some := range slices.Chunk(lines, 100) {
		to := f.anySplit()
		if err := f.try(d.t.Context(), http.DefaultClient, to, some); err != nil {
			d.t.Fatalf("%s does not take posts in though nothing happens: %v", to.name, err)
		}
	}
	d.wantBalance(before, len(lines))
}

// wantComplete asks what the last post that is long enough repeats: its own text, since that is in the window of one of the workers.
func (n *node) wantComplete(lines [][]byte) {
	n.TB.Helper()
	for i := len(lines) - 1; ; i-- {
		var p struct{ ID, Text string }
		if err := json.Unmarshal(lines[i], &p); err != nil {
			n.TB.Fatal(err)
		}
		question, _ := json.Marshal(map[string]string{"text": p.Text}) // of two strings
		resp, err := http.Post(n.URL("/v1/match"), "application/json", bytes.NewReader(question))
		if err != nil {
			n.TB.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case err != nil || resp.StatusCode != http.StatusOK || bytes.Contains(answer, []byte("partial")):
			n.TB.Fatalf("%s: %s, %v", resp.Status, answer, err)
		case !bytes.Contains(answer, []byte(`"compared":true`)): // too short
		case !bytes.Contains(answer, []byte(`"jaccard":1,`)): // of the same text there may be more than are told
			n.TB.Fatalf("%s is not found: %s", p.ID, answer)
		default:
			return
		}
	}
}
