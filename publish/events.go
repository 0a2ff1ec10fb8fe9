package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"refrain/internal/accept"
	"refrain/internal/check"
	"refrain/internal/places"
	"refrain/internal/problem"
	"refrain/topic"
)

// EventsConfig says where the events come from, and to how many clients they go. DefaultEvents has all but Topic.
type EventsConfig struct {
	Topic topic.Topic
	// AwaitAccepted returns when everything accepted before the call is through the route and its events are in the
	// topic. until=now waits for it; nil: there is nothing to wait for.
	AwaitAccepted func(context.Context) error
	Deleted       Deleted // nil: nothing is deleted

	Heartbeat    time.Duration              // between positions on a quiet stream; above 0
	WriteTimeout time.Duration              // for a client to take one batch of events; above 0
	MaxClients   int                        // at a time; 1 or more. One alone leaves others a quarter
	Client       func(*http.Request) string // whose share a stream takes
	MaxBytes     int64                      // of events that wait for all clients; 4 MiB or more, for one may have 1 MiB
	Logger       *slog.Logger
}

// DefaultEvents returns the limits of a service.
func DefaultEvents() EventsConfig {
	return EventsConfig{
		Heartbeat: 15 * time.Second, WriteTimeout: 30 * time.Second, MaxClients: 1000, MaxBytes: 64 << 20, Logger: slog.Default(),
		Client: func(r *http.Request) string { return places.Client(r, "") },
	}
}

func (c *EventsConfig) validate() error {
	return errors.Join(
		check.Set("topic", c.Topic != nil), check.Positive("heartbeat", c.Heartbeat),
		check.Positive("write timeout", c.WriteTimeout),
		check.AtLeast(1, "max clients", c.MaxClients), check.AtLeast(4<<20, "max bytes", c.MaxBytes),
		check.Set("client", c.Client != nil), check.Set("logger", c.Logger != nil),
	)
}

// Events serves GET /v1/events: the event topic as server-sent events, or as JSON lines.
//
// All clients that have got to the end of the topic share one reader, the hub; those that are behind have one of their own
// in turn (feeder.go). So a slow one slows only itself, and what waits for it is a few pieces of 16 KiB. One that takes
// nothing for WriteTimeout is cut off, sooner where what waits for all of them exceeds MaxBytes, and resumes where it was
// with Last-Event-ID. So that a client always has one, also before
// its first event, a stream begins with an event that does nothing but tell the position, and sends it again with every
// heartbeat: a browser remembers the id of events that have a name and data, and of nothing else.
type Events struct {
	cfg     EventsConfig
	clients *places.Places
	metrics metrics
	readers *semaphore.Weighted // of streams that are behind
	writers *writers

	mu  sync.Mutex
	hub *hub // nil: there are no streams

	once sync.Once
	quit chan struct{}
}

// NewEvents returns the handler. Close ends its streams.
func NewEvents(cfg EventsConfig) (*Events, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("stream of events: %w", err)
	}
	return &Events{
		cfg: cfg, clients: places.New(cfg.MaxClients), metrics: newMetrics(), quit: make(chan struct{}),
		readers: semaphore.NewWeighted(maxReaders), writers: newWriters(cfg.MaxBytes - cfg.MaxBytes/hubShare),
	}, nil
}

// Close ends all streams, now and later. http.Server.Shutdown does not end them by itself: hand Close to
// RegisterOnShutdown.
func (e *Events) Close() { e.once.Do(func() { close(e.quit) }) }

// request is what a client asked for.
type request struct {
	ndjson bool
	start  bool   // from the oldest event retained, not from now
	until  bool   // end with what is there now
	last   string // resume behind this event; "" without
}

func parseRequest(r *http.Request) (request, error) {
	q := r.URL.Query()
	var errs []error
	pick := func(name string, values ...string) string {
		v := q.Get(name)
		if !q.Has(name) || slices.Contains(values, v) {
			return v
		}
		errs = append(errs, fmt.Errorf("%s=%s: want %s", name, v, strings.Join(values, " or ")))
		return ""
	}
	format := pick("format", "sse", "ndjson")
	if format == "" {
		format = preferred(r)
	}
	req := request{
		start:  pick("from", "start", "now") == "start",
		until:  pick("until", "now") == "now",
		last:   r.Header.Get("Last-Event-ID"),
		ndjson: format == "ndjson",
	}
	if format == "" {
		errs = append(errs, errNotAcceptable)
	}
	return req, errors.Join(errs...)
}

