package chaos

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/kafkaconn"
	"refrain/shard"
	"refrain/split"
	"refrain/text"
	"refrain/topic"
	"refrain/topic/kafka"
)

// fakeDeployment is splits and crews in this process, in virtual time, on a cluster that does wrong what it is told to. Each has
// a network of its own, so that one can be cut off, and die.
type fakeDeployment struct {
	t       *testing.T
	rng     *rand.Rand
	network kfake.VirtualNetwork
	cluster *kfake.Cluster
	crews   []*fakeCrew
	started int
	ending  sync.WaitGroup // of those that were killed

	reading *fakeProcess // the test's own
	said    bytes.Buffer // by all of them
	log     *slog.Logger

	mu     sync.Mutex
	splits []*fakeSplit
}

const (
	fakePartitions = 4
	fakeSpan       = time.Hour
	fakeName       = "chaos"
)

func newFakeDeployment(t *testing.T, rng *rand.Rand) *fakeDeployment {
	d := &fakeDeployment{t: t, rng: rng, splits: make([]*fakeSplit, 2)}
	d.log = slog.New(slog.NewTextHandler(&d.said, nil))
	var err error
	d.cluster, err = kfake.NewCluster(kfake.NumBrokers(3), kfake.ListenFn(d.network.Listen), kfake.Ports(9092, 9093, 9094),
		kfake.GroupMinSessionTimeout(time.Second), kfake.SleepOutOfOrder())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.close()
		if t.Failed() {
			t.Logf("what was logged:\n%s", d.said.String())
		}
	})
	return d
}

// fakeProcess is what all have: topics, over a network of their own.
type fakeProcess struct {
	wire
	now                        func() time.Time
	conn                       *kafkaconn.Conn
	cluster                    *kafka.Cluster
	sentences, events, control *kafka.Topic
	store                      *kafka.Store
}

// openFake connects, as often as it takes.
func (d *fakeDeployment) openFake() *fakeProcess {
	ahead := between(d.rng, -scaled.skew, scaled.skew)
	p := &fakeProcess{wire: wire{links: map[*link]bool{}}, now: func() time.Time { return time.Now().Add(ahead) }}
	for {
		err := p.open(d)
		if err == nil {
			return p
		}
		if !kafka.IsTemporary(err) {
			d.t.Fatal(err)
		}
		<-time.After(time.Second)
	}
}

func (p *fakeProcess) open(d *fakeDeployment) (err error) {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		broker, err := d.network.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		ours, client := net.Pipe()
		p.running.Go(func() { p.serve(client, broker) })
		return ours, nil
	}
	if p.conn, err = kafkaconn.New(kafkaconn.Config{Brokers: d.cluster.ListenAddrs(), Dial: dial}); err != nil {
		return err
	}
	cfg := kafka.Default()
	cfg.Name, cfg.Conn, cfg.Now, cfg.Logger = fakeName, p.conn, p.now, d.log
	if p.cluster, err = kafka.Open(d.t.Context(), cfg); err != nil {
		return err
	}
	if err = p.openTopics(d.t.Context(), d.log); err != nil {
		return errors.Join(err, p.cluster.Close())
	}
	return nil
}

func (p *fakeProcess) openTopics(ctx context.Context, log *slog.Logger) (err error) {
	topic := func(name string, partitions int, prompt bool) *kafka.Topic {
		if err != nil {
			return nil
		}
		cfg := kafka.DefaultTopic()
		cfg.Name, cfg.Partitions, cfg.Prompt, cfg.MaxAge = fakeName+"-"+name, partitions, prompt, 24*time.Hour
		cfg.Now, cfg.Logger = p.now, log
		var t *kafka.Topic
		t, err = p.cluster.OpenTopic(ctx, cfg)
		return t
	}
	p.sentences, p.events, p.control = topic("sentences", fakePartitions, true), topic("events", 1, false), topic("control", 1, false)
	topic("match", fakePartitions, false) // that members are dealt the partitions of
	if err == nil {
		p.store, err = p.cluster.OpenStore(ctx, fakeName+"-state")
	}
	return err
}

func (p *fakeProcess) stop() {
	p.cluster.Close()
	p.kill()
}

// kill cuts the process off first, so that nothing of its end is heard.
func (p *fakeProcess) kill() { p.wire.close() }

