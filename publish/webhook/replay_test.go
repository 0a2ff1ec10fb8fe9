package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"refrain/feed"
	"refrain/internal/rotated"
	"refrain/publish"
	"refrain/publish/webhook"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPause: nothing is sent while an endpoint is paused, also after a restart, and all of it afterwards, once.
func TestPause(t *testing.T) {
	for _, batch := range []int{1, 7} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.cfg.Batch = batch
			r.append(events(names("a", 10)...)...)
			r.start()
			wait(2 * time.Second)
			must(t, r.Pause(t.Context()))
			synctest.Wait()
			since := r.Status().Since
			r.append(events(names("b", 50)...)...)
			wait(time.Hour)
			r.wantOnce(names("a", 10)...)
			if s := r.Status(); s.State != webhook.Paused || s.Lag != 50 {
				t.Errorf("status %+v", s)
			}
			r.end()
			r.start()
			r.append(events(names("c", 50)...)...)
			wait(time.Hour)
			r.wantOnce(names("a", 10)...)
			if s := r.Status(); s.State != webhook.Paused || !s.Since.Equal(since) || s.Lag != 100 {
				t.Errorf("after a restart: status %+v, since %v before it", s, since)
			}
			must(t, r.Pause(t.Context())) // again changes nothing
			must(t, r.Resume(t.Context()))
			must(t, r.Resume(t.Context()))
			wait(2 * time.Second)
			if s := r.Status(); s.State != webhook.Active || s.Lag != 0 {
				t.Errorf("resumed: status %+v", s)
			}
			r.end()
			r.wantOnce(slices.Concat(names("a", 10), names("b", 50), names("c", 50))...)
		})
	}
}

// TestPauseIsNoTimeOfTheSchedule: an endpoint that is down is paused for a week, and then has the rest of the schedule.
func TestPauseIsNoTimeOfTheSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var fine atomic.Bool
		r.recv.answer = func(*request) answer {
			if fine.Load() {
				return answer{status: 200}
			}
			return answer{status: 500}
		}
		r.append(events(names("p", 20)...)...)
		r.start()
		wait(time.Hour)
		must(t, r.Pause(t.Context()))
		wait(20 * time.Second)
		before := len(r.recv.got())
		wait(50 * time.Hour)
		if n := len(r.recv.got()); n != before {
			t.Errorf("%d requests while it was paused", n-before)
		}
		must(t, r.Resume(t.Context()))
		wait(time.Hour)
		if n := r.letters.count(); n > 0 {
			t.Errorf("%d dead letters", n)
		}
		fine.Store(true)
		wait(2 * time.Minute)
		r.end()
		if s := r.Status(); s.Delivered != 20 {
			t.Errorf("%d of 20 delivered", s.Delivered)
		}
	})
}

// TestPauseThatCannotBeStored does not hold: a restart would undo it.
func TestPauseThatCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.deps.Store = readOnly{}
		r.start()
		if err := r.Pause(t.Context()); !errors.Is(err, io.ErrShortWrite) || r.Status().State != webhook.Active {
			t.Errorf("%v, state %s", err, r.Status().State)
		}
		r.end()
	})
}

// readOnly is a store that takes nothing.
type readOnly struct{}

func (readOnly) Get(context.Context, string) ([]byte, error) { return nil, nil }
func (readOnly) Put(context.Context, string, []byte) error   { return io.ErrShortWrite }

