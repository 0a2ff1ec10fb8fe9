// Package kafka keeps topics and stores on a Kafka cluster.
//
// Order, durability and replay are the cluster's: an append is acknowledged by all in-sync replicas, of which there are
// two at least where there are that many brokers. Ours are the requests (one to each broker for all its partitions), the
// settings of the topics, which are checked whenever one is opened, and what is said when something is wrong.
// docs/design/0017-kafka-topics.md has the reasons.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"refrain/internal/check"
	"refrain/internal/kafkaconn"
	"refrain/topic"
)

// Config says how topics are kept on a cluster.
type Config struct {
	Conn *kafkaconn.Conn
	// Name is what the topics of one deployment begin with. NAME-topics remembers their fixed settings.
	Name string
	// Replicas of every partition. 0: three where there are three brokers or more, else as many as there are.
	Replicas int
	// Delta is how long an append may take until it counts as failed: δ of docs/design/0002-who-reports-a-pair.md.
	Delta  time.Duration
	Now    func() time.Time // the clock of the stamps
	Logger *slog.Logger
}

// Default is a configuration without a connection.
func Default() Config {
	return Config{Name: "refrain", Delta: 10 * time.Second, Now: time.Now, Logger: slog.Default()}
}

func (c *Config) validate() error {
	var name error
	if !validName.MatchString(c.Name) {
		name = fmt.Errorf("name %q: letters, digits, - and _", c.Name)
	}
	return errors.Join(check.Set("conn", c.Conn != nil), name, check.AtLeast(0, "replicas", c.Replicas),
		check.AtLeast(time.Second, "delta", c.Delta), check.Set("now", c.Now != nil), check.Set("logger", c.Logger != nil))
}

// Cluster is a Kafka cluster as a place for topics. Its methods may be called by several goroutines.
type Cluster struct {
	cfg      Config
	replicas int
	health   *health
	registry *registry

	skewWarning rate.Sometimes

	mu     sync.Mutex
	links  []*link // of what is open
	closed bool
}

// Open connects to the cluster and opens NAME-topics, creating it if need be. An error that wraps
// kafkaconn.ErrUnreachable may go away by itself. Close must be called.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("kafka topics: %w", err)
	}
	c := &Cluster{cfg: cfg, health: newHealth(cfg.Now), skewWarning: rate.Sometimes{Interval: time.Minute}}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("kafka topics: %w", err), c.Close())
	}
	return c, nil
}

func (c *Cluster) open(ctx context.Context) error {
	var missing *kafkaconn.NoTopic
	if _, err := c.cfg.Conn.Probe(ctx, c.registryName()); err != nil && !errors.As(err, &missing) {
		return err
	}
	l, err := c.link(c.registryName())
	if err != nil {
		return err
	}
	if err := c.countReplicas(ctx, l); err != nil {
		return err
	}
	if c.registry, err = c.openRegistry(ctx, l); err != nil {
		return err
	}
	l.opened.Store(true)
	c.health.watch(l, c.openTopics, c.recheck)
	return nil
}

// countReplicas decides how many replicas new topics have.
func (c *Cluster) countReplicas(ctx context.Context, l *link) error {
	m, err := l.metadata(ctx, c.registryName())
	if err != nil {
		return err
	}
	brokers := len(m.Brokers)
	c.replicas = c.cfg.Replicas
	if c.replicas == 0 {
		c.replicas = max(1, min(3, brokers))
	}
	if c.replicas > brokers {
		return fmt.Errorf("%d replicas on %d brokers: start more brokers, or lower topics.replicas", c.replicas, brokers)
	}
	if c.replicas < 3 {
		c.cfg.Logger.Warn("kafka: topics have fewer than three replicas: they stand still, or lose records, when a broker does",
			"replicas", c.replicas, "brokers", brokers)
	}
	return nil
}

// minInSync is how many replicas must have a record before it is acknowledged.
func (c *Cluster) minInSync() int { return min(2, c.replicas) }

// Name is what the topics of the deployment begin with.
func (c *Cluster) Name() string { return c.cfg.Name }

// Check reports what is wrong right now: no broker that answers, a partition without a leader or with too few replicas, a
// right that is missing, a clock that differs from the brokers'. It asks nobody, so it may be called every second.
func (c *Cluster) Check() error { return c.health.check(c.cfg.Delta, c.openTopics()) }

// Lost says why a topic is another one than it was, which only a new start of the process mends; nil: none is.
func (c *Cluster) Lost() error {
	for _, l := range c.openTopics() {
		if err := l.lossErr(); err != nil {
			return fmt.Errorf("kafka: %w", err)
		}
	}
	return nil
}

// Close ends all that is open on the cluster.
func (c *Cluster) Close() error {
	c.mu.Lock()
	c.closed = true
	links := c.links
	c.mu.Unlock()
	c.health.stop()
	for _, l := range links {
		l.close()
	}
	return nil
}

// openTopics are the connections of the topics that are open.
func (c *Cluster) openTopics() (open []*link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.links {
		if l.opened.Load() {
			open = append(open, l)
		}
	}
	return open
}

// link makes the connections for one topic.
func (c *Cluster) link(name string) (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, topic.ErrClosed
	}
	l := newLink(c, name)
	c.links = append(c.links, l)
	return l, nil
}

// drop ends the connections of a topic that could not be opened.
func (c *Cluster) drop(l *link) {
	l.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.links {
		if c.links[i] == l {
			c.links = append(c.links[:i], c.links[i+1:]...)
			return
		}
	}
}

// measure compares clocks, and warns now and then when they differ.
func (c *Cluster) measure(sent, stamped, acknowledged time.Time) {
	c.health.measure(sent, stamped, acknowledged)
	if skew, _ := c.Skew(); skew.Abs() > warnSkew {
		c.skewWarning.Do(func() {
			c.cfg.Logger.Warn("kafka: our clock differs from the brokers': set it right", "ahead", skew.String(),
				"refused_beyond", c.cfg.Delta.String())
		})
	}
}

// Skew is how far our clock is ahead of the brokers', that much at least, as the last Put of a Store has shown; false: there was
// none yet.
func (c *Cluster) Skew() (ahead time.Duration, measured bool) {
	c.health.mu.Lock()
	defer c.health.mu.Unlock()
	return c.health.skew, c.health.measured
}
