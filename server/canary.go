package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"refrain/internal/retry"
	"refrain/shard"
	"refrain/split"
	"refrain/topic"
)

// canaries are pairs of posts of the server's own that go through the whole route, so that it is known to work also
// while nothing comes, or nothing repeats.
//
// A pair is written into every partition of the sentence topic. The worker that owns one looks both posts up in all its
// windows, finds the first again when it meets the second, and says so; writeBack writes that into a topic of its own, and
// listen reads it back. A topic of its own, since an event among the others would give theirs other positions, and every
// reader of events, of this program or another, would have to know and hide it. docs/design/0013-doors.md has more.
type canaries struct {
	every, maxDelay time.Duration
	start           time.Duration // instead of maxDelay, until the first has come through: the windows are read again meanwhile
	split           *split.Split  // nil: this process sends none
	matches         bool          // it looks them up
	partitions      int
	topic           topic.Topic
	log             *slog.Logger
	metrics         *canaryMetrics
	found           chan shard.Canary // from the workers, which do not wait

	mu           sync.Mutex
	pairs        []*canaryPair // under way, oldest first
	overdueSince time.Time     // since when no pair has completed; zero: none is overdue
	last         time.Time     // when one last did, or the process began
	firstSeen    time.Time     // when the first did; zero: none has
	cause        error         // why the last one could not be written; nil: it was
}

// canaryPair is one under way.
type canaryPair struct {
	number  uint64
	began   time.Time
	limit   time.Duration
	missing map[int]bool // partitions that it has not come through
	overdue bool
}

// maxPairs bounds the pairs under way: the oldest of more are given up. That they are overdue stays known.
const maxPairs = 64

// canaryTopic is of a few minutes: only this process reads what it has written.
func (n *node) canaryTopic() topicSpec {
	return topicSpec{name: "canaries", partitions: 1, maxAge: 10 * time.Minute, maxBytes: 16 << 20}
}

func (n *node) openCanaries(ctx context.Context) (err error) {
	cfg := &n.cfg.Canary
	if cfg.Every == 0 || !n.cfg.has(roleSplit) && !n.cfg.has(roleMatch) {
		return nil
	}
	c := &canaries{
		every: cfg.Every, maxDelay: cfg.Late, start: max(cfg.Late, cmp.Or(n.cfg.Health.MaxLag, Default().Health.MaxLag)),
		split: n.split, matches: n.cfg.has(roleMatch), partitions: n.cfg.Topics.Partitions, log: n.log, last: time.Now(),
		found: make(chan shard.Canary, maxPairs*n.cfg.Topics.Partitions),
	}
	to, err := n.broker.openTopic(ctx, n.canaryTopic())
	if err != nil {
		return err
	}
	c.topic = n.disk.on(to)
	if c.metrics, err = newCanaryMetrics(c); err != nil {
		return err
	}
	n.canaries = c
	return nil
}

// parts are what runs of them in this process.
func (c *canaries) parts() (parts []func(context.Context) error) {
	if c.split != nil {
		parts = append(parts, c.send, c.listen)
	}
	if c.matches {
		parts = append(parts, c.writeBack)
	}
	return parts
}

// enqueue is called by the workers. Where they are ahead of the disk by so many, one more is left out: it is late.
func (c *canaries) enqueue(x shard.Canary) {
	select {
	case c.found <- x:
	default:
	}
}

// send writes a pair now and then, the first one at once.
func (c *canaries) send(ctx context.Context) error {
	for n := uint64(1); ctx.Err() == nil; n++ {
		c.sendPair(ctx, n)
		_ = retry.Sleep(ctx, c.every) // the loop sees that ctx has ended
	}
	return nil
}

func (c *canaries) sendPair(ctx context.Context, number uint64) {
	c.countOverdue(time.Now())
	first := c.split.NewCanary(number)
	c.begin(number, time.Now())
	err := c.split.WriteCanary(ctx, first)
	if err == nil {
		c.restart(number, time.Now())
		err = c.split.WriteCanary(ctx, first)
	}
	c.written(ctx, number, err)
}

// begin notes a pair before its first post is written: workers may be quicker than the one that writes.
func (c *canaries) begin(number uint64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &canaryPair{number: number, began: now, limit: c.limit(), missing: map[int]bool{}}
	for q := range c.partitions {
		p.missing[q] = true
	}
	if c.overdueSince.IsZero() {
		c.overdueSince = now
	}
	if c.pairs = append(c.pairs, p); len(c.pairs) > maxPairs {
		c.pairs = c.pairs[1:]
	}
}

