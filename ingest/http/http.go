// Package http takes posts from clients over HTTP.
//
// POST /v1/posts sends posts, DELETE /v1/posts/{id} takes one back, and DELETE /v1/authors/{author} all of an author. A
// request is answered when what it sent is durable.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package http

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/check"
	"refrain/internal/loglimit"
	"refrain/internal/paths"
	"refrain/internal/problem"
	"refrain/internal/quota"
)

// Partition is the source partition of everything that comes over HTTP.
const Partition = "http"

// Config sets the limits of an HTTP source; Default has some that work.
type Config struct {
	Fields *feed.Fields // names of the fields in the JSON of a post; nil: our own
	// FieldsOf is Fields as the query of a request has them, POST /v1/posts?map=; nil: requests have no say.
	FieldsOf func(url.Values) (*feed.Fields, error)
	Source   string // source of posts that name none

	MaxBody    int64 // bytes of a request's body, as sent and again after decompression; 1 or more
	MaxPost    int   // bytes of the JSON of one post; 1 or more
	MaxText    int   // bytes of the text of one post, 1 or more; above feed.MaxText it has no effect
	MaxResults int   // lines spoken of in one answer; 0: none

	BatchPosts int // most posts of one batch; 1 or more
	BatchBytes int // bytes of JSON after which a batch is full; 1 or more
	// MaxUploads is how many requests send posts at a time, 1 or more; a quarter of them is for clients (Sender, or who has
	// the same address) that have less than an eighth. UploadBytes is what they all hold of bodies and
	// answers beyond 128 KiB each; three times MaxPost or more, or a large post finds no room.
	MaxUploads  int
	UploadBytes int64

	// Queue is how many batches may be on their way, handed on or not, and not yet acknowledged; 1 or more. A quarter of
	// them is for senders that have less than an eighth.
	Queue int
	// Patience is how long a request waits for a slot in a full queue before it is told to come back (429); above 0.
	Patience    time.Duration
	AckTimeout  time.Duration // for a request's last batches to become durable, else it is answered with 503; above 0
	ReadTimeout time.Duration // for a client that sends nothing in the middle of a body, then 408; above 0

	Sender func(*http.Request) string // whom the posts of a request are counted for: ingest.Batch.Sender
	// Admit refuses a batch before anything is done with it, as a *quota.Exceeded or ingest.ErrBehind; it may wait first, no
	// longer than its context lasts. release is called when the batch is acknowledged, or not sent after all.
	Admit func(context.Context, *ingest.Batch) (release func(), err error)
	// Room is how many bytes of posts a sender may well send at once, now: then a batch is full, if it is not before.
	Room func(sender string) int
	// Owed says how long a batch that was refused has to wait when all that was sent before it is durable, and counted; nil: as
	// long as was said.
	Owed func(*ingest.Batch) *quota.Exceeded

	// Spread waits until all workers know of the deletions that are durable, as long as that may take, and names those that do
	// not.
	Spread func(context.Context) []Behind

	Now    func() time.Time // the clock for posts without a time
	Logger *slog.Logger
}

// Default returns the limits of a service.
func Default() Config {
	return Config{
		MaxBody: 64 << 20, MaxPost: 8 << 20, MaxText: feed.MaxText, MaxResults: 100_000,
		BatchPosts: 1000, BatchBytes: 512 << 10, Queue: 32,
		MaxUploads: 256, UploadBytes: 96 << 20,
		Patience: 2 * time.Second, AckTimeout: 30 * time.Second, ReadTimeout: time.Minute,
		Sender: func(*http.Request) string { return "" }, Admit: admitAll, Room: func(string) int { return math.MaxInt },
		Owed: func(*ingest.Batch) *quota.Exceeded { return nil }, Spread: func(context.Context) []Behind { return nil },
		Now: time.Now, Logger: slog.Default(),
	}
}

func admitAll(context.Context, *ingest.Batch) (release func(), err error) { return func() {}, nil }

func (c *Config) validate() error {
	return errors.Join(
		check.AtLeast(1, "max body", c.MaxBody), check.AtLeast(1, "max post", c.MaxPost),
		check.AtLeast(1, "max text", c.MaxText), check.AtLeast(0, "max results", c.MaxResults),
		check.AtLeast(1, "batch posts", c.BatchPosts), check.AtLeast(1, "batch bytes", c.BatchBytes),
		check.AtLeast(1, "queue", c.Queue),
		check.AtLeast(1, "max uploads", c.MaxUploads), check.AtLeast(3*int64(c.MaxPost), "upload bytes", c.UploadBytes),
		check.Positive("patience", c.Patience), check.Positive("ack timeout", c.AckTimeout),
		check.Positive("read timeout", c.ReadTimeout),
		check.Set("sender", c.Sender != nil), check.Set("admit", c.Admit != nil), check.Set("owed", c.Owed != nil),
		check.Set("room", c.Room != nil), check.Set("spread", c.Spread != nil),
		check.Set("now", c.Now != nil), check.Set("logger", c.Logger != nil),
	)
}

