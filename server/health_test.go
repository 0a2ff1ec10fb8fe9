package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/api"
	"refrain/topic"
)

// mustHealth runs a server with a canary every tenth of a second, which is late after one.
func mustHealth(t *testing.T, change func(*Config), disk disk) *Server {
	t.Helper()
	cfg := testConfig(t)
	cfg.Canary = Canary{Every: 100 * time.Millisecond, Late: time.Second}
	if change != nil {
		change(&cfg)
	}
	s := mustNew(t, cfg)
	s.disk = disk
	mustServe(t, s)
	return s
}

// readiness is what GET /readyz answers: the status, and all that holds.
func (s *Server) readiness(t *testing.T) (status int, holding []string, body string) {
	t.Helper()
	resp, err := http.Get("http://" + s.Addr() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Conditions []api.Condition }
	if resp.StatusCode != http.StatusOK {
		if err := json.Unmarshal(all, &answer); err != nil {
			t.Fatalf("%v: %s", err, all)
		}
	}
	for _, c := range answer.Conditions {
		holding = append(holding, c.Name)
	}
	return resp.StatusCode, holding, string(all)
}

// mustBecome waits until the answer of /readyz is 200, or a 503 that names conditions.
func (s *Server) mustBecome(t *testing.T, names ...string) (body string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		status, holding, body := s.readiness(t)
		missing := slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(holding, name) })
		if len(names) == 0 && status == http.StatusOK || len(names) > 0 && !missing {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d %s, want %q", status, body, names)
		}
	}
}

// mustSeeCanaries waits until a pair has come through whole from now on.
func (s *Server) mustSeeCanaries(t *testing.T) {
	t.Helper()
	c, begin := s.node.canaries, time.Now()
	for deadline := begin.Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		last := c.last
		c.mu.Unlock()
		if last.After(begin) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no canary in a minute")
		}
	}
}

