package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"refrain/topic"
)

// stream is one client that follows the events.
type stream struct {
	*Events
	request
	w            http.ResponseWriter
	control      *http.ResponseController
	hub          *hub
	at           offsets
	live         []int64     // by partition: events from here on came while the client was there
	foundTimes   []time.Time // of those of them that are in out
	begun        bool        // the client has its header
	sentPosition string      // the last position sent

	batches chan fetched
	target  chan streamEnd
	running sync.WaitGroup
	out     bytes.Buffer
}

// fetched is one batch, or why there is none.
type fetched struct {
	records []topic.Record
	err     error
}

// streamEnd is where until=now ends.
type streamEnd struct {
	ends []int64
	err  error
}

// errAbort ends a response so that the client sees that it is not complete.
var errAbort = errors.New("stream cut short")

// stop ends the goroutines of s and waits for them.
func (s *stream) stop(cancel func()) {
	cancel()
	s.running.Wait()
}

// run sends events until the client goes, the server stops, or until=now is reached.
func (s *stream) run(ctx context.Context) {
	s.metrics.client(1)
	defer s.metrics.client(-1)
	s.running.Go(func() { s.feed(ctx) })
	if s.until {
		s.running.Go(func() { s.target <- s.findEnd(ctx) })
	}
	err := s.serve(ctx)
	slow := errors.Is(err, os.ErrDeadlineExceeded)
	if slow {
		s.metrics.cutOff.Add(context.WithoutCancel(ctx), 1)
	}
	if slow || err != nil && ctx.Err() == nil {
		s.cfg.Logger.Warn("events: client cut off", "position", s.at.String(), "error", err)
	}
	if errors.Is(err, errAbort) {
		panic(http.ErrAbortHandler) // net/http closes the connection without the final chunk
	}
}

// reconnectAfter is how long a client waits before it comes back.
const reconnectAfter = time.Second

// begin answers, once: the client learns that it is connected, and where.
func (s *stream) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	s.header()
	if !s.ndjson {
		fmt.Fprintf(&s.out, "retry: %d\n", reconnectAfter.Milliseconds())
	}
	s.position()
	return s.flush()
}

