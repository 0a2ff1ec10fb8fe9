package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"golang.org/x/time/rate"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/quota"
	"refrain/split"
)

// handClock is a quota's clock that a test moves.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// mustLimit runs a server with the tokens flood and honest, on a clock that stands still for the quotas.
func mustLimit(t *testing.T, change func(*Config), sources ...ingest.Source) (*Server, *handClock) {
	t.Helper()
	cfg := testConfig(t)
	for _, name := range []string{"flood", "honest"} {
		cfg.Auth.Tokens = append(cfg.Auth.Tokens, Token{Name: name, Token: secretOf(name), Scopes: []string{"read", "write"}})
	}
	change(&cfg)
	s := mustNew(t, cfg)
	clock := &handClock{now: time.Now()}
	s.quotas.now = clock.read
	for _, src := range sources {
		s.AddSource("test", src)
	}
	mustServe(t, s)
	return s, clock
}

func secretOf(name string) Secret { return Secret("the secret of " + name + ", long enough") }

// sent is the answer to some posts.
type sent struct {
	status, accepted, next int
	kind, limit            string
	problem                string // the end of its type
	retry                  time.Duration
	wait                   time.Duration // until the quota lets it in, if nothing else changes
}

func mustSend(t *testing.T, s *Server, token, lines string) (got sent) {
	t.Helper()
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	_, _ = io.WriteString(z, lines)
	_ = z.Close()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.Addr()+"/v1/posts", &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("Authorization", "Bearer "+string(secretOf(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Type           string
		Accepted, Next int
		Quota          struct {
			Kind, Limit string
			Wait        int
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	of := strings.TrimPrefix(answer.Type, "urn:refrain:problem:")
	if (resp.StatusCode == http.StatusTooManyRequests) != (of == "quota" || of == "pace") {
		t.Errorf("%s with type %s", resp.Status, answer.Type)
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return sent{
		resp.StatusCode, answer.Accepted, answer.Next, answer.Quota.Kind, answer.Quota.Limit, of,
		time.Duration(seconds) * time.Second, time.Duration(answer.Quota.Wait) * time.Second,
	}
}

// plainPosts are n posts whose ids begin with id, of which none repeats another.
func plainPosts(id string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"%s%d","text":"a%[1]s%[2]d b%[1]s%[2]d c%[1]s%[2]d d%[1]s%[2]d e%[1]s%[2]d"}`+"\n", id, i)
	}
	return b.String()
}

// TestFloodBesideAnHonestClient: the flood is refused, and told when it may come back, which is true; the honest client
// is not. All that was posted is counted once.
func TestFloodBesideAnHonestClient(t *testing.T) {
	counts := mustMeter(t)
	s, clock := mustLimit(t, func(c *Config) { c.Quotas.Token, c.Quotas.Burst = Quota{Posts: 100}, 10*time.Second })
	const flooders, requests, batch = 4, 10, 500
	var all sync.WaitGroup
	var mu sync.Mutex
	accepted, refused := 0, 0
	last := sent{}
	for f := range flooders {
		all.Go(func() {
			for i := range requests {
				got := mustSend(t, s, "flood", plainPosts(fmt.Sprintf("f%dx%dx", f, i), batch))
				mu.Lock()
				accepted += got.accepted
				if got.status == http.StatusTooManyRequests {
					refused++
					last = got
				}
				mu.Unlock()
			}
		})
	}
	for i := range 100 {
		if got := mustSend(t, s, "honest", plainPosts(fmt.Sprintf("h%dx", i), 1)); got.status != http.StatusOK {
			t.Errorf("honest post %d: %+v", i, got)
		}
	}
	all.Wait()
	if min, max := 10*100, 10*100+flooders*batch; accepted < min || accepted > max || refused == 0 {
		t.Errorf("the flood: %d posts accepted, want %d to %d, %d requests refused", accepted, min, max, refused)
	}
	if got := mustSend(t, s, "flood", plainPosts("more", 1)); got.retry == 0 || got.kind != "token" ||
		got.limit != "posts" || got.next != 1 {
		t.Errorf("the flood, once more: %+v, before %+v", got, last)
	} else {
		refused++
		clock.pass(got.retry)
	}
	if got := mustSend(t, s, "flood", plainPosts("later", 1)); got.status != http.StatusOK {
		t.Errorf("the flood, after what it was told to wait: %+v", got)
	}
	got := counts()
	if got["refrain_ingest_posts accepted"] != int64(accepted+100+1) || got["refrain_ingest_posts rejected"] != 0 ||
		got["refrain_quota_refused token posts"] != int64(refused) {
		t.Errorf("counted %v; the flood had %d and the honest 101 accepted, %d requests were refused", got, accepted, refused)
	}
}

// mustDelete deletes a post of the default source.
func mustDelete(t *testing.T, s *Server, token, id string) (status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "DELETE", "http://"+s.Addr()+"/v1/posts/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+string(secretOf(token)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestFloodOfTheTopic: before half of the sentence topic is used nobody is held back, and from then on only who used it.
func TestFloodOfTheTopic(t *testing.T) {
	s, clock := mustLimit(t, func(c *Config) { c.Topics.SentenceBytes = 2 << 20 })
	var got sent
	posts := 0
	for i := 0; i < 500 && (got.status == 0 || got.status == http.StatusOK); i++ {
		got = mustSend(t, s, "flood", plainPosts(fmt.Sprintf("f%dx", i), 1000))
		posts += got.accepted
	}
	size, err := s.node.sentences.Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.limit != "share" || size.Bytes < 2<<19 || size.Bytes > 3<<19 {
		t.Errorf("the flood ends with %+v, and %d bytes in the topic after %d posts", got, size.Bytes, posts)
	}
	if status := mustDelete(t, s, "flood", "f0x0"); status != http.StatusNoContent {
		t.Errorf("the flood deletes a post of its own: %d", status)
	}
	for i := range 20 {
		if got := mustSend(t, s, "honest", plainPosts(fmt.Sprintf("h%dx", i), 20)); got.status != http.StatusOK {
			t.Fatalf("honest: %+v", got)
		}
	}
	if got.retry > time.Hour || got.wait <= got.retry {
		t.Errorf("told to ask again after %v, and to wait %v", got.retry, got.wait)
	}
	clock.pass(got.wait)
	if got := mustSend(t, s, "flood", plainPosts("later", 1)); got.status != http.StatusOK {
		t.Errorf("after what it was told to wait: %+v", got)
	}
}

// variants are posts of which each is near all that come before it.
func variants(id string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"%s%d","text":"one two three four five six seven eight nine ten eleven twelve v%d"}`+"\n", id, i, i)
	}
	return b.String()
}

// TestAmplification: some kilobytes of gzip cause ten thousand events; the next ones are refused until those are
// paid for, and other clients go on.
func TestAmplification(t *testing.T) {
	s, clock := mustLimit(t, func(c *Config) { c.Quotas.Token, c.Quotas.EventBurst = Quota{Events: 100}, time.Minute })
	if got := mustSend(t, s, "flood", variants("f", 150)); got.status != http.StatusOK {
		t.Fatalf("the first request: %+v", got)
	}
	before := mustCountEvents(t, s)
	got := mustSend(t, s, "flood", variants("g", 150))
	if before < 10_000 || got.status != http.StatusTooManyRequests || got.limit != "events" || got.next != 1 {
		t.Errorf("after %d events: %+v", before, got)
	}
	if want := time.Duration(before/100-60) * time.Second; got.retry < want || got.retry > want+time.Second {
		t.Errorf("told to come back after %v, want %v", got.retry, want)
	}
	if got := mustSend(t, s, "honest", variants("h", 1)); got.status != http.StatusOK {
		t.Errorf("honest: %+v", got)
	}
	if after := mustCountEvents(t, s); after > before+150 {
		t.Errorf("%d events, and then %d", before, after)
	}
	clock.pass(got.retry)
	if got := mustSend(t, s, "flood", plainPosts("later", 1)); got.status != http.StatusOK {
		t.Errorf("after what it was told to wait: %+v", got)
	}
}

// mustCountEvents counts the events of all that was accepted.
func mustCountEvents(t *testing.T, s *Server) (n int) {
	t.Helper()
	if err := s.node.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	start, ends, err := s.node.events.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.node.events.Open(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for last := int64(-1); last+1 < slices.Max(ends); {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, last = n+len(records), records[len(records)-1].Position
	}
	return n
}

// TestAFeedWaits: a feed over its quota is not refused; its next batch waits, and goes on then.
func TestAFeedWaits(t *testing.T) {
	logged := make(chan struct{}, 1)
	src := make(pushed)
	_, clock := mustLimit(t, func(c *Config) {
		c.Quotas.Source, c.Quotas.Burst = Quota{Posts: 1}, time.Second
		c.Logger = slog.New(messageWatcher{slog.DiscardHandler, "a feed waits: its quota is used up", logged})
	}, src)
	src.MustPush(t, "test", "a", "these words are said three times", time.Now())
	select {
	case <-logged:
		t.Fatal("the first batch waits")
	default:
	}
	before := clock.read()
	go func() {
		<-logged
		clock.pass(2 * time.Second)
	}()
	src.MustPush(t, "test", "b", "these words are said three times", time.Now())
	if clock.read().Equal(before) {
		t.Error("the second batch does not wait")
	}
}

// messageWatcher passes on that a message was logged.
type messageWatcher struct {
	slog.Handler
	message string
	logged  chan struct{}
}

func (h messageWatcher) Enabled(context.Context, slog.Level) bool { return true }

func (h messageWatcher) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h messageWatcher) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.logged <- struct{}{}
	}
	return nil
}

