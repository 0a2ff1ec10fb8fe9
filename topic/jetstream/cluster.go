package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/internal/check"
	"refrain/internal/clocks"
	"refrain/internal/natsconn"
)

// ClusterConfig says where NATS servers that are not ours are, and how topics and stores are kept there.
type ClusterConfig struct {
	Conn natsconn.Config

	// Replicas is how many servers of the cluster have each topic and store, 1 to 5. 0: three, or one where the server is
	// alone. What there is already gets more of them, never fewer; with 0 it stays as it is.
	Replicas int

	// MaxPayload is the largest message in bytes that the servers must take.
	MaxPayload int

	// Delta is how far our clock may be from the servers': beyond it Prompt topics take nothing of this process.
	Delta time.Duration
	Now   func() time.Time // our clock

	Logger *slog.Logger // is told about connections, what is changed of streams, and what becomes wrong with them
}

// DefaultCluster still wants its servers.
func DefaultCluster() ClusterConfig {
	return ClusterConfig{MaxPayload: Default().MaxPayload, Delta: 10 * time.Second, Now: time.Now, Logger: slog.Default()}
}

const maxReplicas = 5 // of the server

func (c *ClusterConfig) validate() error {
	var many error
	if c.Replicas > maxReplicas {
		many = fmt.Errorf("replicas: %d, want %d or fewer", c.Replicas, maxReplicas)
	}
	return errors.Join(c.Conn.Validate(), many, check.AtLeast(0, "replicas", c.Replicas),
		check.AtLeast(1, "max payload", c.MaxPayload), check.AtLeast(time.Second, "delta", c.Delta),
		check.Set("now", c.Now != nil), check.Set("logger", c.Logger != nil))
}

// Cluster is a connection to NATS servers of somebody else, one or a cluster, that keep topics and stores in JetStream.
// The connection finds a server again for as long as it takes. Its methods may be called by several goroutines.
type Cluster struct {
	cfg   ClusterConfig
	conn  *nats.Conn
	js    js.JetStream
	watch *watch

	mu    sync.Mutex
	alone bool // the server has said that it is no cluster

	once sync.Once
}

// Connect connects and looks whether the servers will do: their version, the largest message they take, JetStream for our
// account. While none is to be reached it goes on trying until ctx ends.
func Connect(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("topics on NATS: %w", err)
	}
	// What is appended while the connection is lost fails at once: kept by the client, it would come when the append has
	// long been made again.
	conn, err := natsconn.Connect(ctx, cfg.Conn, cfg.Logger, nats.ReconnectBufSize(-1), nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(2))
	if err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, conn: conn}
	if c.js, err = NewJetStream(conn); err == nil {
		err = errors.Join(c.checkServer(), c.checkAccount(ctx))
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("nats %s: %w", cfg.Conn.String(), err)
	}
	c.watch = startWatch(c)
	return c, nil
}

// pingInterval: a server that stands still is given up after three times that. An append waits for ackWait at most.
const pingInterval = 2 * time.Second

// checkServer looks at what the server that we are connected to has said of itself.
func (c *Cluster) checkServer() error {
	err := natsconn.CheckVersion(c.conn)
	if has := c.conn.MaxPayload(); has < int64(c.cfg.MaxPayload) {
		err = errors.Join(err, fmt.Errorf("the server takes messages of %d bytes, want %d: set max_payload: %d in its configuration",
			has, c.cfg.MaxPayload, c.cfg.MaxPayload))
	}
	return err
}

// checkAccount waits for JetStream where a cluster is just choosing its leader.
func (c *Cluster) checkAccount(ctx context.Context) error {
	return untilAvailable(ctx, func(ctx context.Context) error {
		_, err := c.js.AccountInfo(ctx)
		return explainAPI(err, "")
	})
}

// OpenTopic opens a topic of the cluster, making it if need be. A *topic.FixedError says that it exists with another number
// of partitions or another fixed setting, a *SettingError that somebody has given its stream a setting that it cannot
// work with. The stream of one that exists keeps more than cfg says where it does: longer, more bytes, more replicas.
func (c *Cluster) OpenTopic(ctx context.Context, cfg TopicConfig) (*Topic, error) {
	w := c.newWatched(cfg.Name)
	may := w.refusal
	if cfg.Prompt {
		may = func() error { return cmp.Or(w.refusal(), c.checkClock()) }
	}
	ensure := func(ctx context.Context) (lineage, error) { return c.ensureTopic(ctx, cfg, w) }
	err := retryUntilFound(ctx, func(ctx context.Context) (err error) {
		w.topic, err = openTopic(ctx, c.js, cfg, health{check: may, ended: w.ended, why: w.lossErr, watched: w}, ensure)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.watch.add(w)
	return w.topic, nil
}

// OpenStore opens a store of the cluster, making it if need be.
func (c *Cluster) OpenStore(ctx context.Context, name string) (*Store, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("open store %q: a name is letters, digits, - and _", name)
	}
	w := c.newWatched(bucketPrefix + name)
	var kv js.KeyValue
	err := retryUntilFound(ctx, func(ctx context.Context) (err error) {
		if err = c.ensureStore(ctx, name, w); err == nil {
			kv, err = c.js.KeyValue(ctx, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", name, err)
	}
	c.watch.add(w)
	return &Store{kv: kv}, nil
}

// JetStream is the client through which the topics and stores are opened.
func (c *Cluster) JetStream() js.JetStream { return c.js }

// Check says what is wrong now, nil when nothing is: no connection, a server that will not do, a stream without a leader
// or with another content than it had. It asks nobody and returns at once: what it says of streams is up to some
// seconds old.
func (c *Cluster) Check() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("nats %s: %w", c.cfg.Conn.String(), err)
	}
	return nil
}

func (c *Cluster) check() error {
	if !c.conn.IsConnected() {
		return c.watch.disconnected()
	}
	return errors.Join(c.checkServer(), c.watch.problems(), c.checkClock())
}

// Lost says why a topic is another one than it was, which only a new start of the process mends; nil: none is.
func (c *Cluster) Lost() error {
	if err := c.watch.lossErr(); err != nil {
		return fmt.Errorf("nats %s: %w", c.cfg.Conn.String(), err)
	}
	return nil
}

func (c *Cluster) checkClock() error {
	ahead, _ := c.Skew()
	return clocks.Check(ahead, c.cfg.Delta)
}

// Skew is how far our clock is ahead of the servers', that much at least, as they were asked last; false: none was yet. Where
// their own differ it is that of the one nearest to ours.
func (c *Cluster) Skew() (ahead time.Duration, measured bool) { return c.watch.skew() }

// Close ends the connection. Readers are to be closed before; one that is not ends with an error. Closing twice does
// nothing.
func (c *Cluster) Close() error {
	c.once.Do(func() {
		c.watch.stop()
		c.conn.Close()
	})
	return nil
}

// untilAvailable tries again while the cluster is choosing a leader, for a while.
func untilAvailable(ctx context.Context, try func(context.Context) error) error {
	return retryFor(ctx, availableWait, isUnavailable, try)
}

// retryUntilFound tries again, too, while the server that is asked has not heard yet of a stream that was just made: by another
// process, perhaps.
func retryUntilFound(ctx context.Context, try func(context.Context) error) error {
	again := func(err error) bool {
		return isUnavailable(err) || errors.Is(err, js.ErrStreamNotFound) || errors.Is(err, js.ErrBucketNotFound)
	}
	return retryFor(ctx, availableWait, again, try)
}

// availableWait is how long a cluster may have no leader, or no room for as many replicas as it should, until that is an
// error: one that has just been started takes some seconds.
const availableWait = 30 * time.Second
