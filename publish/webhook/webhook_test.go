package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"refrain/feed"
	"refrain/publish/webhook"
	"refrain/text"
	"refrain/topic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	oldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs="
)

// match is an event of a post, changed as a test needs it.
func match(post string, change ...func(*feed.Match)) []byte {
	m := feed.Match{
		ID: feed.EventID("near", "x", post, 0, feed.Hash{1}, feed.Hash{2}), Scheme: "near", Jaccard: 1, Occurrences: 2,
		Later:   feed.Occurrence{Source: "x", Post: post, Lang: "en", Time: 1_700_000_000_000, Text: "so <it> goes & goes"},
		Earlier: feed.Occurrence{Source: "x", Post: "witness of " + post}, First: feed.First{Source: "x", Post: "first"},
	}
	for _, c := range change {
		c(&m)
	}
	return m.AppendEvent(nil, "test")
}

func retraction(post string) []byte {
	return fmt.Appendf(nil, `{"specversion":"1.0","type":%q,"source":"test","id":"gone-%s","data":{"source":"x","post":%q}}`,
		feed.RetractedType, post, post)
}

func names(prefix string, n int) (posts []string) {
	for i := range n {
		posts = append(posts, fmt.Sprint(prefix, i))
	}
	return posts
}

func events(posts ...string) (events [][]byte) {
	for _, p := range posts {
		events = append(events, match(p))
	}
	return events
}

// request is what a receiver got.
type request struct {
	at      time.Time
	header  http.Header
	body    []byte
	kind    string
	posts   []string // of the matches in it
	retract string   // the post, of a retraction
}

func (r *request) read() error {
	var e struct {
		Type string
		Data struct {
			Post   string
			Later  struct{ Post string }
			Events []struct {
				Data struct{ Later struct{ Post string } }
			}
		}
	}
	if strings.HasPrefix(string(r.body), "[") { // in the batched mode; its test reads it
		return nil
	}
	if err := json.Unmarshal(r.body, &e); err != nil {
		return err
	}
	r.kind = e.Type
	switch e.Type {
	case feed.ReuseType:
		r.posts = []string{e.Data.Later.Post}
	case feed.RetractedType:
		r.retract = e.Data.Post
	case webhook.BatchType:
		for _, x := range e.Data.Events {
			r.posts = append(r.posts, x.Data.Later.Post)
		}
	}
	return nil
}

// answer is what a receiver says: a status and headers.
type answer struct {
	status int
	header http.Header
}

// receiver is an endpoint inside the process. It keeps all requests in the order they came.
type receiver struct {
	answer func(*request) answer // nil: 204
	delay  time.Duration

	mu       sync.Mutex
	requests []request
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	got := request{at: time.Now(), header: req.Header.Clone(), body: body}
	if err := got.read(); err != nil {
		return nil, err
	}
	if r.delay > 0 {
		select {
		case <-time.After(r.delay):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, got)
	a := answer{status: 204}
	if r.answer != nil {
		a = r.answer(&got)
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: http.NoBody}, nil
}

func (r *receiver) got() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// count says how often each post came.
func (r *receiver) count() map[string]int {
	n := map[string]int{}
	for _, q := range r.got() {
		for _, p := range q.posts {
			n[p]++
		}
	}
	return n
}

// letters are dead letters in memory.
type letters struct {
	mu      sync.Mutex
	reasons map[string]string // by offset
	at      []time.Time
	fail    error
}

func (l *letters) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.reasons)
}

func (l *letters) Write(place, reason string, _ []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	if l.reasons == nil {
		l.reasons = map[string]string{}
	}
	l.reasons[place] = reason
	l.at = append(l.at, time.Now())
	return nil
}

// lines is a log that may be looked at while it is written to.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// rig is an endpoint with all that belongs to it. What it does not know stays when it is started again.
type rig struct {
	t       *testing.T
	cfg     webhook.Config
	deps    webhook.Deps
	top     *topic.Memory
	recv    *receiver
	letters *letters
	log     *lines // of attempts
	slog    *lines
	end     func()
	*webhook.Endpoint
}

