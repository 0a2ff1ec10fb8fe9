// Package kafka tests a server between two Kafka topics, with its index in Redis.
package kafka

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// edges is a service between two Kafka topics, with its index in Redis.
type edges struct {
	*e2e.Process
	kafka, redis string
	source       *devservers.SourceTopic
	posts, reuse string // topics
}

// maxHold is more than the posts' five years. Where they are written while they are read, a partition that has none yet may
// get some that are months behind the others: of one that falls further behind than max_hold, repeats may be missed.
const maxHold = "max_hold: 2000d"

// newEdges writes the configuration, with settings of the window; start starts the service.
func newEdges(t *testing.T, kafka, redis, window string) *edges {
	source := devservers.NewSourceTopic(t, kafka)
	e := &edges{kafka: kafka, redis: redis, source: source, posts: source.Name, reuse: devservers.Name(t)}
	devservers.CreateTopic(t, kafka, e.reuse, 3)
	e.Process = e2e.New(t, e2e.WithYAML(t, e.config(window)))
	return e
}

func (e *edges) config(window string) string {
	return fmt.Sprintf(`
window: {%[5]s}
%[2]s
publish:
  kafka:
  - {name: reuse, brokers: [%[1]q], topic: %[3]q}
lookup:
  store: redis
  retention: 1000h
  redis: {url: "redis://%[4]s/0", prefix: "%[3]s:"}
`, e.kafka, e.source.YAML(), e.reuse, e.redis, window)
}