// Source is the posts sent to POST /v1/posts and the deletions sent to DELETE /v1/posts/{id} and DELETE
// /v1/authors/{author}.
//
// A request's body is read in batches and never held whole. The request is answered when all its batches have
// been acknowledged, so what an answer calls accepted is durable. At most Queue batches are unacknowledged at
// any time, over all requests; that bounds the memory. Senders take turns, so nobody waits behind all that another
// has sent. Posts leave Next in their order within a request, and a request that began after another of its sender was
// answered comes after it.
//
// Any number of requests may be served at once, beside one caller of Next.
type Source struct {
	cfg Config
	mux *paths.Mux

	queue *queue

	slots   *uploadSlots        // of the uploads under way
	bodies  *semaphore.Weighted // these two are Config.UploadBytes
	answers *semaphore.Weighted
	metrics metrics

	failures *loglimit.Limiter // that posts are not durable

	mu      sync.Mutex
	closing bool
	active  sync.WaitGroup  // requests being served; grows only under mu while not closing
	reading context.Context // ends when requests still running are to stop reading
	endRead func()
	quit    chan struct{} // closed when they are given up
	done    chan struct{} // closed when no further batch can come
}

var _ ingest.Source = (*Source)(nil)

// Lines of the log about requests whose posts are not durable: while the topic is full, that is each one.
const (
	failureInterval = 10 * time.Second
	failureBurst    = 10
)

// New returns a source that serves nothing until it is mounted in an HTTP server.
func New(cfg Config) (*Source, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("http source: %w", err)
	}
	h := &Source{
		cfg:      cfg,
		mux:      new(paths.Mux),
		queue:    newQueue(cfg.Queue),
		bodies:   semaphore.NewWeighted(cfg.UploadBytes - cfg.UploadBytes/answersShare),
		answers:  semaphore.NewWeighted(cfg.UploadBytes / answersShare),
		failures: loglimit.New(rate.Every(failureInterval), failureBurst),
		quit:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	h.metrics = newMetrics()
	h.slots = newUploadSlots(cfg.MaxUploads, h.metrics)
	h.reading, h.endRead = context.WithCancel(context.Background())
	h.mux.HandleFunc("POST /v1/posts", traced(h.servePosts))
	h.mux.HandleFunc("/v1/posts", allowOnly("POST"))
	h.mux.HandleFunc("DELETE /v1/posts/{id}", traced(h.serveDelete))
	h.mux.HandleFunc("/v1/posts/{id}", allowOnly("DELETE"))
	h.mux.HandleFunc("DELETE /v1/authors/{author}", traced(h.serveDeleteAuthor))
	h.mux.HandleFunc("/v1/authors/{author}", allowOnly("DELETE"))
	h.mux.HandleFunc("/", notFound)
	return h, nil
}

func allowOnly(method string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { problem.MethodNotAllowed(w, r, method) }
}

func notFound(w http.ResponseWriter, r *http.Request) {
	problem.Write(w, r, problem.Problem{
		Type: problem.NoSuchPath, Status: http.StatusNotFound, Detail: paths.Hint(r.URL),
	})
}

// ServeHTTP implements http.Handler.
func (h *Source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.enter() {
		problem.Write(w, r, stopping)
		return
	}
	defer h.active.Done()
	h.mux.ServeHTTP(w, r)
}

// enter counts a request in, unless the source is shutting down.
func (h *Source) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	h.active.Add(1)
	return true
}

// Shutdown refuses new requests, waits for those being served, and then lets Next end. Somebody must go on
// calling Next and Ack meanwhile. When ctx ends first the requests stop reading and are answered with 503 and what was
// accepted so far; those that cannot be within half a second are given up.
func (h *Source) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	again := h.closing
	h.closing = true
	h.mu.Unlock()
	if again {
		return errors.New("http source: shut down twice")
	}
	defer close(h.done)
	idle := make(chan struct{})
	go func() {
		h.active.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	h.endRead()
	select {
	case <-idle:
	case <-time.After(finalAnswerTimeout):
	}
	close(h.quit)
	return ctx.Err()
}

// finalAnswerTimeout is how long requests that have been told to stop reading may take to say what was accepted.
const finalAnswerTimeout = 500 * time.Millisecond

var stopping = problem.Problem{
	Type:       problem.Stopping,
	Status:     http.StatusServiceUnavailable,
	Detail:     "The server is shutting down. Nothing that this answer does not call accepted was kept; send it again.",
	RetryAfter: time.Second,
}
