package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"refrain/internal/retry"
	"refrain/publish"
)

// State is how an endpoint does.
type State string

// The states.
const (
	Active   State = "active"
	Failing  State = "failing"  // nothing has been delivered since the last failure
	Disabled State = "disabled" // it has answered 410; Enable ends that
	Paused   State = "paused"   // by Pause, whatever else it is; Resume ends that
	Unknown  State = "unknown"  // another process runs it, which cannot be asked: Status.Last says why
)

// Status is what is known of an endpoint. Counts are since the start of the program.
type Status struct {
	Name  string    `json:"name"`
	URL   string    `json:"url"` // without credentials
	State State     `json:"state"`
	Since time.Time `json:"since"` // of the state
	Lag   int64     `json:"lag"`   // records between the cursor and the end of the topic, at most; -1: not known
	// Waiting are the events that wait for a retry; Held says that there are so many that reading has stopped.
	Waiting int  `json:"waiting"`
	Held    bool `json:"held"`

	Last   *Last   `json:"last,omitempty"`   // nil before the first attempt
	Replay *Replay `json:"replay,omitempty"` // nil: nothing is sent again

	Delivered int64 `json:"delivered"` // events
	Failed    int64 `json:"failed"`    // attempts
	Dead      int64 `json:"dead"`      // events
}

// Last is the last attempt.
type Last struct {
	Time   time.Time `json:"time"`
	Status int       `json:"status,omitempty"` // 0: there was no answer
	Error  string    `json:"error,omitempty"`
}

// Status returns what is known now. It asks the topic how far the cursor is behind, for a second at most.
func (e *Endpoint) Status() Status {
	e.mu.Lock()
	s, reader := e.status, e.reader
	if s.Last != nil {
		last := *s.Last
		s.Last = &last
	}
	if !e.paused.IsZero() {
		s.State, s.Since = Paused, e.paused
	}
	s.Replay = e.replay.status()
	e.mu.Unlock()
	s.Lag = -1
	if reader == nil {
		return s
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if lag, err := reader.Lag(ctx); err == nil {
		s.Lag = lag
	}
	return s
}

// open notes the reader whose lag is told.
func (e *Endpoint) open(r *publish.Reader) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reader = r
}

// turn notes a state, unless it is the one there was.
func (e *Endpoint) turn(to State, since time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.status.State != to && e.status.State != Disabled {
		e.status.State, e.status.Since = to, since
	}
}

// attempted notes an attempt and logs it.
func (e *Endpoint) attempted(r result, outcome string, next time.Time) {
	last := Last{Time: r.began, Status: r.status}
	if r.err != nil {
		last.Error = r.err.Error()
	}
	e.mu.Lock()
	e.status.Last = &last
	if r.err == nil {
		e.status.Delivered += int64(len(r.events))
	} else {
		e.status.Failed++
	}
	e.mu.Unlock()
	e.metrics.attempt(r)
	e.record.write(e.Name, r, outcome, next)
}

func (e *Endpoint) countDead(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status.Dead += int64(n)
}

// note publishes how many events wait for a retry. It says so when they are too many, but not each time that they are
// for a moment.
func (s *session) note() {
	n, bytes := s.count()
	held := n >= s.Pending || bytes >= maxPendingBytes
	e := s.Endpoint
	e.mu.Lock()
	changed := held != e.status.Held
	e.status.Waiting, e.status.Held = n, held
	e.mu.Unlock()
	s.held = held
	if changed && held {
		e.tooMany.Do(func() {
			e.logger.Error("webhook: too many events wait for a retry; no more are read until some are delivered or given up",
				"waiting", n, "pending", e.Pending, "bytes", bytes, "max_bytes", maxPendingBytes)
		})
	}
}

// disabledRecord is what the store keeps of an endpoint that has answered 410. Of another URL it says nothing.
type disabledRecord struct {
	URL  string    `json:"url,omitempty"` // hash
	Time time.Time `json:"time,omitzero"`
}

// Key is the name in the store of whether an endpoint is disabled.
func Key(name string) string { return "webhook/disabled/" + name }

func (e *Endpoint) urlHash() string {
	sum := sha256.Sum256([]byte(e.target.URL.String()))
	return hex.EncodeToString(sum[:16])
}