func newRig(t *testing.T) *rig {
	short := topic.DefaultMemory()
	short.MaxFetch = 4
	r := &rig{t: t, top: topic.NewMemory(short), recv: new(receiver), letters: new(letters), log: new(lines), slog: new(lines)}
	r.cfg = webhook.Default()
	r.cfg.Name, r.cfg.URL, r.cfg.Secrets = "desk", "https://user:hidden@hooks.example.org/reuse?token=hidden",
		[]string{newSecret, oldSecret}
	r.deps = webhook.Deps{
		Topic: r.top, Store: new(topic.MemoryStore), DeadLetters: r.letters, Log: r.log,
		Logger: slog.New(slog.NewTextHandler(r.slog, nil)), Version: "1.2.3",
	}
	return r
}

func (r *rig) append(events ...[]byte) {
	r.t.Helper()
	var records []topic.Record
	for _, e := range events {
		records = append(records, topic.Record{Data: e, Trace: trace})
	}
	if err := r.top.Append(context.Background(), records); err != nil {
		r.t.Fatal(err)
	}
}

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// start runs the endpoint, with its receiver in the place of the network unless that is nil.
func (r *rig) start() {
	r.t.Helper()
	e, err := webhook.New(r.cfg, r.deps)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.recv != nil {
		e.SetTransport(r.recv)
	}
	r.run(e)
}

func (r *rig) run(e *webhook.Endpoint) {
	r.Endpoint = e
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	r.end = func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	}
}

// wait lets virtual time go by.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// stored is the cursor, "" before anything is done.
func (r *rig) stored() string {
	b, err := r.deps.Store.Get(context.Background(), "publish/desk")
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimPrefix(string(b), "-")
}

func (r *rig) wantOnce(posts ...string) {
	r.t.Helper()
	n := r.recv.count()
	for _, p := range posts {
		if n[p] != 1 {
			r.t.Errorf("%s came %d times, want once", p, n[p])
		}
	}
	if len(n) != len(posts) {
		r.t.Errorf("%d posts came, want %d: %v", len(n), len(posts), n)
	}
}

func statuses(fail func(*request) bool, status int) func(*request) answer {
	return func(r *request) answer {
		if fail(r) {
			return answer{status: status}
		}
		return answer{status: 200}
	}
}

func has(prefix string) func(*request) bool {
	return func(r *request) bool {
		return slices.ContainsFunc(r.posts, func(p string) bool { return strings.HasPrefix(p, prefix) })
	}
}

func TestDeliversAndCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Headers = map[string]string{"X-Team": "desk"}
		r.append(append(events(names("p", 9)...), retraction("p3"), []byte(`{"type":"dev.refrain.other.v1"}`))...)
		r.start()
		wait(2 * time.Second)
		r.wantOnce(names("p", 9)...)
		if got := r.stored(); got != "10" {
			t.Errorf("cursor %q after 11 events", got)
		}
		for _, q := range r.recv.got() {
			if q.kind == feed.RetractedType && (q.retract != "p3" || q.header.Get("Webhook-Id") != "gone-p3") {
				t.Errorf("retraction of %q, id %s", q.retract, q.header.Get("Webhook-Id"))
			}
			if q.header.Get("Content-Type") != "application/cloudevents+json" || q.header.Get("User-Agent") != "Refrain/1.2.3" ||
				q.header.Get("X-Team") != "desk" || !strings.HasPrefix(q.header.Get("Traceparent"), trace[:36]) {
				t.Errorf("headers %v", q.header)
			}
			if user, password, _ := (&http.Request{Header: q.header}).BasicAuth(); user != "user" || password != "hidden" {
				t.Errorf("basic authentication %q, %q", user, password)
			}
		}
		if n := len(r.recv.got()); n != 10 {
			t.Errorf("%d requests, want 9 matches and the retraction", n)
		}
		s := r.Status()
		if s.State != webhook.Active || s.Delivered != 10 || s.Lag != 0 || s.Last.Status != 204 {
			t.Errorf("status %+v", s)
		}
		r.end()
		r.start()
		wait(time.Minute)
		r.end()
		r.wantOnce(names("p", 9)...)
	})
}

func TestRetriesOnScheduleThenDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.recv.answer = statuses(has("bad"), 500)
		r.append(append(events("bad"), events(names("p", 20)...)...)...)
		r.start()
		wait(time.Second)
		if n := r.recv.count(); len(n) != 21 {
			t.Errorf("one failing event holds others up: %v", n)
		}
		if got := r.stored(); got != "20 0:0" {
			t.Errorf("cursor %q, want all but the event that waits", got)
		}
		wait(60 * time.Hour)
		var at []time.Time
		for _, q := range r.recv.got() {
			if has("bad")(&q) {
				at = append(at, q.at)
			}
		}
		pauses := webhook.Default().Retries
		if len(at) != len(pauses)+1 {
			t.Fatalf("%d attempts, want %d", len(at), len(pauses)+1)
		}
		for i, want := range pauses {
			if got := at[i+1].Sub(at[i]); got < want*8/10 || got > want*12/10 {
				t.Errorf("pause %d: %v, want %v give or take a fifth", i, got, want)
			}
		}
		r.letters.mu.Lock()
		defer r.letters.mu.Unlock()
		if reason := r.letters.reasons["webhook desk events/0@0"]; len(r.letters.reasons) != 1 ||
			!strings.Contains(reason, "in 17 attempts since 2000-01-01T00:00:00Z: 500 Internal Server Error") {
			t.Errorf("dead letters %v", r.letters.reasons)
		}
		if s := r.Status(); s.Dead != 1 || s.Failed != 17 || s.Waiting != 0 {
			t.Errorf("status %+v", s)
		}
		r.end()
		if got := r.stored(); got != "20" {
			t.Errorf("cursor %q at the end", got)
		}
	})
}

func TestDeadLettersThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Retries = []time.Duration{time.Second}
		r.letters.fail = io.ErrShortWrite
		r.recv.answer = statuses(has("bad"), 500)
		r.append(events("bad", "p0")...)
		r.start()
		wait(time.Minute)
		if got := r.stored(); got != "1 0:0" {
			t.Errorf("cursor %q has passed an event that is neither delivered nor a dead letter", got)
		}
		r.letters.mu.Lock()
		r.letters.fail = nil
		r.letters.mu.Unlock()
		wait(time.Minute)
		r.end()
		if len(r.letters.reasons) != 1 || r.stored() != "1" {
			t.Errorf("dead letters %v, cursor %q", r.letters.reasons, r.stored())
		}
	})
}

// TestDeletedBeforeTheDeadLetter: what shows a post deleted during the last attempt, or while dead letters cannot be
// written, is kept nowhere.
func TestDeletedBeforeTheDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Retries, r.cfg.Batch = []time.Duration{time.Second}, 3
		var gone atomic.Pointer[string]
		r.deps.Deleted = func(n feed.Name, _ time.Time) bool { return gone.Load() != nil && n.Post == *gone.Load() }
		r.letters.fail = io.ErrShortWrite
		r.recv.answer = func(*request) answer { return answer{status: 500} }
		r.append(events("a", "b", "c")...)
		r.start()
		wait(10 * time.Second)
		post := "witness of b"
		gone.Store(&post)
		r.letters.mu.Lock()
		r.letters.fail = nil
		r.letters.mu.Unlock()
		wait(time.Minute)
		r.end()
		if _, kept := r.letters.reasons["webhook desk events/0@1"]; kept || len(r.letters.reasons) != 2 || r.stored() != "2" {
			t.Errorf("dead letters %v, cursor %q", r.letters.reasons, r.stored())
		}
		if n := r.Status().Dead; n != 2 {
			t.Errorf("%d events are dead, want 2", n)
		}
	})
}

