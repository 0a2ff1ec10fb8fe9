package webhook

import (
	"context"
	"time"
)

// pausedRecord is what the store keeps of an endpoint that is paused; its zero value of one that is not.
type pausedRecord struct {
	Since time.Time `json:"since,omitzero"`
}

// PausedKey is where it is kept that the endpoint of a name is paused.
func PausedKey(name string) string { return "webhook/paused/" + name }

// Pause has nothing more sent until Resume, also after a restart. Requests under way end. Meanwhile events stay in the topic,
// for as long as that keeps them; an event or two hundred are held in memory, and what waits for a retry.
func (e *Endpoint) Pause(ctx context.Context) error {
	return e.setPaused(ctx, time.Now())
}

// Resume lets deliveries go on where they stopped, if the endpoint is paused.
func (e *Endpoint) Resume(ctx context.Context) error {
	return e.setPaused(ctx, time.Time{})
}

// setPaused stores it before it holds: what was answered survives a crash.
func (e *Endpoint) setPaused(ctx context.Context, since time.Time) error {
	if err := e.awaitRecall(ctx); err != nil {
		return err
	}
	e.storing.Lock()
	defer e.storing.Unlock()
	if e.pausedSince().IsZero() == since.IsZero() {
		return nil
	}
	if err := e.put(ctx, PausedKey(e.Name), pausedRecord{since}); err != nil {
		return err
	}
	e.mu.Lock()
	e.paused = since
	e.mu.Unlock()
	e.wakeUp()
	if since.IsZero() {
		e.logger.Info("webhook: resumed")
	} else {
		e.logger.Warn("webhook: paused; its events wait in the event topic, for as long as that keeps them", "resume",
			"POST /v1/webhooks/"+e.Name+"/resume")
	}
	return nil
}

// pausedSince is the zero time of an endpoint that is not paused.
func (e *Endpoint) pausedSince() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.paused
}

// wakeUp has run look at what has changed.
func (e *Endpoint) wakeUp() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

// observePause notes whether the endpoint is paused. The pause is no time of the schedule of what waits for a retry.
func (s *session) observePause(now time.Time) {
	since := s.pausedSince()
	if since.IsZero() && !s.paused.IsZero() {
		for _, d := range s.waiting {
			d.first = d.first.Add(now.Sub(s.paused))
		}
	}
	if !since.IsZero() && s.paused.IsZero() {
		since = now // of this session
	}
	if !since.IsZero() && !s.paused.IsZero() {
		since = s.paused
	}
	s.paused = since
}