// kcat runs the command-line client, which is not ours, on the broker.
func (e *edges) kcat(t *testing.T, stdin io.Reader, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Skip("kcat is not installed (deploy/dev/install)")
	}
	cmd := exec.Command("kcat", append([]string{"-b", e.kafka, "-q", "-X", "message.timeout.ms=120000"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kcat %q: %v: %s", args, err, stderr.String())
	}
	return out
}

// produce writes posts, in their order in every partition: what is sent again after an outage would else be late.
func (e *edges) produce(t *testing.T, posts []byte) {
	e.kcat(t, bytes.NewReader(posts), "-P", "-X", "enable.idempotence=true", "-t", e.posts)
}

// published are the ids of the events in the output topic, each once.
func (e *edges) published(t *testing.T) (ids []feed.Hash, records int) {
	t.Helper()
	in := bufio.NewScanner(bytes.NewReader(e.kcat(t, nil, "-C", "-e", "-o", "beginning", "-t", e.reuse)))
	in.Buffer(nil, 16<<20)
	for ; in.Scan(); records++ {
		m, err := feed.DecodeEvent(in.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	return oracle.Sorted(ids), records
}

// awaitPosts waits until n posts are in, and everything that follows from them is out.
func (e *edges) awaitPosts(t *testing.T, n int) {
	t.Helper()
	e.Await(3*time.Minute, fmt.Sprint(n, " posts taken from Kafka"), func() bool { return e.source.Committed() >= n })
	e.Events() // the route is through
	e.Await(2*time.Minute, "events published and indexed", e.SinksAreDone)
}

// check compares what came out with what detect says of the same posts.
func (e *edges) check(t *testing.T, posts []byte) {
	t.Helper()
	var matches []feed.Match
	want := e2e.Detect(t, posts, e2e.DefaultSettings(), func(m *feed.Match) { matches = append(matches, *m) })
	got, records := e.published(t)
	missing, extra := oracle.Diff(slices.Compact(got), oracle.Sorted(want))
	if len(missing)+len(extra) > 0 {
		for _, m := range matches {
			if slices.Contains(missing[:min(10, len(missing))], m.ID) {
				t.Logf("missing: %s of %v repeats %s of %v", m.Later.Post, m.Later.Time, m.Earlier.Post, m.Earlier.Time)
			}
		}
		t.Fatalf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	t.Logf("%d events equal; %d records", len(want), records)
	e.checkIndex(t, posts, matches)
}

// reuse is one row of the answer about a post.
type reuse struct {
	Sentence int
	Group    string
	Jaccard  float64
}

// checkIndex asks the API about every post.
func (e *edges) checkIndex(t *testing.T, posts []byte, matches []feed.Match) {
	t.Helper()
	want := map[string][]reuse{}
	for _, m := range matches {
		want[m.Later.Post] = append(want[m.Later.Post], reuse{m.Later.Sentence, m.Group.String(), m.Jaccard})
	}
	var ids []string
	for _, line := range e2e.SplitLines(posts) {
		p, _, err := feed.DecodePost(line, nil)
		if err == nil {
			ids = append(ids, p.ID)
		}
	}
	var all sync.WaitGroup
	for chunk := range slices.Chunk(ids, len(ids)/runtime.GOMAXPROCS(0)+1) {
		all.Go(func() {
			for _, id := range chunk {
				got, err := e.reuseOf(id)
				if want := sorted(want[id]); err != nil || !slices.Equal(got, want) {
					t.Errorf("reuse of %s: %v, %v, want %v", id, got, err, want)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("the index is right about %d posts", len(ids))
}

func (e *edges) reuseOf(id string) ([]reuse, error) {
	resp, err := http.Get(e.URL("/v1/posts/" + url.PathEscape(id) + "/reuse?limit=1"))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %w", resp.Status, body, err)
	}
	var answer struct{ Repeats []reuse }
	err = json.Unmarshal(body, &answer)
	return sorted(answer.Repeats), err
}

func sorted(r []reuse) []reuse {
	return slices.SortedFunc(slices.Values(r), func(a, b reuse) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

// TestKafkaToKafka: what kcat reads behind refrain is what detect says of the file that kcat wrote, with all defaults: the
// partitions of a backlog of five years are read side by side, though one has twelve times as many posts as another.
func TestKafkaToKafka(t *testing.T) {
	posts, n := e2e.EdgePosts(t)
	e := newEdges(t, devservers.Kafka(t), devservers.Redis(t), "")
	uneven := make([][][]byte, 4)
	for i, line := range e2e.SplitLines(posts) {
		p := min(bits.Len(uint(i%16)), 3) // 1, 1, 2 and 12 of 16
		uneven[p] = append(uneven[p], line)
	}
	for p, lines := range uneven {
		e.kcat(t, bytes.NewReader(bytes.Join(lines, nil)), "-P", "-p", strconv.Itoa(p), "-t", e.posts)
	}
	e.Start()
	e.awaitPosts(t, n)
	e.check(t, posts)
}

// TestPartitionsFarApart: one partition brings the first half of the posts while another brings the second, months ahead.
func TestPartitionsFarApart(t *testing.T) {
	posts, n := e2e.EdgePosts(t)
	lines, steps := e2e.SplitLines(posts), 5
	if *e2e.Full {
		steps = 20
	}
	e := newEdges(t, devservers.Kafka(t), devservers.Redis(t), maxHold)
	e.Start()
	half, step := n/2, n/2/steps
	for at := 0; at < half; at += step {
		e.kcat(t, bytes.NewReader(bytes.Join(lines[half+at:half+at+step], nil)), "-P", "-p", "0", "-t", e.posts)
		e.kcat(t, bytes.NewReader(bytes.Join(lines[at:at+step], nil)), "-P", "-p", "1", "-t", e.posts)
		e.Await(time.Minute, "both steps", func() bool { return e.source.Committed() >= 2*(at+step) })
	}
	e.awaitPosts(t, n)
	e.check(t, posts)
}

// TestKafkaToKafkaThroughFaults: as TestKafkaToKafka, while refrain is killed three times, and Kafka and Redis go away.
func TestKafkaToKafkaThroughFaults(t *testing.T) {
	posts, n := e2e.EdgePosts(t)
	kafka, redis := devservers.StartKafka(t), devservers.StartRedis(t)
	e := newEdges(t, kafka.Addr(), redis.Addr(), maxHold)
	e.Start()
	var written sync.WaitGroup
	written.Go(func() { e.produce(t, posts) })
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	kill := func() { e.Kill(syscall.SIGKILL); e.Start() }
	outage := func(s *devservers.Server, length time.Duration) func() {
		return func() { s.Stop(); time.Sleep(length); s.Start() } // the outage itself, not a wait for something
	}
	faults := []func(){kill, outage(kafka, time.Second), outage(redis, 100*time.Millisecond)}
	if *e2e.Full {
		faults = append(faults, kill, kill, outage(kafka, 10*time.Second), outage(redis, 5*time.Second))
	}
	r.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	begin := time.Now()
	for _, fault := range faults {
		reached := e.inWindow() + float64(n)/8*r.Float64()
		e.Await(3*time.Minute, "progress", func() bool { return e.inWindow() >= reached || e.source.Committed() >= n })
		fault()
		t.Logf("%v: fault over", time.Since(begin))
	}
	written.Wait()
	e.awaitPosts(t, n)
	e.check(t, posts)
}

// inWindow is how many sentences have come through the window since the process began.
func (e *edges) inWindow() float64 {
	c, err := e.TryCounters()
	if err != nil {
		return 0
	}
	return c["refrain_sigstore_sentences_total"]
}

// TestRedisComesBackEmpty: while it is empty the API does not say that nobody repeats anybody, and the index is made again
// without a new event.
func TestRedisComesBackEmpty(t *testing.T) {
	redis := devservers.StartRedis(t, "--appendonly", "no", "--save", "''")
	config := fmt.Sprintf("lookup: {store: redis, redis: {url: \"redis://%s/0\"}}\n", redis.Addr())
	e := &edges{Process: e2e.New(t, e2e.WithYAML(t, config))}
	e.Start()
	text := `"text":"The quick brown fox jumps over the lazy dog."}` + "\n"
	if _, err := e.Post([][]byte{[]byte(`{"id":"1",` + text), []byte(`{"id":"2",` + text)}); err != nil {
		t.Fatal(err)
	}
	known := func() bool { r, err := e.reuseOf("2"); return err == nil && len(r) == 1 }
	e.Await(20*time.Second, "the first answer", known)
	redis.Kill()
	redis.Start()
	e.Await(30*time.Second, "the same answer again", func() bool {
		r, err := e.reuseOf("2")
		if err == nil && len(r) == 0 {
			t.Error("an answer from an empty index")
		}
		return err == nil && (len(r) == 1 || t.Failed())
	})
}