func TestWhatCountsAsSuccess(t *testing.T) {
	for status, want := range map[int]int{200: 1, 202: 1, 204: 1, 299: 1, 301: 2, 307: 2, 400: 2, 404: 2, 500: 2} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.cfg.Retries = []time.Duration{5 * time.Second, time.Minute}
			r.recv.answer = func(*request) answer {
				return answer{status, http.Header{"Location": {"http://127.0.0.1/"}}}
			}
			r.append(events("p")...)
			r.start()
			wait(10 * time.Second)
			r.end()
			if n := len(r.recv.got()); n != want {
				t.Errorf("status %d: %d attempts in ten seconds, want %d", status, n, want)
			}
		})
	}
}

// TestAnEndpointThatGetsTooMuch: with the first 429, 502 or 504 it gets one delivery at a time, and with the first
// success all again.
func TestAnEndpointThatGetsTooMuch(t *testing.T) {
	for status, slowed := range map[int]bool{429: true, 502: true, 504: true, 500: false, 404: false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.cfg.Concurrency = 2
			var fine atomic.Bool
			r.recv.answer = func(*request) answer {
				if fine.Load() {
					return answer{status: 200}
				}
				return answer{status: status}
			}
			r.append(events(names("p", 20)...)...)
			r.start()
			wait(700 * time.Millisecond) // less than the first pause, which is 800 ms at least
			if n := len(r.recv.got()); slowed != (n <= 2) {
				t.Errorf("status %d: %d requests at once, of 2 that may be under way", status, n)
			}
			fine.Store(true)
			wait(5 * time.Second)
			r.end()
			for p, n := range r.recv.count() {
				if n > 3 {
					t.Errorf("status %d: %d requests for %s", status, n, p)
				}
			}
			if s := r.Status(); s.Delivered != 20 {
				t.Errorf("status %d: %d of 20 delivered", status, s.Delivered)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.recv.delay = time.Hour
		r.append(events("p")...)
		r.start()
		wait(16 * time.Second)
		if s := r.Status(); s.Last == nil || s.Last.Error != "no answer within 15s" || s.State != webhook.Failing {
			t.Errorf("status %+v, last %+v", s, s.Last)
		}
		r.end()
	})
}

func TestRetryAfter(t *testing.T) {
	tests := map[string]struct {
		header  string
		minWait time.Duration
		others  bool // go on meanwhile
		status  int
	}{
		"seconds":     {"120", 2 * time.Minute, true, 500},
		"shorter":     {"1", 4 * time.Second, true, 500},
		"date":        {"Sat, 01 Jan 2000 00:10:00 GMT", 10 * time.Minute, true, 500},
		"too long":    {"999999", time.Hour, true, 500},
		"rubbish":     {"soon", 4 * time.Second, true, 500},
		"the past":    {"Fri, 31 Dec 1999 00:00:00 GMT", 4 * time.Second, true, 500},
		"of all":      {"120", 2 * time.Minute, false, 429},
		"unavailable": {"120", 2 * time.Minute, false, 503},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg.Retries = []time.Duration{5 * time.Second, time.Minute}
				first := true
				r.recv.answer = func(*request) answer {
					if !first {
						return answer{status: 200}
					}
					first = false
					return answer{test.status, http.Header{"Retry-After": {test.header}}}
				}
				r.append(events("p")...)
				r.start()
				synctest.Wait()
				r.append(events("q")...)
				wait(2 * time.Hour)
				r.end()
				got := r.recv.got()
				if len(got) != 3 {
					t.Fatalf("%d requests", len(got))
				}
				times := map[string]time.Duration{}
				for _, q := range got[1:] {
					times[q.posts[0]] = q.at.Sub(got[0].at)
				}
				if times["p"] < test.minWait || times["p"] > test.minWait*13/10+10*time.Second {
					t.Errorf("again after %v, want at least %v", times["p"], test.minWait)
				}
				if test.others != (times["q"] < time.Second) {
					t.Errorf("another event %v after, want it to go on: %v", times["q"], test.others)
				}
			})
		})
	}
}

