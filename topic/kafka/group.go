package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/assigned"
	"refrain/internal/check"
	"refrain/internal/kafkaconn"
	"refrain/topic"
)

// GroupConfig says which group to join, and when a member counts as dead.
type GroupConfig struct {
	Conn   *kafkaconn.Conn
	Group  string // the consumer group's name
	Topic  string // whose partitions are dealt out; nothing is read from it
	Parts  int    // how many partitions it has
	Member string // this process's stable name, by which it gets back what it had

	// Session is how long the group waits for a sign of life before others get the parts of a member. The brokers bound
	// it by group.min.session.timeout.ms, 6 s, and group.max.session.timeout.ms.
	Session   time.Duration
	Heartbeat time.Duration // how often it gives one, a third of Session or less
	Rebalance time.Duration // how long the group waits for members when one comes or goes

	Logger *slog.Logger
}

// DefaultGroup is a configuration that still wants a connection and names.
func DefaultGroup() GroupConfig {
	return GroupConfig{Session: 10 * time.Second, Heartbeat: 3 * time.Second, Rebalance: 10 * time.Second, Logger: slog.Default()}
}

func (c *GroupConfig) validate() error {
	var rare error
	if c.Heartbeat > c.Session/3 {
		rare = fmt.Errorf("heartbeat: %v, want a third of the session of %v or less", c.Heartbeat, c.Session)
	}
	return errors.Join(check.Set("conn", c.Conn != nil), check.Set("group", c.Group != ""), check.Set("topic", c.Topic != ""),
		check.Set("member", c.Member != ""), check.AtLeast(1, "parts", c.Parts), rare,
		check.AtLeast(time.Millisecond, "session", c.Session), check.AtLeast(time.Millisecond, "heartbeat", c.Heartbeat),
		check.AtLeast(time.Millisecond, "rebalance", c.Rebalance), check.Set("logger", c.Logger != nil))
}

// Group is the membership of this process in a consumer group. It reads no records and commits no offsets.
//
// A member that comes or goes makes all join anew, which the library calls a generation. Until the new one begins everybody
// goes on with what it had.
type Group struct {
	cfg      GroupConfig
	balancer *balancer
	latest   *assigned.Latest
	dialer   *groupDialer
	group    *kafka.ConsumerGroup

	leaving atomic.Bool
	left    chan struct{} // closed when leave is through
	done    chan struct{} // closed when run has returned

	mu      sync.Mutex
	member  string // the broker's name for us, "" before the first generation
	trouble error  // why this process is not in the group; nil: it is

	// Of run's goroutine.
	refused time.Time // when the name was last found to be another's; zero: it is ours
	told    string    // the last error that was logged
}

var _ topic.Membership = (*Group)(nil)

// JoinGroup looks the topic up and begins to join. An error that wraps kafkaconn.ErrUnreachable may go away by itself.
// Close must be called.
func JoinGroup(ctx context.Context, cfg GroupConfig) (*Group, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("join group: %w", err)
	}
	if err := checkGroupTopic(ctx, cfg); err != nil {
		return nil, fmt.Errorf("join group %s: %w", cfg.Group, err)
	}
	g := &Group{cfg: cfg, balancer: newBalancer(cfg), latest: assigned.New(), left: make(chan struct{}), done: make(chan struct{})}
	d := cfg.Conn.Dialer()
	g.dialer = &groupDialer{dial: d.DialFunc, open: map[net.Conn]bool{}}
	d.DialFunc = g.dialer.Dial
	var err error
	if g.group, err = kafka.NewConsumerGroup(g.library(d)); err != nil {
		return nil, fmt.Errorf("join group %s: %w", cfg.Group, err)
	}
	go g.run()
	return g, nil
}

func checkGroupTopic(ctx context.Context, cfg GroupConfig) error {
	found, err := cfg.Conn.Probe(ctx, cfg.Topic)
	if err != nil {
		return err
	}
	if n := len(found[0].Partitions); n < cfg.Parts { // more were added by somebody
		return fmt.Errorf("topic %s has %d partitions, and this process was told %d: all that share it must be configured alike",
			cfg.Topic, n, cfg.Parts)
	}
	return nil
}