func (s *stream) header() {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	if s.ndjson {
		h.Set("Content-Type", "application/x-ndjson")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // or nginx keeps events back
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) findEnd(ctx context.Context) streamEnd {
	if s.cfg.AwaitAccepted != nil {
		if err := s.cfg.AwaitAccepted(ctx); err != nil {
			return streamEnd{err: fmt.Errorf("%w: settle: %w", errAbort, err)}
		}
	}
	start, end, err := s.cfg.Topic.Bounds(ctx)
	if err != nil {
		return streamEnd{err: fmt.Errorf("%w: %w", errAbort, err)}
	}
	return streamEnd{ends: targets(start, end)}
}

// serve is the loop of one client. Its error is nil at the asked-for end, and when client or server go away in
// a stream that has none.
func (s *stream) serve(ctx context.Context) error {
	heartbeat := time.NewTicker(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	if !s.mayBeComplete() {
		if err := s.begin(); err != nil {
			return err
		}
	}
	var ends []int64 // nil until known
	for ends == nil || !s.at.reached(ends) {
		var err error
		select {
		case b := <-s.batches:
			err = s.send(ctx, b)
		case t := <-s.target:
			ends, err = t.ends, t.err
		case <-heartbeat.C:
			ends, err = s.beat(ctx, ends)
		case <-ctx.Done():
			return ctx.Err()
		case <-s.quit:
			return s.unfinished()
		}
		if err != nil {
			return err
		}
	}
	return s.end()
}

// mayBeComplete reports whether the client may have everything up to now already: it asked for that, and comes back. It is
// answered when that is known.
func (s *stream) mayBeComplete() bool { return s.until && s.last != "" && !s.ndjson }

// end sends where until=now has ended, so that a client that comes back does so behind it. One that had everything before
// is told not to come back: EventSource does so after every end but a 204.
func (s *stream) end() error {
	if !s.begun {
		s.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if s.sentPosition != s.at.String() {
		s.position()
	}
	return s.flush()
}

func (s *stream) unfinished() error {
	if s.until {
		return fmt.Errorf("%w: the server is stopping", errAbort)
	}
	return nil
}

// send writes one batch.
func (s *stream) send(ctx context.Context, b fetched) error {
	var gap *topic.ErrTruncated
	if errors.As(b.err, &gap) {
		return s.skip(gap)
	}
	if b.err != nil {
		return fmt.Errorf("%w: %w", errAbort, b.err)
	}
	if err := s.begin(); err != nil {
		return err
	}
	done, err := s.writers.begin(ctx, s, b.bytes())
	if err != nil {
		return err
	}
	defer done()
	sent := 0
	for i := range b.records {
		s.at.read(b.records[i].Partition, b.records[i].Position)
		if s.event(&b.records[i]) {
			sent++
		}
	}
	b.records = nil // from here on they are in the buffer
	err = s.flush()
	if s.out.Cap() > 4*pieceBytes {
		s.out = bytes.Buffer{}
	}
	s.metrics.sent("http", sent)
	if err == nil {
		s.metrics.observeDelay("http", s.foundTimes...)
	}
	s.foundTimes = s.foundTimes[:0]
	return err
}

// skip steps over what is no longer retained, and reports it.
func (s *stream) skip(gap *topic.ErrTruncated) error {
	s.at.skip(gap)
	s.cfg.Logger.Warn("events: client reads behind retention", "error", gap)
	if err := s.begin(); err != nil {
		return err
	}
	return s.comment("some events before this are no longer kept")
}

// event writes one event to the buffer, unless it must not be shown.
func (s *stream) event(r *topic.Record) bool {
	e, err := open(r)
	if err != nil {
		s.cfg.Logger.Error("events: unreadable record left out", "position", s.at.String(), "error", err)
		return false
	}
	if !e.Clear(s.cfg.Deleted) {
		return false
	}
	if r.Position >= s.live[r.Partition] {
		s.foundTimes = append(s.foundTimes, r.Time)
	}
	if !s.ndjson {
		s.id()
		fmt.Fprintf(&s.out, "event: %s\ndata: ", e.Type)
	}
	s.oneLine(e.Data)
	if !s.ndjson {
		s.out.WriteByte('\n')
	}
	return true
}

// position tells the client how far the stream has read the topic, which is what it comes back with. JSON lines have no
// room for it.
func (s *stream) position() {
	if s.ndjson {
		return
	}
	s.id()
	fmt.Fprintf(&s.out, "event: position\ndata: {\"position\":%q}\n\n", s.sentPosition)
}

func (s *stream) id() {
	s.sentPosition = s.at.String()
	fmt.Fprintf(&s.out, "id: %s\n", s.sentPosition)
}

// oneLine writes JSON and a newline: line ends between its tokens go, inside strings there are none.
func (s *stream) oneLine(data []byte) {
	if !bytes.ContainsAny(data, "\r\n") || json.Compact(&s.out, data) != nil {
		s.out.Write(data)
	}
	s.out.WriteByte('\n')
}

// beat keeps a quiet connection alive, and sees whether the end that is waited for still exists: retention may
// have dropped it. The position is that of this stream, not the topic's end, which it may not have read.
func (s *stream) beat(ctx context.Context, ends []int64) ([]int64, error) {
	if err := s.begin(); err != nil {
		return ends, err
	}
	s.position()
	if err := s.flush(); err != nil || ends == nil {
		return ends, err
	}
	start, _, err := s.cfg.Topic.Bounds(ctx)
	if err != nil {
		return ends, fmt.Errorf("%w: %w", errAbort, err)
	}
	for i := range ends {
		if start[i] >= ends[i] {
			ends[i] = -1
		}
	}
	return ends, nil
}

// comment writes a line that is no event; JSON lines have no room for one.
func (s *stream) comment(text string) error {
	if s.ndjson {
		return nil
	}
	fmt.Fprintf(&s.out, ": %s\n\n", text)
	return s.flush()
}

// flush gives the client WriteTimeout to take what has been written.
func (s *stream) flush() error {
	err := s.control.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.out.WriteTo(s.w); err != nil {
		return err
	}
	return s.control.Flush()
}