func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Retries = []time.Duration{3 * time.Hour} // neither used up by the outage nor waited for after it
		down := true
		r.recv.answer = func(*request) answer {
			if down {
				return answer{status: 502}
			}
			return answer{status: 200}
		}
		r.append(events(names("p", 500)...)...)
		r.start()
		wait(2 * time.Hour)
		if n := len(r.recv.got()); n < 110 || n > 170 {
			t.Errorf("%d requests in an outage of two hours, want about one a minute", n)
		}
		if s := r.Status(); s.State != webhook.Failing ||
			s.Since.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) > time.Second || s.Dead != 0 {
			t.Errorf("status %+v", s)
		}
		r.recv.mu.Lock()
		down, r.recv.requests = false, nil
		r.recv.mu.Unlock()
		wait(time.Minute + 5*time.Second)
		r.wantOnce(names("p", 500)...)
		r.end()
		if len(r.letters.reasons) != 0 || r.stored() != "499" {
			t.Errorf("dead letters %v, cursor %q", r.letters.reasons, r.stored())
		}
	})
}

func TestOutageEndsInDeadLettersOnlyAfterTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Retries = []time.Duration{time.Second, time.Minute, 59 * time.Minute}
		r.recv.answer = func(*request) answer { return answer{status: 500} }
		r.append(events(names("p", 500)...)...)
		began := time.Now()
		r.start()
		wait(59 * time.Minute)
		if n := r.letters.count(); n != 0 {
			t.Errorf("%d dead letters before the schedule was over", n)
		}
		wait(2 * time.Hour)
		r.end()
		n := r.letters.count()
		if n == 0 {
			t.Fatal("no dead letters")
		}
		if n > 150 || r.letters.at[0].Sub(began) < time.Hour {
			t.Errorf("%d dead letters, the first after %v; want at most 150, an hour after their first attempt", n,
				r.letters.at[0].Sub(began))
		}
	})
}

func TestEventsThatTheEndpointNeverTakesDoNotStopOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.recv.answer = statuses(has("bad"), 400)
		r.append(append(events(names("bad", 20)...), events(names("p", 100)...)...)...)
		r.start()
		wait(time.Hour)
		n := r.recv.count()
		for _, p := range names("p", 100) {
			if n[p] != 1 {
				t.Errorf("%s came %d times", p, n[p])
			}
		}
		r.end()
	})
}

func TestPendingStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Pending, r.cfg.Concurrency = 10, 1
		broken := true
		r.recv.answer = func(q *request) answer {
			if broken && has("bad")(q) {
				return answer{status: 500}
			}
			return answer{status: 200}
		}
		var posts []string
		for i := range 100 {
			posts = append(posts, fmt.Sprint("p", i), fmt.Sprint("bad", i))
		}
		r.append(events(posts...)...)
		r.start()
		wait(time.Second)
		s := r.Status()
		if !s.Held || s.Waiting < 10 || s.Waiting > 20 || len(r.recv.count()) > 50 {
			t.Errorf("status %+v, %d events tried: want reading to stop", s, len(r.recv.count()))
		}
		if strings.Count(r.slog.String(), "too many events wait") != 1 {
			t.Errorf("log:\n%s", r.slog)
		}
		r.recv.mu.Lock()
		broken = false
		r.recv.mu.Unlock()
		wait(time.Hour)
		r.end()
		if n := r.recv.count(); len(n) != len(posts) || r.Status().Held || r.stored() != "199" {
			t.Errorf("%d of %d events came; status %+v, cursor %q", len(n), len(posts), r.Status(), r.stored())
		}
	})
}