// post posts some posts of a kilobyte, from a number on: those of the same number have the same words.
func (s *Server) post(t *testing.T, from, n int) (status int) {
	t.Helper()
	var body bytes.Buffer
	for i := from; i < from+n; i++ {
		r := rand.New(rand.NewPCG(uint64(i), 0))
		fmt.Fprintf(&body, "{\"id\":\"%d/%d\",\"text\":\"post number %d says%s\"}\n", time.Now().UnixNano(), i, i,
			randomWords(r, 60))
	}
	resp, err := http.Post("http://"+s.Addr()+"/v1/posts", "application/x-ndjson", &body)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// randomWords do not compress.
func randomWords(r *rand.Rand, n int) string {
	var words strings.Builder
	for range n {
		fmt.Fprintf(&words, " %x", r.Uint64())
	}
	return words.String()
}

// refusal is what one post that is refused is answered.
type refusal struct {
	Type, Detail   string
	Accepted, Next int
	retry          string
}

func (s *Server) mustRefuse(t *testing.T) (got refusal) {
	t.Helper()
	// more than there is room for
	body := fmt.Sprintf(`{"id":"large","text":%q}`, randomWords(rand.New(rand.NewPCG(1, 1)), 20_000))
	resp, err := http.Post("http://"+s.Addr()+"/v1/posts", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("%s, %v", resp.Status, err)
	}
	got.retry = resp.Header.Get("Retry-After")
	return got
}

// TestReadyWithoutAFault: canaries go on, nothing holds.
func TestReadyWithoutAFault(t *testing.T) {
	s := mustHealth(t, nil, nil)
	s.mustSeeCanaries(t)
	if body := s.mustBecome(t); body != "ok\n" {
		t.Errorf("got %q", body)
	}
}

// TestFullTopicAndRoomAgain: whoever asks is told before his posts are refused for a day.
func TestFullTopicAndRoomAgain(t *testing.T) {
	s := mustHealth(t, func(c *Config) { c.Topics.SentenceBytes, c.Quotas.Share = 2<<20, 0 }, nil)
	for n := 0; s.post(t, n, 100) == http.StatusOK; n += 100 {
		if n == 10_000 {
			t.Fatal("the topic takes all")
		}
	}
	got := s.mustRefuse(t)
	if got.Type != "urn:refrain:problem:topic-full" || got.retry != "3600" || got.Accepted != 0 || got.Next != 1 ||
		!strings.Contains(got.Detail, "about 49h") {
		t.Errorf("refused with Retry-After %s, %+v", got.retry, got)
	}
	s.mustBecome(t, "sentence_topic_full")
	s.mustBecome(t, "sentence_topic_full", "canary_late") // it cannot be written
	_, end, err := s.node.sentences.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.node.sentences.(topic.Purger).Purge(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	s.mustBecome(t)
	s.mustSeeCanaries(t)
	if status := s.post(t, 0, 1); status != http.StatusOK {
		t.Errorf("status %d with room", status)
	}
}

// TestRefusedPostsCountAsFull: the topic has room for small posts, and refuses those of somebody who has large ones.
func TestRefusedPostsCountAsFull(t *testing.T) {
	s := mustHealth(t, func(c *Config) { c.Canary.Every = 0 }, func(to topic.Topic) topic.Topic { return refusing{to} })
	if status := s.post(t, 0, 1); status != http.StatusServiceUnavailable {
		t.Fatalf("status %d", status)
	}
	if body := s.mustBecome(t, "sentence_topic_full"); !strings.Contains(body, "are left, unless the disk is full") {
		t.Errorf("the disk may be full, and is not named: %s", body)
	}
}

// refusing is a topic without room for what is large.
type refusing struct{ topic.Topic }

func (r refusing) Append(ctx context.Context, records []topic.Record) error {
	for i := range records {
		if len(records[i].Data) > 500 {
			return topic.ErrFull
		}
	}
	return r.Topic.Append(ctx, records)
}

// TestFailingWorker: the event topic is gone from the server, and comes back.
func TestFailingWorker(t *testing.T) {
	s := mustHealth(t, nil, nil)
	s.mustSeeCanaries(t)
	store := s.node.broker.(*embedded).JetStream()
	stream, err := store.Stream(t.Context(), "events")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.DeleteStream(t.Context(), "events"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second repeats the first
		if status := s.post(t, 0, 20); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	body := s.mustBecome(t, "worker_failing", "canary_late")
	if !strings.Contains(body, "position") {
		t.Errorf("the administrator is not told where: %s", body)
	}
	if _, err := store.CreateStream(t.Context(), js.StreamConfig(stream.CachedInfo().Config)); err != nil {
		t.Fatal(err)
	}
	s.mustBecome(t)
	s.mustSeeCanaries(t)
}

// TestHungWorker: no turn fails, for none ends.
func TestHungWorker(t *testing.T) {
	s := mustHealth(t, func(c *Config) { c.Health.MaxLag = time.Second }, nil)
	s.mustSeeCanaries(t)
	release, held := make(chan struct{}), make(chan struct{})
	go s.node.match.crew.Locked(0, func() { close(held); <-release })
	<-held
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	if status := s.post(t, 0, 1); status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	s.mustBecome(t, "lag", "canary_late")
	free()
	s.mustBecome(t)
	s.mustSeeCanaries(t)
}

// slowDisk makes every append wait at a gate while that is shut.
type slowDisk struct {
	mu   sync.Mutex
	gate chan struct{} // nil: open
}

func (d *slowDisk) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gate = make(chan struct{})
}

func (d *slowDisk) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate != nil {
		close(d.gate)
	}
	d.gate = nil
}

type slowTopic struct {
	topic.Topic
	disk *slowDisk
}

// Append takes as long as it may, and its caller gives up: what a disk that hangs does.
func (s slowTopic) Append(ctx context.Context, records []topic.Record) error {
	s.disk.mu.Lock()
	gate := s.disk.gate
	s.disk.mu.Unlock()
	if gate == nil {
		return s.Topic.Append(ctx, records)
	}
	select {
	case <-gate:
		return s.Topic.Append(ctx, records)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestSlowDisk: no append fails, nobody posts, and no other condition would say so: the canary does.
func TestSlowDisk(t *testing.T) {
	disk := new(slowDisk)
	s := mustHealth(t, nil, func(to topic.Topic) topic.Topic { return slowTopic{to, disk} })
	s.mustSeeCanaries(t)
	disk.shut()
	defer disk.open()
	s.mustBecome(t, "canary_late")
	if _, holding, body := s.readiness(t); !slices.Equal(holding, []string{"canary_late"}) {
		t.Errorf("got %s", body)
	}
	disk.open()
	s.mustBecome(t)
	s.mustSeeCanaries(t)
}