// recall finds out what the endpoint was before the start. It is false when ctx has ended.
func (e *Endpoint) recall(ctx context.Context) bool {
	for pauses := retry.Patient(); ; {
		err := e.recallAll(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		pause := pauses.NextBackOff()
		e.logger.Error("webhook: retrying state read", "error", err, "pause", pause)
		if retry.Sleep(ctx, pause) != nil {
			return false
		}
	}
}

// awaitRecall waits until it is known what the endpoint was: before that nothing can be said of it, nor be changed.
func (e *Endpoint) awaitRecall(ctx context.Context) error {
	select {
	case <-e.recalled:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("state of %s: %w", e.Name, ctx.Err())
	}
}

func (e *Endpoint) recallAll(ctx context.Context) error {
	var (
		d disabledRecord
		p pausedRecord
		r replayRecord
	)
	if err := errors.Join(e.get(ctx, Key(e.Name), &d), e.get(ctx, PausedKey(e.Name), &p), e.get(ctx, replayKey(e.Name), &r)); err != nil {
		return err
	}
	if d.URL == e.urlHash() {
		e.setDisabled(d.Time)
		e.logger.Warn("webhook: disabled: the endpoint has answered 410 Gone", "since", d.Time, "enable",
			"POST /v1/webhooks/"+e.Name+"/enable")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.paused = p.Since; !p.Since.IsZero() {
		e.logger.Warn("webhook: paused", "since", p.Since, "resume", "POST /v1/webhooks/"+e.Name+"/resume")
	}
	if !r.Since.IsZero() {
		e.replay = &r
	}
	return nil
}

// get reads what the store keeps under a key. What cannot be understood counts as nothing.
func (e *Endpoint) get(ctx context.Context, key string, record any) error {
	if e.deps.Store == nil {
		return nil
	}
	b, err := e.deps.Store.Get(ctx, key)
	if err != nil || b == nil {
		return err
	}
	if err := json.Unmarshal(b, record); err != nil {
		e.logger.Error("webhook: unreadable state; the endpoint counts as active", "key", key, "error", err)
	}
	return nil
}

func (e *Endpoint) put(ctx context.Context, key string, record any) error {
	if e.deps.Store == nil {
		return nil
	}
	b, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := e.deps.Store.Put(ctx, key, b); err != nil {
		return fmt.Errorf("store the state of %s: %w", e.Name, err)
	}
	return nil
}

// disable stops deliveries, after a 410.
func (e *Endpoint) disable(now time.Time) {
	e.logger.Error("webhook: the endpoint has answered 410 Gone and is disabled until it is enabled again", "url",
		e.target.String())
	e.setDisabled(now)
}

func (e *Endpoint) setDisabled(since time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.enable == nil {
		e.enable = make(chan struct{})
		e.status.State, e.status.Since = Disabled, since
	}
}

// Enable lets deliveries go on where they stopped, if the endpoint is disabled.
func (e *Endpoint) Enable(ctx context.Context) error {
	if err := e.awaitRecall(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	disabled := e.enable != nil
	e.mu.Unlock()
	if !disabled {
		return nil
	}
	e.storing.Lock()
	defer e.storing.Unlock()
	if err := e.put(ctx, Key(e.Name), disabledRecord{}); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.enable != nil {
		close(e.enable)
		e.enable = nil
		e.status.State, e.status.Since = Active, time.Now()
	}
	return nil
}

// awaitEnabled waits while the endpoint is disabled. It is false when ctx has ended.
func (e *Endpoint) awaitEnabled(ctx context.Context) bool {
	e.mu.Lock()
	enable, since := e.enable, e.status.Since
	e.mu.Unlock()
	if enable == nil {
		return ctx.Err() == nil
	}
	e.remember(ctx, enable, since)
	select {
	case <-enable:
		return true
	case <-ctx.Done():
		return false
	}
}

// remember stores that the endpoint is disabled, also when the program is told to stop just then.
func (e *Endpoint) remember(ctx context.Context, enable <-chan struct{}, since time.Time) {
	for {
		err := e.storeDisabled(ctx, enable, since)
		if err == nil {
			return
		}
		e.logger.Error("webhook: retrying state write; until then a restart enables the endpoint", "error", err)
		select {
		case <-time.After(storeWithin):
		case <-enable:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (e *Endpoint) storeDisabled(ctx context.Context, enable <-chan struct{}, since time.Time) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	e.storing.Lock()
	defer e.storing.Unlock()
	select {
	case <-enable: // meanwhile
		return nil
	default:
		return e.put(within, Key(e.Name), disabledRecord{URL: e.urlHash(), Time: since})
	}
}