// TestFirstDeletedWhileWaiting: of a match whose first occurrence alone is deleted the rest is still delivered.
func TestFirstDeletedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var gone atomic.Bool
		r.deps.Deleted = func(n feed.Name, _ time.Time) bool { return gone.Load() && n.Post == "first" }
		r.recv.answer = func(*request) answer {
			if gone.Swap(true) {
				return answer{status: 200}
			}
			return answer{status: 500}
		}
		r.append(events("a")...)
		r.start()
		wait(time.Minute)
		r.end()
		got := r.recv.got()
		if len(got) != 2 || !bytes.Contains(got[0].body, []byte(`"first":{"source":"x","post":"first"`)) ||
			bytes.Contains(got[1].body, []byte(`"post":"first"`)) {
			t.Errorf("%d requests, want the second without the deleted post", len(got))
		}
	})
}

func TestDeletedWhileWaiting(t *testing.T) {
	for _, batch := range []int{1, 3} {
		t.Run(fmt.Sprint("batch ", batch), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg.Batch = batch
				var mu sync.Mutex
				gone := ""
				r.deps.Deleted = func(n feed.Name, _ time.Time) bool {
					mu.Lock()
					defer mu.Unlock()
					return n.Post == gone
				}
				r.recv.answer = func(*request) answer { return answer{status: 500} }
				r.append(events("a", "b", "c")...)
				r.start()
				wait(2 * time.Second)
				mu.Lock()
				gone = "witness of b"
				mu.Unlock()
				r.recv.mu.Lock()
				r.recv.answer, r.recv.requests = nil, nil
				r.recv.mu.Unlock()
				wait(time.Minute)
				r.end()
				r.wantOnce("a", "c")
				if r.stored() != "2" {
					t.Errorf("cursor %q", r.stored())
				}
			})
		})
	}
}

func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Batch = 10
		r.append(events(names("p", 23)...)...)
		r.append(retraction("q"))
		r.start()
		wait(900 * time.Millisecond)
		if n := len(r.recv.count()); n != 20 {
			t.Errorf("%d events before the second is over, want two full batches", n)
		}
		wait(200 * time.Millisecond)
		r.wantOnce(names("p", 23)...)
		ids := map[string]bool{}
		for _, q := range r.recv.got() {
			if q.kind != webhook.BatchType {
				if q.retract != "q" {
					t.Errorf("a request of type %s", q.kind)
				}
				continue
			}
			var b struct {
				SpecVersion, Source, ID, Time string
				Data                          struct{ Events []json.RawMessage }
			}
			if err := json.Unmarshal(q.body, &b); err != nil {
				t.Fatal(err)
			}
			if b.SpecVersion != "1.0" || b.Source != "test" || b.Time != "2023-11-14T22:13:20Z" ||
				b.ID != q.header.Get("Webhook-Id") {
				t.Errorf("batch %.300s", q.body)
			}
			if m, err := feed.DecodeEvent(b.Data.Events[0]); err != nil || m.Later.Text != "so <it> goes & goes" {
				t.Errorf("event in a batch: %v, %v", m, err)
			}
			ids[b.ID] = true
		}
		r.end()
		// The same events again, for another endpoint: the same requests.
		first := r.recv.got()
		r.cfg.Name, r.recv.requests = "other", nil
		r.start()
		wait(2 * time.Second)
		r.end()
		for _, q := range r.recv.got() {
			if q.kind == webhook.BatchType && !ids[q.header.Get("Webhook-Id")] {
				t.Errorf("another id, %s", q.header.Get("Webhook-Id"))
			}
		}
		if len(r.recv.got()) != len(first) || len(ids) != 3 {
			t.Errorf("%d requests, then %d, with %d ids", len(first), len(r.recv.got()), len(ids))
		}
	})
}