// limit is the delay from which a pair is overdue. Until the windows are read again all posts wait for that, as long as
// health.max_lag lets them.
func (c *canaries) limit() time.Duration {
	if c.firstSeen.IsZero() {
		return c.start
	}
	return c.maxDelay
}

// restart counts the delay of a pair from its second post.
func (c *canaries) restart(number uint64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pairs[len(c.pairs)-1]; p.number == number {
		p.began = now
	}
}

// written takes note of how the writing of a pair has ended. One that was not written is awaited all the same.
func (c *canaries) written(ctx context.Context, number uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = err
	if err == nil || ctx.Err() != nil {
		return
	}
	c.metrics.count(canaryFailed, c.partitions)
	c.log.Debug("a canary cannot be written", "error", err)
	if n := len(c.pairs); n > 0 && c.pairs[n-1].number == number {
		c.pairs = c.pairs[:n-1]
	}
}

// countOverdue counts the partitions in which pairs are overdue, each once.
func (c *canaries) countOverdue(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pairs {
		if !p.overdue && now.Sub(p.began) > p.limit {
			p.overdue = true
			c.metrics.count(canaryLate, len(p.missing))
		}
	}
}

// writeBack writes what the workers have found to the topic. What cannot be written is late.
func (c *canaries) writeBack(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case x := <-c.found:
			data, _ := json.Marshal(x) // numbers
			if err := c.topic.Append(ctx, []topic.Record{{Data: data}}); err != nil && ctx.Err() == nil {
				c.log.Warn("a canary cannot be written back", "partition", x.Partition, "error", err)
			}
		}
	}
}

// listen reads the topic, from what comes next on.
func (c *canaries) listen(ctx context.Context) error {
	pauses := retry.Steady()
	for ctx.Err() == nil {
		if err := c.read(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("canary: retrying read", "error", err)
			_ = retry.Sleep(ctx, pauses.NextBackOff()) // the loop sees that ctx has ended
		}
	}
	return nil
}

func (c *canaries) read(ctx context.Context) error {
	_, end, err := c.topic.Bounds(ctx)
	if err != nil {
		return err
	}
	reader, err := c.topic.Open(ctx, end)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }() // there is nothing to lose
	for {
		records, err := reader.Fetch(ctx)
		if err != nil {
			return fmt.Errorf("read canaries: %w", err)
		}
		for i := range records {
			c.observe(records[i].Data, time.Now())
		}
	}
}

// observe notes a canary that was read. What another process has written, or was written before, is nothing.
func (c *canaries) observe(data []byte, now time.Time) {
	var x shard.Canary
	if err := json.Unmarshal(data, &x); err != nil || x.Writer != c.split.Writer() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range c.pairs {
		if p.number == x.Pair && p.missing[x.Partition] {
			delete(p.missing, x.Partition)
			c.metrics.seen(now.Sub(p.began))
			c.complete(i, now)
			return
		}
	}
}

// complete removes a pair that has come through everywhere, and those before it: what they lack will not come any more.
func (c *canaries) complete(i int, now time.Time) {
	if len(c.pairs[i].missing) > 0 {
		return
	}
	for _, p := range c.pairs[:i] {
		if !p.overdue {
			c.metrics.count(canaryLate, len(p.missing))
		}
	}
	c.pairs, c.last, c.overdueSince = c.pairs[i+1:], now, time.Time{}
	if c.firstSeen.IsZero() {
		c.firstSeen = now
	}
	if len(c.pairs) > 0 { // those of before the first have waited for the windows too
		c.overdueSince = laterTime(c.pairs[0].began, c.firstSeen)
	}
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// check fails while a pair is overdue; nil: none is.
func (c *canaries) check(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.overdueSince.IsZero() || now.Sub(c.overdueSince) <= c.limit() {
		return nil
	}
	waits := now.Sub(c.overdueSince).Round(time.Second)
	if c.cause != nil {
		return fmt.Errorf("none has come through for %v: %w", waits, c.cause)
	}
	return fmt.Errorf("none has come through for %v: %v", waits, c.lacking())
}

// lacking names the partitions that the oldest pair has not come through.
func (c *canaries) lacking() string {
	if len(c.pairs) == 0 {
		return "none could be written"
	}
	var lack []int
	for q := range c.partitions {
		if c.pairs[0].missing[q] {
			lack = append(lack, q)
		}
	}
	return fmt.Sprintf("partitions %v", lack)
}