// TestTestEvent: it is signed, of its own type, and sent whatever else the endpoint is; what was said comes back.
func TestTestEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.deps.Deployment = feed.Deployment{Name: "here", Schemas: "https://example.org/schemas/"}
		r.cfg.Filter.Types = []string{feed.ReuseType}
		r.start()
		must(t, r.Pause(t.Context()))
		a, err := r.Test(t.Context())
		must(t, err)
		got := r.recv.got()
		if len(got) != 1 || got[0].kind != webhook.TestType || a.Outcome != "delivered" || a.Status != 204 || a.ID != got[0].header.Get("Webhook-Id") {
			t.Fatalf("answer %+v, %d requests", a, len(got))
		}
		verifier, err := webhooks.NewWebhook(newSecret)
		must(t, err)
		must(t, verifier.VerifyIgnoringTimestamp(got[0].body, got[0].header))
		if want := []byte(`"source":"here","id":"` + a.ID + `"`); !bytes.Contains(got[0].body, want) ||
			!bytes.Contains(got[0].body, []byte(`"dataschema":"https://example.org/schemas/dev.refrain.test.v1.json","data":{"endpoint":"desk"}}`)) {
			t.Errorf("event %s", got[0].body)
		}
		r.recv.answer = func(*request) answer { return answer{status: http.StatusGone} }
		if a, err = r.Test(t.Context()); err != nil || a.Outcome != "failed" || a.Status != 410 || a.Error != "410 Gone" {
			t.Errorf("answer %+v, %v", a, err)
		}
		if s := r.Status(); s.State != webhook.Paused || s.Failed+s.Delivered != 0 {
			t.Errorf("a test has changed the status: %+v", s)
		}
		r.end()
	})
}

// minutes appends events of a post each, one a minute.
func (r *rig) minutes(posts ...string) {
	for _, p := range posts {
		r.append(match(p))
		wait(time.Minute)
	}
}

// wantTimes wants posts to have come so often.
func (r *rig) wantTimes(n int, posts ...string) {
	r.t.Helper()
	got := r.recv.count()
	for _, p := range posts {
		if got[p] != n {
			r.t.Errorf("%s came %d times, want %d", p, got[p], n)
		}
	}
}

// TestReplay: the events of a time, and no others, come again, beside those that come meanwhile; not those of deleted posts,
// and not those that the filter keeps out.
func TestReplay(t *testing.T) {
	for _, batch := range []int{1, 7} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.cfg.Batch, r.cfg.Filter.Languages = batch, []string{"en"}
			var gone atomic.Bool
			r.deps.Deleted = func(n feed.Name, _ time.Time) bool { return gone.Load() && n.Post == "b3" }
			r.start()
			r.minutes(names("a", 10)...)
			from := time.Now()
			r.minutes(names("b", 10)...)
			r.append(match("french", func(m *feed.Match) { m.Later.Lang = "fr" }))
			to := time.Now()
			wait(time.Minute)
			r.minutes(names("c", 10)...)
			gone.Store(true)
			r.recv.delay = time.Second
			if _, err := r.Replay(t.Context(), webhook.Replay{From: from, To: to}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Replay(t.Context(), webhook.Replay{From: from, To: to}); !errors.Is(err, webhook.ErrReplaying) {
				t.Errorf("a second one: %v", err)
			}
			r.append(events(names("live", 20)...)...)
			synctest.Wait()
			if s := r.Status(); s.Replay == nil || !s.Replay.From.Equal(from) {
				t.Errorf("status %+v", s)
			}
			wait(time.Minute)
			if s := r.Status(); s.Replay != nil || s.Lag != 0 {
				t.Errorf("at the end: status %+v", s)
			}
			if _, err := r.Replay(t.Context(), webhook.Replay{From: to, To: to.Add(time.Second)}); err != nil {
				t.Errorf("another one: %v", err)
			}
			wait(time.Minute)
			r.end()
			r.wantTimes(1, slices.Concat(names("a", 10), names("c", 10), names("live", 20), []string{"b3"})...)
			r.wantTimes(2, slices.Concat(names("b", 3), names("b", 10)[4:])...)
			r.wantTimes(0, "french")
		})
	}
}

// TestReplayTakesTurns: a long one does not hold up what comes meanwhile.
func TestReplayTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		from := time.Now()
		r.append(events(names("old", 500)...)...)
		wait(time.Minute)
		r.recv.delay = time.Second
		_, err := r.Replay(t.Context(), webhook.Replay{From: from})
		must(t, err)
		wait(10 * time.Second)
		r.append(events(names("live", 10)...)...)
		wait(10 * time.Second)
		r.wantTimes(1, names("live", 10)...)
		wait(5 * time.Minute)
		r.end()
		r.wantTimes(2, names("old", 500)...)
	})
}

