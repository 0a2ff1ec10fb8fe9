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
	"syscall"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

var (
	seed   = flag.Uint64("chaos.seed", 0, "the first seed; 0: 1")
	runs   = flag.Int("chaos.runs", 40, "how many of each, with -full")
	atReal = flag.Bool("chaos.real", false, "with the times of a deployment and not a fraction of them")
	faults = flag.Int("chaos.faults", 5, "in a short run")
)

// TestTakenApart: two splits, two workers and the rest; one after the other is killed and started again, or stands still.
func TestTakenApart(t *testing.T) {
	t.Run("kafka", func(t *testing.T) { (&run{posts: 4000, faults: *faults}).on(t, sharedKafka(t), max(1, *seed)) })
	t.Run("nats", func(t *testing.T) { (&run{posts: 4000, faults: *faults}).on(t, sharedNATS(t), max(1, *seed)) })
}

// TestChaos does the same with the nodes of the brokers too, seed after seed.
func TestChaos(t *testing.T) {
	if !*e2e.Full {
		t.Skip("hours: runs with -full")
	}
	kafka := devservers.StartKafka3(t)
	nats := devservers.StartNATS3(t)
	for i := range uint64(*runs) {
		s := max(1, *seed) + i
		t.Run(fmt.Sprintf("kafka/%d", s), func(t *testing.T) {
			(&run{posts: 20_000, faults: 40}).on(t, broker{kind: "kafka", addrs: kafka.Addrs(), nodes: kafka}, s)
		})
		t.Run(fmt.Sprintf("nats/%d", s), func(t *testing.T) {
			(&run{posts: 20_000, faults: 40}).on(t, broker{kind: "nats", addrs: nats.Addrs(), nodes: nats}, s)
		})
	}
}

// run is one run of a deployment.
type run struct{ posts, faults int }

func (r *run) on(t *testing.T, b broker, seed uint64) {
	t.Logf("seed %d", seed)
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", r.posts)
	want := oracle.Sorted(e2e.Detect(t, posts, e2e.DefaultSettings(), nil))
	times := scaled
	if *atReal {
		times = actual
	}
	d := newDeployment(t, b, seed, times)
	d.add("split-1", "split")
	d.add("split-2", "split")
	for i := range 4 {
		d.add(fmt.Sprintf("match-%d", i+1), "match")
	}
	front := d.add("front", "publish,lookup,api")
	d.restore()

	ctx, cancel := context.WithCancel(t.Context())
	var feeding sync.WaitGroup
	feeding.Go(func() {
		defer cancel()
		d.feed(e2e.SplitLines(posts), d.with("split"), seed, 2*time.Second*time.Duration(r.faults))
	})
	for i := 0; i < r.faults && ctx.Err() == nil; i++ {
		d.fault(ctx)
	}
	d.restore()
	feeding.Wait()
	d.restore()
	got := front.Events()
	if missing, extra := oracle.Diff(slices.Compact(got), want); len(missing)+len(extra) > 0 {
		t.Fatalf("seed %d: %d events missing, %d false, of %d", seed, len(missing), len(extra), len(want))
	}
	t.Logf("%d events of %d posts", len(want), r.posts)
	front.wantWhole(posts)
}

// wantWhole asks what the last post repeats: itself, since it is in the window of one of the workers.
func (n *node) wantWhole(posts []byte) {
	n.TB.Helper()
	lines := e2e.SplitLines(posts)
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
		case !bytes.Contains(answer, []byte(`"post":"`+p.ID+`"`)):
			n.TB.Fatalf("%s is not found: %s", p.ID, answer)
		default:
			return
		}
	}
}

// fault takes something away, or gives it back, and waits a little.
func (d *deployment) fault(ctx context.Context) {
	n := d.nodes[d.rng.IntN(len(d.nodes))]
	switch what := d.rng.IntN(10); {
	case n.Cmd == nil:
		d.t.Logf("%s starts again", n.name)
		n.launch()
	case n.paused:
		d.t.Logf("%s goes on", n.name)
		n.resume()
	case what < 4:
		d.t.Logf("%s is killed", n.name)
		d.kill(n)
	case what < 5:
		d.t.Logf("%s is told to stop", n.name)
		_ = n.Kill(syscall.SIGTERM)
	case what < 7:
		d.t.Logf("%s stands still", n.name)
		n.pause()
	case d.b.nodes != nil:
		d.brokerFault()
	}
	select {
	case <-time.After(time.Duration(d.rng.IntN(int(4 * time.Second)))):
	case <-ctx.Done():
	}
}

// brokerFault kills one of three brokers, or starts it again: never two at a time.
func (d *deployment) brokerFault() {
	for n := range d.down {
		d.t.Logf("broker %d starts again", n)
		d.b.nodes.Start(n)
		delete(d.down, n)
		return
	}
	n := 1 + d.rng.IntN(3)
	d.t.Logf("broker %d is killed", n)
	d.b.nodes.Kill(n)
	d.down[n] = true
}

// feed sends posts in their order, each batch again and to any split until one has answered that all of it is in.
func (d *deployment) feed(lines [][]byte, splits []*node, seed uint64, lasts time.Duration) {
	client := &http.Client{Timeout: 20 * time.Second}
	i := int(seed)
	pace := time.NewTicker(max(time.Microsecond, lasts*100/time.Duration(len(lines))))
	defer pace.Stop()
	for batch := range slices.Chunk(lines, 100) {
		<-pace.C
		for !sent(d.t.Context(), client, splits[i%len(splits)], batch) {
			i++
			select {
			case <-time.After(100 * time.Millisecond):
			case <-d.t.Context().Done():
				return
			}
		}
		i++
	}
}

func sent(ctx context.Context, client *http.Client, to *node, batch [][]byte) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL("/v1/posts"), bytes.NewReader(bytes.Join(batch, nil)))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	a, err := e2e.DecodePosted(resp)
	return err == nil && a.Accepted+a.Rejected == len(batch)
}