func (g *Group) library(d *kafka.Dialer) kafka.ConsumerGroupConfig {
	return kafka.ConsumerGroupConfig{
		ID: g.cfg.Group, Brokers: g.cfg.Conn.Brokers(), Dialer: d, Topics: []string{g.cfg.Topic},
		GroupBalancers:    []kafka.GroupBalancer{g.balancer},
		HeartbeatInterval: g.cfg.Heartbeat, SessionTimeout: g.cfg.Session, RebalanceTimeout: g.cfg.Rebalance,
		JoinGroupBackoff: min(g.cfg.Heartbeat, time.Second),
	}
}

// Next implements topic.Membership.
func (g *Group) Next(ctx context.Context) ([]int, error) { return g.latest.Next(ctx) }

// run takes every generation as it comes: the library stands still, and falls out of the group, while nobody does.
func (g *Group) run() {
	defer close(g.done)
	for {
		gen, err := g.next()
		switch {
		case errors.Is(err, kafka.ErrGroupClosed):
			return
		case errors.Is(err, context.DeadlineExceeded):
			err = g.waited()
		case err != nil:
			err = g.retry(err)
		default:
			g.begin(gen)
		}
		if err != nil {
			g.latest.Fail(err)
			g.leave()
			return
		}
	}
}

// next waits for a generation. What it waits for at most is a heartbeat before the first one, to say so, and the time that
// a process of our name has to die.
func (g *Group) next() (*kafka.Generation, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch {
	case !g.refused.IsZero():
		ctx, cancel = context.WithDeadline(ctx, g.rejoinDeadline())
		defer cancel()
	case g.memberID() == "" && g.told == "":
		ctx, cancel = context.WithTimeout(ctx, g.cfg.Heartbeat)
		defer cancel()
	}
	return g.group.Next(ctx)
}

// rejoinDeadline is when a process that was dead when it had our name would be gone.
func (g *Group) rejoinDeadline() time.Time { return g.refused.Add(2*g.cfg.Session + g.cfg.Rebalance) }

// waited is called when next has waited long enough.
func (g *Group) waited() error {
	if !g.refused.IsZero() {
		return &topic.NameTakenError{Member: g.cfg.Member, Group: "consumer group " + g.cfg.Group}
	}
	g.log(slog.LevelInfo, "kafka: waiting to join the group: a process that has died is a member until its session ends",
		"waiting")
	return nil
}

// begin takes up a generation.
func (g *Group) begin(gen *kafka.Generation) {
	g.balancer.joined(gen.ID)
	g.mu.Lock()
	g.member, g.trouble = gen.MemberID, nil
	g.mu.Unlock()
	parts := groupParts(gen.Assignments[g.cfg.Topic])
	g.told = ""
	if len(parts) > 0 && parts[0] == nameTaken {
		g.refuse()
		return
	}
	g.refused = time.Time{}
	g.cfg.Logger.Info("kafka: parts assigned", "group", g.cfg.Group, "worker", g.cfg.Member, "generation", gen.ID, "parts", parts)
	g.latest.Set(parts)
}

// refuse waits for the end of a process of our name, which may be this one before it was restarted. It waits anew in every
// generation: one that died while it joined is in the next one, and its session begins with that.
func (g *Group) refuse() {
	g.latest.Clear()
	first := g.refused.IsZero()
	g.refused = time.Now()
	if !first {
		return
	}
	g.cfg.Logger.Warn("kafka: another process has this worker's name: waiting for it to end", "group", g.cfg.Group,
		"worker", g.cfg.Member)
}

func groupParts(assigned []kafka.PartitionAssignment) (parts []int) {
	for _, a := range assigned {
		parts = append(parts, a.ID)
	}
	return parts
}