// TestAwait: a batch waits for exactly what is owed, tells every second that its partition is not idle, and no longer than
// its context.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := quota.Default()
		cfg.Burst, cfg.Source = time.Second, quota.Limits{Posts: 1}
		q := quotas{log: slog.New(slog.DiscardHandler), counted: quota.New(cfg), warning: rate.Sometimes{Interval: time.Minute}}
		q.pace = mustPace(func() time.Duration { return 0 })
		q.openMetrics()
		b := &ingest.Batch{Partition: "p", Sender: string(quota.Feed("kafka/refrain"))}
		b.Rejected = make([]ingest.Rejection, 10)
		touched := 0
		touch := func(string) { touched++ }
		if _, err := q.await(t.Context(), b, touch); err != nil || touched > 0 {
			t.Fatalf("the first: %v, touched %d times", err, touched)
		}
		q.charge(b, split.Written{BySource: map[string]quota.Usage{}})
		b.Deleted = append(b.Deleted, feed.Tombstone{Post: "1"})
		began := time.Now()
		if _, err := q.await(t.Context(), b, touch); err != nil || time.Since(began) != 9*time.Second || touched != 9 {
			t.Errorf("the second: %v after %v, touched %d times", err, time.Since(began), touched)
		}
		q.charge(b, split.Written{BySource: map[string]quota.Usage{}})
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		if _, err := q.await(ctx, b, touch); err == nil {
			t.Error("waits longer than its context")
		}
	})
}