// TestReplayGoesOn after a restart where it was, and with what waited for a retry.
func TestReplayGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		from := time.Now()
		r.append(events(names("p", 200)...)...)
		wait(time.Minute)
		r.recv.delay = time.Second
		r.recv.answer = statuses(has("p1"), 500) // p1, p10 to p19 and p100 to p199
		_, err := r.Replay(t.Context(), webhook.Replay{From: from})
		must(t, err)
		for range 3 {
			wait(20 * time.Second)
			r.end()
			r.start()
		}
		r.recv.mu.Lock()
		r.recv.answer = nil
		r.recv.mu.Unlock()
		wait(10 * time.Minute)
		if s := r.Status(); s.Replay != nil {
			t.Errorf("status %+v", s)
		}
		r.end()
		n, sum := r.recv.count(), 0
		for _, p := range names("p", 200) {
			if n[p] < 2 {
				t.Errorf("%s came %d times", p, n[p])
			}
			if !has("p1")(&request{posts: []string{p}}) {
				sum += n[p]
			}
		}
		if sum > 2*89+3*20 {
			t.Errorf("%d deliveries of 89 events that never failed: the replay has begun anew", sum)
		}
		r.start()
		before := len(r.recv.got())
		wait(time.Minute)
		if n := len(r.recv.got()); n != before {
			t.Errorf("%d requests after the end of the replay", n-before)
		}
		r.end()
	})
}

// TestReplayWhilePaused waits for the end of the pause.
func TestReplayWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		from := time.Now()
		r.append(events(names("p", 20)...)...)
		r.start()
		wait(time.Minute)
		must(t, r.Pause(t.Context()))
		_, err := r.Replay(t.Context(), webhook.Replay{From: from})
		must(t, err)
		wait(time.Hour)
		r.wantOnce(names("p", 20)...)
		r.end()
		r.start()
		must(t, r.Resume(t.Context()))
		wait(time.Minute)
		r.end()
		r.wantTimes(2, names("p", 20)...)
	})
}

// TestReplayOfWhatIsGone: it is an error that says from when events are kept; from then on they come.
func TestReplayOfWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		begin := time.Now()
		r.minutes(names("p", 10)...)
		if _, err := r.Replay(t.Context(), webhook.Replay{From: begin.Add(-time.Hour)}); err != nil {
			t.Errorf("before the first event, with nothing dropped: %v", err)
		}
		wait(time.Minute)
		r.wantTimes(2, names("p", 10)...)
		r.top.Truncate(0, 4)
		_, err := r.Replay(t.Context(), webhook.Replay{From: begin})
		var gone *publish.ErrNotKept
		if !errors.As(err, &gone) || !gone.Oldest.Equal(begin.Add(4*time.Minute)) {
			t.Fatalf("error %v", err)
		}
		_, err = r.Replay(t.Context(), webhook.Replay{From: gone.Oldest})
		must(t, err)
		wait(time.Minute)
		r.wantTimes(2, names("p", 4)...)
		r.wantTimes(3, names("p", 10)[4:]...)
		r.top.Truncate(0, 10)
		if _, err = r.Replay(t.Context(), webhook.Replay{From: begin}); !errors.As(err, &gone) {
			t.Errorf("of an empty topic: %v", err)
		}
		r.end()
	})
}

