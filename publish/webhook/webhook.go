// Package webhook delivers events to an HTTP endpoint, signed as the Standard Webhooks specification says.
//
// An Endpoint reads the event topic with a cursor of its own. One goroutine, session.run, decides what happens next;
// others read, send requests and store the cursor for it. An event is in one of four states:
//
//	reader ──filter──▶ batch ──▶ fresh ──▶ under way ──2xx──▶ done
//	                                ▲          │
//	                     pause over │          ▼ failure
//	                              waiting ◀────┴──▶ dead letters, after the last retry
//
// What fails waits for its retry while others pass it. That works as long as only some deliveries fail. When several
// in a row do, the endpoint is down (outage.go): sending it everything that comes would use up the retries of every
// event. So then it gets one delivery at a time, with growing pauses, until one succeeds.
//
// The cursor is the offset below which everything is done, so after a crash what was still waiting comes again, and
// with it some of what had passed it: at least once, told apart by webhook-id.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"golang.org/x/time/rate"

	"refrain/feed"
	"refrain/internal/retry"
	"refrain/publish"
	"refrain/topic"
)

// Config describes one endpoint. Default has all but Name, URL and Secrets.
type Config struct {
	Name string // of its cursor too: another name begins with the oldest event
	URL  string // https or http; a user and password in it are sent as basic authentication
	// Secrets are whsec_ and 24 to 64 bytes in base64, the newest first. Every request is signed with each of them,
	// so that a receiver may change from one to the next at any time.
	Secrets []string
	Headers map[string]string // sent with every request
	Filter  Filter

	Batch     int           // most events of a request, 1 to 100; 1: each event is a request of its own
	BatchWait time.Duration // how long an event waits for a batch to fill; above 0
	// Array sends every request in the batched mode of CloudEvents' HTTP binding: a JSON array, of however many events. Else
	// a batch is itself an event, of BatchType.
	Array bool

	Timeout     time.Duration   // of one request; above 0
	Retries     []time.Duration // pauses after failures, one or more, above 0, each give or take a fifth
	Concurrency int             // requests under way; 1 or more
	Pending     int             // events that may wait for a retry before reading stops; 1 or more

	// Addresses of private networks, of this machine and otherwise not of the public Internet are refused, and those of
	// clouds' metadata services, unless they are in Allow. AllowPrivate allows private networks (10/8, 172.16/12,
	// 192.168/16, fc00::/7) and this machine, but neither link-local addresses nor metadata services, where clouds keep
	// the credentials of their machines.
	Allow        []netip.Prefix
	AllowPrivate bool
}

// Default sends every event by itself. Retries are seventeen attempts in somewhat less than two days; the first pauses
// are short, for most failures are of one request, and gone with the next.
func Default() Config {
	return Config{
		Batch: 1, BatchWait: time.Second, Timeout: 15 * time.Second, Concurrency: 4, Pending: 1000,
		Retries: []time.Duration{
			time.Second, 5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
			10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour,
			12 * time.Hour, 12 * time.Hour,
		},
	}
}

// Deps are what an endpoint works with. Topic and Logger must be set.
type Deps struct {
	Topic       topic.Topic
	Store       topic.Store         // of the cursor, and whether the endpoint is disabled; nil: neither survives a restart
	Deleted     publish.Deleted     // events that show such a post are not sent; nil: nothing is deleted
	DeadLetters publish.DeadLetters // nil: what cannot be delivered is logged
	Letters     publish.Letters     // those that were written; nil: none can be sent again
	Log         io.Writer           // of every attempt, a JSON line by one Write; nil: none
	Past        Past                // what was written to Log; nil: it is not shown
	Deployment  feed.Deployment     // that test events come from
	Logger      *slog.Logger
	Version     string // of the program, for User-Agent
}

// transport sends requests: an http.Transport, not an http.Client, which follows redirects.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

var _ transport = (*http.Transport)(nil)

// Endpoint delivers events to one URL. Run does the work; the other methods may be called at any time, by anyone.
type Endpoint struct {
	Config
	deps    Deps
	logger  *slog.Logger
	target  target
	signers []*webhooks.Webhook
	client  transport
	record  *recorder
	metrics *metrics

	tooMany, failing, givingUp rate.Sometimes // what is logged once a minute

	storing  sync.Mutex    // while the store is told of the endpoint
	changed  chan struct{} // something that run has to look at
	recalled chan struct{} // closed when it is known what the endpoint was before the start

	mu     sync.Mutex
	status Status
	reader *publish.Reader
	enable chan struct{} // closed by Enable; nil unless disabled
	paused time.Time     // since when; the zero time: it is not
	replay *replayRecord // what is sent again; nil: nothing is
}

// New checks everything that is configured, and reports all that is wrong with it.
func New(cfg Config, deps Deps) (*Endpoint, error) {
	e := &Endpoint{Config: cfg, deps: deps}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("webhook %q: %w", cfg.Name, err)
	}
	e.logger = deps.Logger.With("webhook", cfg.Name)
	e.client = newTransport(&e.Config, nil)
	e.record = &recorder{w: deps.Log, logger: e.logger}
	e.metrics = newMetrics(cfg.Name)
	e.changed, e.recalled = make(chan struct{}, 1), make(chan struct{})
	e.tooMany.Interval, e.failing.Interval, e.givingUp.Interval = time.Minute, time.Minute, time.Minute
	e.status = Status{Name: cfg.Name, URL: e.target.String(), State: Active, Since: time.Now(), Lag: -1}
	return e, nil
}

// Run delivers until ctx ends; then it returns nil. What goes wrong on the way is logged and tried again.
func (e *Endpoint) Run(ctx context.Context) error {
	stop := e.metrics.watch(e)
	defer stop()
	if !e.recall(ctx) {
		return nil
	}
	close(e.recalled)
	for pauses := retry.Patient(); ; {
		if !e.awaitEnabled(ctx) {
			return nil
		}
		began := time.Now()
		err := e.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errGone) {
			continue
		}
		if time.Since(began) > pauses.MaxInterval {
			pauses.Reset()
		}
		pause := pauses.NextBackOff()
		e.logger.Error("webhook: retrying read", "error", err, "pause", pause)
		if retry.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// target is a URL that may hold credentials, in its user information and in its query.
type target struct{ *url.URL }

// String leaves the credentials out.
func (t target) String() string {
	u := *t.URL
	if u.User != nil {
		u.User = url.User("***")
	}
	if u.RawQuery != "" {
		u.RawQuery = "***"
	}
	u.Fragment = ""
	return u.String()
}
