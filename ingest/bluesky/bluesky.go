// Package bluesky reads posts from the firehose of the Bluesky network.
//
// It speaks with a Jetstream server, which hands the firehose out as JSON over a WebSocket. A cursor remembers, across
// connections and runs, how far the posts are durable.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package bluesky

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"refrain/ingest"
	"refrain/internal/check"
)

// Cursors keeps small values by key across runs. topic.Store is one; CursorDir is another.
type Cursors interface {
	Get(ctx context.Context, key string) ([]byte, error) // nil, nil when there is none
	Put(ctx context.Context, key string, value []byte) error
}

// Config says where the firehose is and how to read it; Default reads all of it.
type Config struct {
	URL     string  // of a Jetstream server's subscriptions
	Name    string  // of the source partition, also the cursor's key
	Source  string  // of the posts
	Cursors Cursors // nil: every start begins with what is posted then

	// Rewind is how far behind the last acknowledged message a connection resumes, for instances of Jetstream
	// do not see messages in quite the same order; 0: it resumes right there.
	Rewind               time.Duration
	BatchPosts           int           // most messages of one batch; 1 or more
	BatchDelay           time.Duration // longest wait for a batch to fill; above 0
	InFlight             int           // most batches handed on and not acknowledged; 1 or more
	MaxMessage           int           // bytes of one message; 1 or more
	Silence              time.Duration // of the firehose, after which the connection counts as dead; above 0
	MinBackoff, MaxPause time.Duration // first and longest wait before connecting again; above 0

	UserAgent string       // of the handshake; "": Refrain
	Client    *http.Client // for the handshake; its redirects are not followed
	Now       func() time.Time
	Status    *ingest.Status // is told whether the server can be reached; nil: nobody is
	Logger    *slog.Logger
}

// Default reads from a public instance of Jetstream, the JSON form of the network's firehose.
func Default() Config {
	return Config{
		URL: "wss://jetstream2.us-east.bsky.network/subscribe", Name: "bluesky", Source: "bluesky",
		Rewind: 5 * time.Second, BatchPosts: 1000, BatchDelay: 200 * time.Millisecond, InFlight: 16, MaxMessage: 1 << 20,
		Silence: time.Minute, MinBackoff: 500 * time.Millisecond, MaxPause: 30 * time.Second,
		Client: client(), Now: time.Now, Logger: slog.Default(),
	}
}

// maxHeader bounds what a server says before the first message.
const maxHeader = 64 << 10

func client() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeader
	return &http.Client{Transport: t}
}

func (c *Config) validate() error {
	return errors.Join(
		CheckURL(c.URL), check.Set("name", c.Name != ""), check.Set("source", c.Source != ""),
		check.AtLeast(0, "rewind", c.Rewind), check.AtLeast(1, "batch posts", c.BatchPosts),
		check.Positive("batch delay", c.BatchDelay),
		check.AtLeast(1, "in flight", c.InFlight), check.AtLeast(1, "max message", c.MaxMessage),
		check.Positive("silence", c.Silence), check.Positive("min backoff", c.MinBackoff),
		check.AtLeast(c.MinBackoff, "max pause", c.MaxPause),
		check.Set("client", c.Client != nil), check.Set("now", c.Now != nil), check.Set("logger", c.Logger != nil),
	)
}

// CheckURL says whether messages can be read from an address as they are read here. It shows nothing of the address, which may
// have a password in it.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) {
		return errors.New("url: want wss://HOST/PATH, or ws, https, http")
	}
	return checkForm(u)
}

// checkForm refuses addresses that give something else than messages in JSON as they come: nothing of it would be read.
func checkForm(u *url.URL) error {
	q := u.Query()
	switch {
	case strings.Contains(u.Path, "subscribeEvents") || strings.Contains(u.Path, "subscribeRepos"):
		return fmt.Errorf("url: %s is another protocol, which is not read here: want Jetstream's own, wss://HOST/subscribe",
			path.Base(u.Path))
	case q.Has("compress") && q.Get("compress") != "false":
		return errors.New("url: messages compressed with Jetstream's dictionary are not read here: leave compress out")
	case q.Has("requireHello") && q.Get("requireHello") != "false":
		return errors.New("url: with requireHello the server waits for a message that is not sent: leave it out")
	}
	return nil
}

// redacted is an address that passes CheckURL, as it may be shown.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// maxUnacked bounds the bytes of the messages that are read and not acknowledged, however few they are; a usual one has one
// KiB.
const maxUnacked = 32 << 20