// TestReplayOfDeadLetters: those of the endpoint, once each, also such as the topic no longer has, and not those that fail
// again meanwhile. Two fail, then again as two others: five in a row are an outage, whose probes are not counted.
func TestReplayOfDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Retries = []time.Duration{time.Second}
		r.recv.answer = statuses(has("bad"), 500)
		kept := &kept{letters: r.letters}
		r.deps.DeadLetters, r.deps.Letters = kept, kept
		must(t, kept.Write("webhook other events/0@1", "no", match("another's")))
		r.append(slices.Concat(events(names("bad", 2)...), events(names("p", 5)...))...)
		r.start()
		wait(time.Hour)
		r.top.Truncate(0, 10)
		_, err := r.Replay(t.Context(), webhook.Replay{DeadLetters: true})
		must(t, err)
		wait(time.Hour)
		if n := len(kept.all); n != 5 || r.Status().Replay != nil {
			t.Errorf("%d dead letters, want those that failed again too; status %+v", n, r.Status())
		}
		r.wantTimes(4, names("bad", 2)...)
		r.recv.mu.Lock()
		r.recv.answer = nil
		r.recv.mu.Unlock()
		_, err = r.Replay(t.Context(), webhook.Replay{DeadLetters: true, From: time.Now().Add(-90 * time.Minute)})
		must(t, err)
		wait(time.Hour)
		r.end()
		r.wantTimes(5, names("bad", 2)...)
		r.wantTimes(1, names("p", 5)...)
		r.wantTimes(0, "another's")
	})
}

// kept are dead letters that can be read again.
type kept struct {
	*letters
	all []publish.Letter
}

func (k *kept) Write(place, reason string, event []byte) error {
	k.mu.Lock()
	k.all = append(k.all, publish.Letter{Place: place, Time: time.Now(), Event: event})
	k.mu.Unlock()
	return k.letters.Write(place, reason, event)
}

func (k *kept) Each(visit func(publish.Letter) error) error {
	k.mu.Lock()
	all := slices.Clone(k.all)
	k.mu.Unlock()
	for _, l := range all {
		if err := visit(l); err != nil {
			return err
		}
	}
	return nil
}

// TestDeliveries: the log of one endpoint of two, page by page, while more is written to it.
func TestDeliveries(t *testing.T) {
	log, err := rotated.Open(rotated.Config{Path: filepath.Join(t.TempDir(), "webhooks.log"), MaxBytes: 4 << 10, Old: 5})
	must(t, err)
	defer log.Close()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.deps.Log, r.deps.Past = log, log
		r.cfg.Concurrency = 1
		r.recv.answer = statuses(has("p13"), 500)
		_, err := fmt.Fprintln(log, `{"endpoint":"other"}`+"\n"+`{"endpoint":"desk"`)
		must(t, err)
		r.append(events(names("p", 20)...)...)
		r.start()
		wait(500 * time.Millisecond)
		var ids []string
		for next, page := "", 0; page == 0 || next != ""; page++ {
			var attempts []webhook.Attempt
			attempts, next, err = r.Deliveries(webhook.Page{Limit: 6, After: next})
			must(t, err)
			for _, a := range attempts {
				ids = append(ids, a.ID)
			}
			if page == 0 {
				r.append(events("more")...)
				wait(100 * time.Millisecond)
			}
		}
		var want []string
		for _, q := range r.recv.got()[:20] {
			want = append(want, q.header.Get("Webhook-Id"))
		}
		slices.Reverse(want)
		if !slices.Equal(ids, want) {
			t.Errorf("%d attempts %q\nwant %q", len(ids), ids, want)
		}
		attempts, next, err := r.Deliveries(webhook.Page{Limit: 6, Outcome: "failed"})
		if err != nil || next != "" || len(attempts) != 1 || attempts[0].Status != 500 || attempts[0].Outcome != "failed" {
			t.Errorf("those that failed: %+v, %q, %v", attempts, next, err)
		}
		r.end()
	})
}

// TestReplayOfFewGoesOn: after a restart at which all of a replay had been read, and little of it sent.
func TestReplayOfFewGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start()
		from := time.Now()
		r.append(events(names("p", 6)...)...)
		wait(time.Minute)
		r.recv.answer = func(*request) answer { return answer{status: 500} }
		_, err := r.Replay(t.Context(), webhook.Replay{From: from})
		must(t, err)
		wait(time.Minute)
		r.end()
		r.recv.answer, r.recv.requests = nil, nil
		r.start()
		wait(time.Minute)
		r.end()
		r.wantTimes(1, names("p", 6)...)
	})
}