// retry logs an error and lets the library try again; one that stays is returned.
func (g *Group) retry(err error) error {
	if errors.Is(err, kafka.RebalanceInProgress) {
		return nil
	}
	g.balancer.lost()
	if hint := g.fatal(err); hint != "" {
		return fmt.Errorf("group %s: %s: %w", g.cfg.Group, hint, g.cfg.Conn.Explain(err))
	}
	what := err.Error()
	if errors.Is(err, kafka.GroupAuthorizationFailed) || errors.Is(err, kafka.TopicAuthorizationFailed) {
		what = fmt.Sprintf("the right to Read is missing on group %s or topic %s: grant it with: kafka-acls.sh --bootstrap-server %s --add "+
			"--allow-principal User:NAME --operation Read --group %s --topic %s: %v", g.cfg.Group, g.cfg.Topic, g.cfg.Conn, g.cfg.Group, g.cfg.Topic, err)
	}
	g.setTrouble(fmt.Errorf("group %s: %s", g.cfg.Group, what))
	g.log(slog.LevelWarn, "kafka: joining the group again; parts stay as they are", what)
	return nil
}

// log says the same thing once.
func (g *Group) log(level slog.Level, message, what string) {
	if g.told != what {
		g.told = what
		g.cfg.Logger.Log(context.Background(), level, message, "group", g.cfg.Group, "worker", g.cfg.Member, "error", what)
	}
}

// fatal says what to do about an error that trying again does not mend.
func (g *Group) fatal(err error) string {
	var code kafka.Error
	if !errors.As(err, &code) {
		return ""
	}
	switch code {
	case kafka.InconsistentGroupProtocol:
		return "it has members of another kind: consumers of somebody else, or workers that were told another number of " +
			"partitions. Choose another topics.name, or stop them"
	case kafka.InvalidSessionTimeout:
		return fmt.Sprintf("the brokers take no session of %v: see their group.min.session.timeout.ms and "+
			"group.max.session.timeout.ms", g.cfg.Session)
	case kafka.InvalidGroupId:
		return "the brokers take no such name: see topics.name"
	case kafka.GroupMaxSizeReached:
		return "it is full: see group.max.size of the brokers"
	}
	return ""
}

// Trouble is why this process is not in the group now; nil: it is, or has just begun to join.
func (g *Group) Trouble() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.trouble
}

func (g *Group) setTrouble(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble = err
}

func (g *Group) memberID() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.member
}

// Close implements topic.Membership.
func (g *Group) Close() error {
	g.latest.Fail(topic.ErrClosed)
	g.leave()
	<-g.done
	return nil
}

// closeWait is how long the library has to leave the group in its own way.
const closeWait = 5 * time.Second

// leave leaves the group, once, also in the middle of joining anew, which waits for others and which the library does not
// break off.
func (g *Group) leave() {
	if g.leaving.Swap(true) {
		<-g.left
		return
	}
	defer close(g.left)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = g.group.Close() // it returns nil
	}()
	if err := g.tellGroup(); err != nil {
		g.cfg.Logger.Warn("kafka: the group was not told that this process leaves: its parts move when its session ends",
			"group", g.cfg.Group, "error", err)
	}
	cut := time.AfterFunc(closeWait, g.dialer.Close)
	<-closed
	cut.Stop()
	g.dialer.Close()
}

// tellGroup tells the group that we leave. That it does not know us any more is as well.
func (g *Group) tellGroup() error {
	member := g.memberID()
	if member == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	t := g.cfg.Conn.Transport(g.cfg.Topic)
	defer t.Close()
	res, err := g.cfg.Conn.Client(t).LeaveGroup(ctx, &kafka.LeaveGroupRequest{GroupID: g.cfg.Group,
		Members: []kafka.LeaveGroupRequestMember{{ID: member}}})
	if err == nil && !errors.Is(res.Error, kafka.UnknownMemberId) {
		err = res.Error
	}
	return err
}

// groupDialer knows the connections that the library has open.
type groupDialer struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

func (d *groupDialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = conn.Close() // nothing has been asked on it
		return nil, net.ErrClosed
	}
	c := &groupConn{Conn: conn, of: d}
	d.open[c] = true
	return c, nil
}

// Close ends all connections and allows no more.
func (d *groupDialer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for c := range d.open {
		_ = c.(*groupConn).Conn.Close() // whatever it says, it is of no use any more
	}
}

type groupConn struct {
	net.Conn
	of *groupDialer
}

func (c *groupConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