// The types of a stream.
const (
	typeSSE    = "text/event-stream"
	typeNDJSON = "application/x-ndjson"
)

var errNotAcceptable = errors.New("none of the types of a stream is accepted")

// preferred is the format that the Accept header asks for, "" if it takes neither.
func preferred(r *http.Request) string {
	best, _ := accept.Best(r.Header, typeSSE, typeNDJSON)
	return map[string]string{typeSSE: "sse", typeNDJSON: "ndjson"}[best]
}

// ServeHTTP implements http.Handler.
func (e *Events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, err := parseRequest(r)
	if errors.Is(err, errNotAcceptable) {
		problem.Write(w, r, problem.NotAcceptableOf(typeSSE, typeNDJSON))
		return
	}
	if err != nil {
		problem.Write(w, r, problem.Problem{
			Type: problem.BadParameter, Status: http.StatusBadRequest, Detail: err.Error(),
		})
		return
	}
	leave, ok, _ := e.clients.Take(e.cfg.Client(r))
	if !ok {
		problem.Write(w, r, problem.Problem{
			Type: problem.Streams, Status: http.StatusServiceUnavailable, RetryAfter: 10 * time.Second,
			Detail: "As many clients follow the events already as limits.streams allows, or this one has its share of them.",
		})
		return
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	at, end, err := e.locate(ctx, req)
	var shared *hub
	if err == nil {
		shared, err = e.join(ctx)
	}
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	defer e.leave(shared)
	s := &stream{
		Events: e, request: req, w: w, control: http.NewResponseController(w), hub: shared, at: at, live: end.next,
		batches: make(chan fetched), target: make(chan streamEnd, 1),
	}
	defer s.stop(cancel)
	s.run(ctx)
}

// hubShare is the part of MaxBytes that the hub holds: one in so many.
const hubShare = 4

// join returns the hub, and begins one if there is none that works.
func (e *Events) join(ctx context.Context) (*hub, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hub == nil || e.hub.failed() {
		h, err := openHub(ctx, e.cfg.Topic, e.cfg.MaxBytes/hubShare)
		if err != nil {
			return nil, err
		}
		e.hub = h
	}
	e.hub.streams++
	return e.hub, nil
}

// leave ends a hub that nobody uses any more.
func (e *Events) leave(h *hub) {
	e.mu.Lock()
	h.streams--
	last := h.streams == 0
	if last && e.hub == h {
		e.hub = nil
	}
	e.mu.Unlock()
	if last {
		h.close()
	}
}

var errOffset = errors.New("Last-Event-ID")

func (e *Events) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problem.Problem{
		Type: problem.NoEvents, Status: http.StatusServiceUnavailable, Detail: "The event topic cannot be read.", RetryAfter: 5 * time.Second,
	}
	if errors.Is(err, errOffset) {
		p = problem.Problem{Type: problem.BadParameter, Status: http.StatusBadRequest, Detail: err.Error()}
	} else if r.Context().Err() == nil {
		e.cfg.Logger.Error("events", "error", err)
	}
	problem.Write(w, r, p)
}

// locate finds where to begin, and where the topic ends now.
func (e *Events) locate(ctx context.Context, req request) (at, now offsets, err error) {
	start, end, err := e.cfg.Topic.Bounds(ctx)
	if err != nil {
		return offsets{}, offsets{}, err
	}
	now = offsetsAt(e.cfg.Topic, end)
	switch {
	case req.last != "":
		at, err = e.resume(req.last, start, end)
		return at, now, err
	case req.start:
		return offsetsIn(e.cfg.Topic, start), now, nil
	}
	return offsetsAt(e.cfg.Topic, end), now, nil
}

// resume finds the offsets behind the last event of a client. One that lies beyond the end, or names another incarnation or
// other partitions than there are, is of a topic that was since replaced: everything in this one is new to the client. One
// that lies before the oldest event retained is used as it is: the reader reports what is missing.
func (e *Events) resume(last string, start, end []int64) (offsets, error) {
	p, err := parseOffsets(last, len(end), e.cfg.Topic.Ordered())
	if errors.Is(err, errPartitions) || err == nil && !p.rebase(e.cfg.Topic, end) {
		e.cfg.Logger.Warn("Last-Event-ID is not of this topic; sending all that is kept", "last", last[:min(len(last), 100)])
		return offsetsIn(e.cfg.Topic, start), nil
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", errOffset, err)
	}
	return p, nil
}