// fakeSplit is a process that takes posts in.
type fakeSplit struct {
	*fakeProcess
	*split.Split
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// openSplit starts one in the place of another.
func (d *fakeDeployment) openSplit(i int) {
	p, cfg := d.openFake(), split.Default()
	cfg.Sentences, cfg.Control, cfg.Lateness, cfg.MaxHold = p.sentences, p.control, detector.Default().Lateness, 2000*time.Hour
	cfg.Now, cfg.Logger, cfg.Attempts = p.now, d.log, 2
	s, err := split.New(cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	one := &fakeSplit{fakeProcess: p, Split: s}
	var ctx context.Context
	ctx, one.cancel = context.WithCancel(d.t.Context())
	one.done.Go(func() {
		for tick := time.NewTicker(time.Second); ctx.Err() == nil; {
			select {
			case <-tick.C:
				s.Tick(ctx, p.now())
			case <-ctx.Done():
				tick.Stop()
			}
		}
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.splits[i] = one
}

// anySplit is one of those that there are now.
func (d *fakeDeployment) anySplit(rng *rand.Rand) *fakeSplit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.splits[rng.IntN(len(d.splits))]
}

func (s *fakeSplit) stop() {
	s.cancel()
	s.done.Wait()
	s.fakeProcess.stop()
}

// fakeCrew is a process that has a share of the window.
type fakeCrew struct {
	*fakeProcess
	name   string
	crew   *shard.Crew
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (d *fakeDeployment) openCrew(name string) *fakeCrew {
	p := d.openFake()
	c := &fakeCrew{fakeProcess: p, name: name}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(d.t.Context())
	var err error
	if c.crew, err = shard.OpenCrew(ctx, c.config(d.log)); err != nil {
		d.t.Fatal(err)
	}
	c.done.Go(func() { c.follow(ctx, d) })
	c.done.Go(func() {
		if err := c.crew.Run(ctx); err != nil && ctx.Err() == nil {
			d.t.Errorf("%s: %v", name, err)
		}
	})
	d.crews = append(d.crews, c)
	return c
}

func (c *fakeCrew) config(log *slog.Logger) shard.CrewConfig {
	p, cfg := c.fakeProcess, shard.DefaultCrew()
	w := &cfg.Worker
	w.Sentences, w.Events, w.Control, w.Store = p.sentences, p.events, p.control, p.store
	w.Span, w.Lateness, w.MaxHold, w.Silence = fakeSpan, detector.Default().Lateness, 2000*time.Hour, scaled.silence
	w.Deployment, w.Commit, w.TextVersion = feed.Deployment{Name: "test"}, time.Second, text.Version
	w.Now, w.Logger = p.now, log.With("worker", c.name)
	cfg.Workers, cfg.Name, cfg.Address, cfg.Grace = 2, c.name, c.name, scaled.grace
	cfg.Rows = func(int) (shard.Rows, error) {
		window := detector.Default()
		window.Span = fakeSpan
		return detector.NewPartition(window)
	}
	return cfg
}

// follow assigns to the crew what is dealt to it, as the server does. A server ends when a process that has its name does not go
// in time, and is started again: this joins again.
func (c *fakeCrew) follow(ctx context.Context, d *fakeDeployment) {
	for ctx.Err() == nil {
		err := c.followOnce(ctx, d.log)
		taken := (*topic.NameTakenError)(nil)
		if ctx.Err() == nil && !errors.As(err, &taken) {
			d.t.Errorf("%s: %v", c.name, err)
			return
		}
	}
}

func (c *fakeCrew) followOnce(ctx context.Context, log *slog.Logger) error {
	group, err := c.join(ctx, log)
	if err != nil {
		return err
	}
	defer group.Close()
	for {
		parts, err := group.Next(ctx)
		if err != nil {
			return err
		}
		c.crew.Assign(parts)
	}
}

// join tries as often as it takes.
func (c *fakeCrew) join(ctx context.Context, log *slog.Logger) (topic.Membership, error) {
	cfg := kafka.DefaultGroup()
	cfg.Conn, cfg.Group, cfg.Topic, cfg.Parts = c.conn, fakeName+"-match", fakeName+"-match", fakePartitions
	cfg.Member, cfg.Session, cfg.Heartbeat = c.name, scaled.session, scaled.session/3
	// Less than from one attempt to join to the next: here, not on Kafka, each begins the wait for the others anew.
	cfg.Rebalance, cfg.Logger = time.Second, log
	for {
		group, err := kafka.JoinGroup(ctx, cfg)
		if err == nil {
			return group, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// stop ends the process in good order.
func (c *fakeCrew) stop(t *testing.T) {
	c.cancel()
	c.done.Wait()
	if err := errors.Join(c.crew.Close(), c.cluster.Close()); err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
	c.kill()
}

// kill ends it without a word; what is left of it here ends by itself.
func (d *fakeDeployment) kill(c *fakeCrew) {
	c.kill()
	d.ending.Go(func() { c.stop(d.t) })
}

func (d *fakeDeployment) close() {
	for _, c := range d.crews {
		c.stop(d.t)
	}
	for _, s := range d.splits {
		if s != nil {
			s.stop()
		}
	}
	if d.reading != nil {
		d.reading.stop()
	}
	d.ending.Wait()
	d.cluster.Close()
}