// mustMeter returns what reads the counters, by name and labels.
func mustMeter(t *testing.T) func() map[string]int64 {
	t.Helper()
	reader := metric.NewManualReader()
	old := otel.GetMeterProvider()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(old) })
	return func() map[string]int64 {
		t.Helper()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		counts := map[string]int64{}
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
					addPoints(counts, m.Name, sum.DataPoints)
				}
			}
		}
		return counts
	}
}

func addPoints(counts map[string]int64, name string, points []metricdata.DataPoint[int64]) {
	for _, p := range points {
		key := name
		for _, label := range p.Attributes.ToSlice() { // in the order of their names
			key += " " + label.Value.String()
		}
		counts[key] += p.Value
	}
}

// TestQuotaSeriesAreThere before the first refusal, those of the limits that there are: an alert on their increase
// would miss the first otherwise.
func TestQuotaSeriesAreThere(t *testing.T) {
	counts := mustMeter(t)
	mustLimit(t, func(c *Config) {
		c.Quotas.Token, c.Auth.Tokens[0].Quota = Quota{Posts: 100}, Quota{Bytes: 1000}
		c.Quotas.Sources = []SourceQuota{{Name: "s", Quota: Quota{Events: 7}}}
	})
	got := counts()
	for _, name := range []string{"refused token posts", "refused token bytes", "refused token share", "refused source events",
		"waits feed share", "waits source events", "waits feed pace", "waits token pace"} {
		if n, there := got["refrain_quota_"+name]; !there || n != 0 {
			t.Errorf("%s: %d, %t", name, n, there)
		}
	}
	if _, there := got["refrain_quota_refused token events"]; there {
		t.Error("there is a series of a limit that is not")
	}
}
