package outages

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
)

const webhookSecret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// TestSinksStandStill: a receiver of webhooks accepts connections and answers nothing, the broker of a Kafka sink and the
// Redis of the index are stopped where they are. Posts go on through, another receiver has its events without delay, nobody
// takes more memory than he may, and then all have everything.
func TestSinksStandStill(t *testing.T) {
	skipUnlessFull(t)
	o, b := outageLengths(), startBroker(t, "kafka")
	redis, sink := devservers.StartRedis(t), newSinkTopic(t)
	stuck, healthy := newReceiver(t), newReceiver(t)
	d := newDeployment(t, b, redis.Addr(), fmt.Sprintf(`
publish:
  kafka: [{name: sink, brokers: [%[1]s], topic: %[2]s}]
  webhooks:
  - {name: stuck, url: "%[3]s", secrets: [%[5]s], allow_private: true, batch: 100, batch_wait: 100ms}
  - {name: healthy, url: "%[4]s", secrets: [%[5]s], allow_private: true, batch: 100, batch_wait: 100ms}
`, sink.Addr(), sink.name, stuck.url, healthy.url, webhookSecret))
	front := d.standard(2)
	memory, arrivals := d.watchMemory(), follow(t, front)

	begin := time.Now().Add(time.Second)
	posts := realPosts(t, o.posts(), o.rate, begin)
	all := newClients(d.withRole("split"), manyClients)
	var feeding sync.WaitGroup
	feeding.Go(func() { all.send(t.Context(), manyClients, posts) })

	still := begin.Add(o.before)
	sleepUntil(t.Context(), still)
	memory.endPhase("before")
	stuck.pause()
	sink.Pause()
	redis.Pause()
	goesOn := still.Add(o.away)
	sleepUntil(t.Context(), goesOn)
	memory.endPhase("standing still")
	redis.Continue()
	sink.Continue()
	stuck.resume()
	feeding.Wait()
	d.wantEvents(front, posts)
	d.awaitSinks(goesOn)
	memory.endPhase("afterwards")
	memory.check()
	want := arrivals.count()
	for name, got := range map[string]int{"the webhook that stood still": stuck.count(), "the other webhook": healthy.count(), "the topic": sink.count(t)} {
		if got != want {
			t.Errorf("%s has %d events, want %d", name, got, want)
		}
	}
	t.Logf("answers: %v", &all.answers)
	t.Logf("delays before: %v", arrivals.delays(posts, begin, still))
	t.Logf("delays while sinks stand still, events: %v", arrivals.delays(posts, still, goesOn))
	t.Logf("delays while sinks stand still, other webhook: %v", healthy.arrivals.delays(posts, still, goesOn))
	if err := all.answers.check(); err != nil {
		t.Error(err)
	}
}

// awaitSinks waits until no sink has events to come.
func (d *deployment) awaitSinks(since time.Time) {
	d.t.Helper()
	for _, role := range []string{"publish", "lookup"} {
		p := d.withRole(role)[0]
		p.Await(10*time.Minute, "events at all sinks of "+p.name, func() bool {
			c, err := p.TryCounters()
			return err == nil && c["refrain_publish_lag#"] > 0 && c["refrain_publish_lag"] == 0
		})
		d.t.Logf("%s has nothing left %v after sinks went on", p.name, time.Since(since).Round(time.Millisecond))
	}
}

// receiver takes webhooks, or stands still.
type receiver struct {
	url string
	arrivals

	paused sync.RWMutex // held for writing while it stands still
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{arrivals: newArrivals()}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

func (r *receiver) pause()  { r.paused.Lock() }
func (r *receiver) resume() { r.paused.Unlock() }

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.paused.RLock()
	defer r.paused.RUnlock()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // whoever sent it has given up
	}
	var e delivered
	if err := json.Unmarshal(body, &e); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.observe(&e)
}

// delivered is an event, or a batch of some.
type delivered struct {
	ID   string
	Data struct {
		Later  struct{ Post string }
		Events []delivered
	}
}

func (r *receiver) observe(e *delivered) {
	for i := range e.Data.Events {
		r.observe(&e.Data.Events[i])
	}
	if len(e.Data.Events) > 0 {
		return
	}
	r.add(e.ID, e.Data.Later.Post, time.Now())
}

// sinkTopic is the topic of a Kafka sink, on a broker of its own.
type sinkTopic struct {
	*devservers.Server
	name string
}

func newSinkTopic(t *testing.T) *sinkTopic {
	s := &sinkTopic{Server: devservers.StartKafka(t), name: devservers.Name(t)}
	devservers.CreateTopic(t, s.Addr(), s.name, 1)
	return s
}

// count is how many different events the topic has.
func (s *sinkTopic) count(t *testing.T) int {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.Addr()}, Topic: s.name, MaxBytes: 16 << 20, MaxWait: time.Second})
	defer r.Close()
	ids := map[string]bool{}
	for end := s.end(t); r.Offset() < end; {
		m, err := r.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var e delivered
		if err := json.Unmarshal(m.Value, &e); err != nil {
			t.Fatal(err)
		}
		ids[e.ID] = true
	}
	return len(ids)
}

func (s *sinkTopic) end(t *testing.T) int64 {
	t.Helper()
	conn, err := kafka.DialLeader(t.Context(), "tcp", s.Addr(), s.name, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	end, err := conn.ReadLastOffset()
	if err != nil {
		t.Fatal(err)
	}
	return end
}