// Source is the posts of the Bluesky network, read from a Jetstream server over a WebSocket.
//
// One goroutine, started by the first Next, keeps a connection and reads messages ahead; Next makes batches of
// them. The cursor, a server time in microseconds, follows the acknowledgements in their order; a lost
// connection is made again from there, and so is one after a batch that was not made durable. What comes twice
// for it is a redelivery and changes nothing. When batches are not acknowledged, reading stops, and the server
// is left to buffer or to hang up.
//
// The deletion of a post becomes a tombstone, its editing a further version. So does the deletion of an account, or its
// takedown: a tombstone of the author. One that is suspended or deactivated keeps its posts.
type Source struct {
	cfg      Config
	cursor   *cursor
	messages chan message
	unacked  *semaphore.Weighted // bytes of messages
	slots    chan struct{}

	pending *message // received, and belonging to the next batch

	begin  sync.Once
	quit   chan struct{}
	closed sync.Once
	ended  chan struct{} // closed when the goroutine has ended, or will never begin
}

var _ ingest.Source = (*Source)(nil)

// New returns a source that connects at the first Next. Close must be called.
func New(cfg Config) (*Source, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("bluesky: %w", err)
	}
	return &Source{
		cfg:      cfg,
		cursor:   newCursor(cfg),
		messages: make(chan message, 4096),
		unacked:  semaphore.NewWeighted(maxUnacked),
		slots:    make(chan struct{}, cfg.InFlight),
		quit:     make(chan struct{}),
		ended:    make(chan struct{}),
	}, nil
}

// Next implements ingest.Source; after Close it returns io.EOF. An error of the server is no error of Next: the
// connection is made again, and the log says so.
func (b *Source) Next(ctx context.Context) (ingest.Batch, error) {
	b.begin.Do(func() { go b.run() })
	select {
	case <-b.quit:
		return ingest.Batch{}, io.EOF
	default:
	}
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return ingest.Batch{}, ctx.Err()
	case <-b.quit:
		return ingest.Batch{}, io.EOF
	}
	for {
		first, err := b.wait(ctx)
		if err != nil {
			<-b.slots
			return ingest.Batch{}, err
		}
		batch, part := b.fill(first)
		if !batch.Empty() {
			b.setAck(&batch, part)
			return batch, nil
		}
		b.unacked.Release(part.bytes)
		b.cursor.acknowledge(part, nil) // nothing to hand on, and that much is known for good
	}
}

// wait takes the next message that still counts.
func (b *Source) wait(ctx context.Context) (message, error) {
	if m := b.pending; m != nil {
		b.pending = nil
		if b.cursor.current(m.era) {
			return *m, nil
		}
		b.unacked.Release(m.size)
	}
	for {
		select {
		case m := <-b.messages:
			if b.cursor.current(m.era) {
				return m, nil
			}
			b.unacked.Release(m.size)
		case <-ctx.Done():
			return message{}, ctx.Err()
		case <-b.quit:
			return message{}, io.EOF
		}
	}
}

// fill gathers what comes within the batch's delay. It does not heed a context: what it has taken from the
// channel it must hand on.
func (b *Source) fill(m message) (ingest.Batch, *span) {
	batch := ingest.Batch{Partition: b.cfg.Name}
	part := b.cursor.open(m.era)
	delay := time.NewTimer(b.cfg.BatchDelay)
	defer delay.Stop()
	for n := 1; ; n++ {
		part.extend(m.time)
		part.bytes += m.size
		m.put(&batch)
		if n == b.cfg.BatchPosts {
			return batch, part
		}
		select {
		case m = <-b.messages:
		case <-delay.C:
			return batch, part
		case <-b.quit:
			return batch, part
		}
		if m.era != part.era || m.follows(&batch) {
			b.pending = &m
			return batch, part
		}
	}
}

// setAck gives the batch its acknowledgement.
func (b *Source) setAck(batch *ingest.Batch, part *span) {
	batch.OnAck(context.Background(), func(err error) {
		b.cursor.acknowledge(part, err)
		b.unacked.Release(part.bytes)
		<-b.slots
	})
}

// Close ends the connection and waits for that; batches already handed on may still be acknowledged.
func (b *Source) Close() error {
	b.closed.Do(func() { close(b.quit) })
	b.begin.Do(func() { close(b.ended) }) // never begun
	<-b.ended
	return b.cursor.save(0)
}
