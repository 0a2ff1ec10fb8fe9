package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"refrain/internal/retry"
	"refrain/publish"
)

// Replay is what is sent again: the events found at From or later and before To, or, with DeadLetters, those that were given
// up in that time.
type Replay struct {
	From        time.Time `json:"from,omitzero"` // the zero time: from the first that is kept
	To          time.Time `json:"to"`
	DeadLetters bool      `json:"deadLetters"`
	Since       time.Time `json:"since"` // when it was asked for
}

// ErrReplaying says that an endpoint is being sent events again: one replay at a time.
var ErrReplaying = errors.New("events are being sent again")

// replayRecord is what the store keeps of a replay; its zero value of none.
type replayRecord struct {
	Replay
	Range  publish.Range `json:"range,omitzero"`   // of the event topic
	Cursor string        `json:"cursor,omitempty"` // how far it has come

	finished bool // all is delivered or given up; the store is still to be told. It belongs to the session
}

func replayKey(name string) string { return "webhook/replay/" + name }

// Replay begins to send events again, beside those that come. It goes on after a restart: from where it was, or, for dead
// letters, from the beginning. It is an error that wraps a *publish.ErrNotKept where the event topic no longer has all of the
// time, and ErrReplaying while there is another.
func (e *Endpoint) Replay(ctx context.Context, r Replay) (Replay, error) {
	if err := e.awaitRecall(ctx); err != nil {
		return r, err
	}
	now := time.Now()
	r.Since = now.UTC()
	if r.To.IsZero() || r.To.After(now) {
		r.To = r.Since
	}
	record := &replayRecord{Replay: r}
	if e.replaying() != nil {
		return r, ErrReplaying
	}
	if !r.DeadLetters {
		var err error
		if record.Range, err = publish.FindRange(ctx, e.deps.Topic, r.From, r.To); err != nil {
			return r, fmt.Errorf("replay to %s: %w", e.Name, err)
		}
	}
	e.storing.Lock()
	defer e.storing.Unlock()
	if e.replaying() != nil {
		return r, ErrReplaying
	}
	if err := e.put(ctx, replayKey(e.Name), record); err != nil {
		return r, err
	}
	e.setReplaying(record)
	e.wakeUp()
	e.logger.Info("webhook: sending events again", "from", r.From, "to", r.To, "dead_letters", r.DeadLetters)
	return r, nil
}

func (e *Endpoint) replaying() *replayRecord {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.replay
}

func (e *Endpoint) setReplaying(r *replayRecord) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.replay = r
}

// advanceReplay begins what was asked for, and ends what is done.
func (s *session) advanceReplay(ctx context.Context) {
	record := s.replaying()
	if s.again != nil && s.again.isDone() {
		s.again.stop()
		s.again, record.finished = nil, true
	}
	switch {
	case record == nil:
		s.ending = false
	case record.finished && !s.ending:
		s.ending = true
		s.running.Go(func() { s.endReplay(ctx) })
	case !record.finished && s.again == nil:
		s.beginReplay(ctx, record)
	}
}

func (s *session) beginReplay(ctx context.Context, record *replayRecord) {
	l := newLane(true)
	ctx, l.stop = context.WithCancel(ctx)
	s.again, s.ending = l, false
	s.running.Go(func() {
		if err := s.readAgain(ctx, l, record); err != nil {
			s.stopped <- err
		}
	})
}

// endReplay has the store forget a replay, also when the program is told to stop just then; if it cannot, a restart
// sends the end of it again.
func (s *session) endReplay(ctx context.Context) {
	for {
		err := s.forgetReplay(ctx)
		if err == nil {
			s.logger.Info("webhook: all events of the replay are sent")
			return
		}
		s.logger.Error("webhook: retrying state write; until then a restart sends events again", "error", err)
		if retry.Sleep(ctx, storeWithin) != nil {
			return
		}
	}
}

func (s *session) forgetReplay(ctx context.Context) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	s.storing.Lock()
	defer s.storing.Unlock()
	if err := s.put(within, replayKey(s.Name), replayRecord{}); err != nil {
		return err
	}
	s.setReplaying(nil)
	return nil
}

// readAgain reads what a replay is of, to its end.
func (s *session) readAgain(ctx context.Context, l *lane, record *replayRecord) error {
	var err error
	if record.DeadLetters {
		err = s.readLetters(ctx, l, &record.Replay)
	} else {
		err = s.readRange(ctx, l, record)
	}
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	select {
	case s.replays <- l:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readRange reads the events of a time from the topic.
func (s *session) readRange(ctx context.Context, l *lane, record *replayRecord) error {
	reader, err := publish.OpenReader(ctx, publish.ReaderConfig{
		Topic: s.deps.Topic, Store: replayStore{s.Endpoint, record}, Name: s.Name + "/replay", Range: record.Range,
		Deleted: s.deps.Deleted, Logger: s.deps.Logger,
	})
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // it was only read
	l.reader = reader
	s.running.Go(func() { s.commit(ctx, reader) })
	for {
		events, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.offer(ctx, l, s.pick(record.within(events, reader.Done), reader.Done)); err != nil {
			return err
		}
	}
}

// within are the events of the time, and is done with the others.
func (r *Replay) within(events []publish.Event, done func(...publish.Event)) []publish.Event {
	in := make([]publish.Event, 0, len(events))
	for _, e := range events {
		if e.FoundAt.Before(r.From) || !e.FoundAt.Before(r.To) {
			done(e)
			continue
		}
		in = append(in, e)
	}
	return in
}

// readLetters reads the dead letters of the endpoint that were written in a time. Those that fail again are written again,
// and lie behind it.
func (s *session) readLetters(ctx context.Context, l *lane, r *Replay) error {
	if s.deps.Letters == nil {
		return nil
	}
	cut := 0
	err := s.deps.Letters.Each(func(letter publish.Letter) error {
		place, ours := strings.CutPrefix(letter.Place, "webhook "+s.Name+" ")
		if !ours || letter.Time.Before(r.From) || !letter.Time.Before(r.To) {
			return ctx.Err()
		}
		e, err := publish.ReadEvent(letter.Event, place)
		if err != nil || letter.Cut {
			cut++
			return ctx.Err()
		}
		if !e.Clear(s.deps.Deleted) {
			return ctx.Err()
		}
		return s.offer(ctx, l, []publish.Event{e})
	})
	if cut > 0 {
		s.logger.Error("webhook: dead letters that are not whole are not sent again", "letters", cut)
	}
	return err
}

// replayStore keeps the cursor of a replay with what else is kept of it.
type replayStore struct {
	*Endpoint
	record *replayRecord
}

func (r replayStore) Get(context.Context, string) ([]byte, error) {
	r.storing.Lock()
	defer r.storing.Unlock()
	if r.record.Cursor == "" {
		return nil, nil
	}
	return []byte(r.record.Cursor), nil
}

func (r replayStore) Put(ctx context.Context, _ string, cursor []byte) error {
	r.storing.Lock()
	defer r.storing.Unlock()
	if r.replaying() != r.record {
		return nil // it has ended meanwhile
	}
	r.record.Cursor = string(cursor)
	return r.put(ctx, replayKey(r.Name), r.record)
}

// status is the replay as others see it; nil: there is none.
func (r *replayRecord) status() *Replay {
	if r == nil {
		return nil
	}
	shown := r.Replay
	return &shown
}