// TestArrays: every request is in the batched mode of the HTTP binding, deletions too.
func TestArrays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Batch, r.cfg.Array = 10, true
		r.append(events(names("p", 23)...)...)
		r.append(retraction("q"))
		r.start()
		wait(2 * time.Second)
		r.end()
		types := map[string]int{}
		for _, q := range r.recv.got() {
			if got := q.header.Get("Content-Type"); got != "application/cloudevents-batch+json" {
				t.Errorf("content-type %q", got)
			}
			var all []struct{ SpecVersion, Type, ID string }
			if err := json.Unmarshal(q.body, &all); err != nil {
				t.Fatalf("%v: %.300s", err, q.body)
			}
			for _, e := range all {
				types[e.SpecVersion+" "+e.Type]++
			}
		}
		if want := map[string]int{"1.0 " + feed.ReuseType: 23, "1.0 " + feed.RetractedType: 1}; !maps.Equal(types, want) {
			t.Errorf("got %v, want %v", types, want)
		}
	})
}

func TestBatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Batch = 100
		for _, p := range names("p", 5) {
			r.append(match(p, func(m *feed.Match) { m.Later.Text = strings.Repeat("x", 400_000) }))
		}
		r.start()
		wait(2 * time.Second)
		r.end()
		r.wantOnce(names("p", 5)...)
		for _, q := range r.recv.got() {
			if len(q.body) > 1<<20 {
				t.Errorf("a request of %d bytes", len(q.body))
			}
		}
	})
}

func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.recv.answer = func(*request) answer { return answer{status: 410} }
		r.append(events(names("p", 3)...)...)
		r.start()
		wait(time.Minute)
		tried := len(r.recv.got())
		since := r.Status().Since
		r.append(events("q")...)
		wait(time.Hour)
		if s := r.Status(); s.State != webhook.Disabled || tried > 4 || len(r.recv.got()) != tried || s.Last.Status != 410 {
			t.Errorf("status %+v, %d requests, then %d", s, tried, len(r.recv.got()))
		}
		r.end()
		r.recv.answer, r.recv.requests = nil, nil
		r.start()
		wait(time.Hour)
		if s := r.Status(); s.State != webhook.Disabled || len(r.recv.got()) != 0 || !s.Since.Equal(since) {
			t.Errorf("after a restart: status %+v, %d requests", s, len(r.recv.got()))
		}
		if err := r.Enable(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait(time.Second)
		r.wantOnce("p0", "p1", "p2", "q")
		r.end()
		r.start()
		r.append(events("r")...)
		wait(time.Second)
		r.end()
		r.wantOnce("p0", "p1", "p2", "q", "r")
	})
}

func TestGoneDoesNotHoldForAnotherURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.recv.answer = func(*request) answer { return answer{status: 410} }
		r.append(events("p")...)
		r.start()
		wait(time.Minute)
		r.end()
		r.recv.answer, r.recv.requests = nil, nil
		r.cfg.URL = "https://hooks.example.org/elsewhere"
		r.start()
		wait(time.Second)
		r.end()
		r.wantOnce("p")
	})
}

func TestShutdown(t *testing.T) {
	tests := []struct {
		takes, end time.Duration
		cursor     string
	}{
		{time.Second, time.Second / 2, "3"},
		{10 * time.Second, 2 * time.Second, "3 0:0,0:1,0:2,0:3"},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.recv.delay = test.takes
			r.append(events(names("p", 4)...)...)
			r.start()
			wait(time.Second / 2)
			began := time.Now()
			r.end()
			if took := time.Since(began); took != test.end || r.stored() != test.cursor {
				t.Errorf("ended after %v with the cursor at %q; want %v, %q", took, r.stored(), test.end, test.cursor)
			}
			r.recv.delay = 0
			r.start()
			wait(2 * time.Second)
			r.end()
			r.wantOnce(names("p", 4)...)
		})
	}
}

