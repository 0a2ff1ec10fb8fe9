// Package nats reads posts from a NATS JetStream stream.
//
// A durable consumer on the server remembers what was acknowledged, message by message, and sends the rest again.
// What comes again is a redelivery and changes nothing, but it must come in its place: a post that others overtake by
// more than the window's lateness may miss its matches. So one batch is out at a time, a batch that was not made
// durable is handed on again before any other, and where deliveries may have been lost on the way (a crash, a broken
// connection) nothing new is handed on until they have come again, which they do in any order: they are gathered first.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/check"
	"refrain/internal/natsconn"
)

// Config says which messages to read. Default has all but Conn and Stream.
type Config struct {
	Conn     natsconn.Config
	Stream   string
	Consumer string // name of the durable consumer, made if there is none
	Subject  string // of the messages, wildcards allowed; "": all of the stream
	Start    string // where a consumer that is made begins: earliest or latest

	Fields     *feed.Fields // names of the fields in the JSON of a post; nil: our own
	SourceName string       // source of posts that name none
	MaxRecord  int          // bytes of one message, 1 or more; larger ones are rejected

	// Assigned is told the name of the source partition before any batch of it is handed on, again and again until it
	// returns nil. Nil: nobody needs to know.
	Assigned func(ctx context.Context, partitions []string) error

	BatchPosts int           // most messages of one batch; 1 or more
	BatchBytes int           // bytes of messages after which a batch is full; 1 or more
	AckWait    time.Duration // of a consumer that is made: how long a silent reader keeps what it got; above 0

	Status *ingest.Status // is told whether the server can be reached; nil: nobody is
	Logger *slog.Logger
}

// Default is the consumer refrain, which begins with the oldest message.
func Default() Config {
	return Config{
		Consumer: "refrain", Start: earliest, MaxRecord: 8 << 20,
		BatchPosts: 1000, BatchBytes: 4 << 20, AckWait: 15 * time.Second, Logger: slog.Default(),
	}
}

func (c *Config) validate() error {
	return errors.Join(
		check.Set("stream", c.Stream != ""), check.Set("consumer", c.Consumer != ""),
		check.OneOf("start", c.Start, earliest, latest),
		check.AtLeast(1, "max record", c.MaxRecord), check.AtLeast(1, "batch posts", c.BatchPosts),
		check.AtLeast(1, "batch bytes", c.BatchBytes),
		check.Positive("ack wait", c.AckWait), check.Set("logger", c.Logger != nil),
	)
}

const (
	earliest = "earliest"
	latest   = "latest"
)

// Source is the posts of one consumer, in the order of the stream.
//
// A goroutine, started by Open, fetches messages into the batch that is next while the last one is out. Next blocks
// until the last batch has been acknowledged, so it belongs to one goroutine; everything else may be called by any.
type Source struct {
	cfg        Config
	name       string // of the source partition
	conn       *nats.Conn
	js         js.JetStream
	metrics    *metrics
	consumer   js.Consumer // the reader's, once it runs
	unfiltered bool        // the consumer gets every message of the stream

	connected <-chan nats.Status // a connection was made again

	batches chan *part       // from the reader to Next
	results chan batchResult // from Ack to the reader; has room for the one batch that is out
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed when the reader has ended
	once    sync.Once

	pending atomic.Int64 // messages on the server that were not delivered, as far as is known
	unacked atomic.Int64 // messages here that were not acknowledged
	unsure  atomic.Bool  // what the server holds is not known
}

var _ ingest.Source = (*Source)(nil)

// batchResult is the end of a batch.
type batchResult struct {
	part *part
	err  error
}

// Open connects, and makes the consumer unless there is one. While no server is to be reached it waits, until ctx ends.
// Close must be called.
func Open(ctx context.Context, cfg Config) (*Source, error) {
	s := &Source{
		cfg:     cfg,
		batches: make(chan *part), results: make(chan batchResult, 1), done: make(chan struct{}),
	}
	s.name = fmt.Sprintf("nats/%s/%s", s.cfg.Stream, s.cfg.Consumer)
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", s.name, err)
	}
	s.unsure.Store(true)
	s.metrics = newMetrics(s)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.run()
	return s, nil
}

func (s *Source) open(ctx context.Context) error {
	err := s.cfg.validate()
	if err != nil {
		return err
	}
	if s.conn, err = natsconn.Connect(ctx, s.cfg.Conn, s.cfg.Logger); err != nil {
		return err
	}
	s.connected = s.conn.StatusChanged(nats.CONNECTED)
	if s.js, err = js.New(s.conn); err == nil {
		err = s.subscribe(ctx)
	}
	if err != nil {
		s.conn.Close()
	}
	return err
}

// Next implements ingest.Source; after Close it returns io.EOF. An outage of the server is no error: reading goes on
// when it is back.
func (s *Source) Next(ctx context.Context) (ingest.Batch, error) {
	select {
	case p := <-s.batches:
		return s.batch(p), nil
	case <-s.ctx.Done():
		return ingest.Batch{}, io.EOF
	case <-ctx.Done():
		return ingest.Batch{}, ctx.Err()
	}
}

// batch copies p, for p may be handed on again.
func (s *Source) batch(p *part) ingest.Batch {
	b := p.batch
	b.Partition = s.name
	var once sync.Once
	b.Ack = func(err error) {
		once.Do(func() {
			select {
			case s.results <- batchResult{p, err}:
			case <-s.done: // too late: the messages have gone back to the server
			}
		})
	}
	return b
}

// Waiting names the source partition if it has posts that were not made durable yet, or may have.
func (s *Source) Waiting() []string {
	if s.unsure.Load() || !s.conn.IsConnected() || s.pending.Load()+s.unacked.Load() > 0 {
		return []string{s.name}
	}
	return nil
}

// Close ends reading. Messages that were not acknowledged go back to the server, for whoever reads next.
func (s *Source) Close() error {
	s.once.Do(s.close)
	return nil
}

func (s *Source) close() {
	s.cancel()
	<-s.done
	s.metrics.close()
	if err := s.conn.FlushTimeout(time.Second); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		s.cfg.Logger.Warn("ingest: the last acknowledgements may not have arrived; those posts come again", "source",
			s.name, "error", err)
	}
	s.conn.Close()
}