// TestEveryEventArrives is an evening of an endpoint that fails one request in five and is down for a minute, with a
// program that is restarted twice.
func TestEveryEventArrives(t *testing.T) {
	for _, batch := range []int{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.cfg.Batch = batch
			n, down := 0, false
			seen := map[string]bool{}
			r.recv.answer = func(q *request) answer {
				if n++; down || n%5 == 0 {
					return answer{status: 503}
				}
				for _, p := range q.posts {
					seen[p] = true
				}
				return answer{status: 200}
			}
			posts := names("p", 3000)
			toggle := func() {
				r.recv.mu.Lock()
				defer r.recv.mu.Unlock()
				down = !down
			}
			r.start()
			for i, p := range posts {
				r.append(match(p))
				switch {
				case i%10 == 0:
					wait(time.Second)
				case i == 905, i == 1505:
					toggle()
				case i == 1205 || i == 2105:
					r.end()
					r.start()
				}
			}
			wait(time.Hour)
			r.end()
			for _, p := range posts {
				if !seen[p] {
					t.Errorf("%s was never delivered", p)
				}
			}
			if len(r.letters.reasons) != 0 || r.stored() != "2999" {
				t.Errorf("dead letters %v, cursor %q", r.letters.reasons, r.stored())
			}
		})
	}
}

func TestFilters(t *testing.T) {
	posts := map[string]func(*feed.Match){
		"plain":  func(m *feed.Match) {},
		"far":    func(m *feed.Match) { m.Jaccard = 0.85 },
		"near":   func(m *feed.Match) { m.Jaccard = 0.9 },
		"german": func(m *feed.Match) { m.Later.Lang = "de" },
		"swiss":  func(m *feed.Match) { m.Later.Lang = "DE-ch" },
		"den":    func(m *feed.Match) { m.Later.Lang = "den" },
		"mute":   func(m *feed.Match) { m.Later.Lang = "" },
		"often":  func(m *feed.Match) { m.Occurrences = 5 },
		"own":    func(m *feed.Match) { m.SameAuthor = true },
		"cosine": func(m *feed.Match) {
			m.Jaccard, m.Measure, m.Similarity = 0.75, "cosine", text.Cosine.Value(135, 157, 158)
		},
	}
	var all []string
	for p := range posts {
		all = append(all, p)
	}
	except := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(names, p) })
	}
	tests := map[string]struct {
		webhook.Filter
		want []string
	}{
		"none":        {webhook.Filter{}, all},
		"type":        {webhook.Filter{Types: []string{feed.ReuseType}}, all},
		"other type":  {webhook.Filter{Types: []string{feed.RetractedType}}, nil},
		"threshold":   {webhook.Filter{Threshold: threshold(t, "0.9")}, except("far", "cosine")},
		"exactly":     {webhook.Filter{Threshold: threshold(t, "793798/926093")}, except("far")}, // floats lose the cosine
		"above":       {webhook.Filter{Threshold: threshold(t, "793799/926093")}, except("far", "cosine")},
		"fraction":    {webhook.Filter{Threshold: threshold(t, "91/100")}, except("far", "near", "cosine")},
		"languages":   {webhook.Filter{Languages: []string{"de"}}, []string{"german", "swiss"}},
		"occurrences": {webhook.Filter{MinOccurrences: 5}, []string{"often"}},
		"authors":     {webhook.Filter{OtherAuthors: true}, except("own")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.cfg.Filter = test.Filter
				for p, change := range posts {
					r.append(match(p, change))
				}
				r.append(retraction("q"))
				r.start()
				wait(2 * time.Second)
				r.end()
				r.wantOnce(test.want...)
				want := len(test.want)
				if len(test.Types) == 0 || slices.Contains(test.Types, feed.RetractedType) {
					want++
				}
				if n := len(r.recv.got()); n != want {
					t.Errorf("%d requests, want %d, the retraction among them if its type is wanted", n, want)
				}
				if r.stored() != fmt.Sprint(len(posts)) {
					t.Errorf("cursor %q", r.stored())
				}
			})
		})
	}
}
