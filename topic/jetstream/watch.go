package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"refrain/internal/clocks"
	"refrain/topic"
)

// A stream of somebody else's server can become another one under our hands: it is deleted and made again, or comes back
// from a backup, or without its end after a power cut of a server that had it alone. What is appended next then takes
// positions that had other records, and a reader would wait at its position until the stream has grown there, and miss
// what came before. So every few seconds the watch asks each stream for its end and looks whether the message that was
// last the time before still is what it was: the server's time of a message, to the nanosecond, tells it from any other.
// And whether those are there that were acknowledged to this process since then (acked.go).
//
// When it is not, the stream's metadata get a new incarnation that begins behind the newest message that is still the
// same; readers of this process end with topic.ErrBeyondEnd, and Lost says why: the process starts again, and compares
// what it has stored with the incarnations, as after a power cut of its own.

const (
	watchInterval = 2 * time.Second
	watchTimeout  = 2 * time.Second // for the settings of a stream, and for each message that is looked at
	// maxMarks bounds what is known of a stream's past: four minutes, twice what a server may take to write to its disk.
	maxMarks = 120
)

// watch looks after the streams of a cluster, in a goroutine of its own.
type watch struct {
	cluster *Cluster
	cancel  context.CancelFunc
	done    chan struct{}

	polling     sync.Mutex // one poll at a time
	skewWarning rate.Sometimes

	mu        sync.Mutex
	streams   []*watched
	connected time.Time // when it was last seen
}

// watched is what is known of a stream. Its topic, marks, short and gone belong to the poll.
type watched struct {
	name   string
	log    *slog.Logger
	opened *js.StreamConfig // as it was when it was opened
	topic  *Topic           // nil for a store
	gone   time.Time        // since when it does not exist; zero: it does
	marks  []mark           // where the stream ended, oldest first
	short  int              // how often in a row it ended before its last mark

	mu      sync.Mutex
	problem error         // of the last poll
	unsafe  error         // its settings are such that records could get lost
	lost    error         // for ever
	acked   []acked       // since the last poll, the newest of each life, oldest first
	keep    bool          // the newest stays: no poll has come to it
	ahead   time.Duration // our clock, of that of the server that leads the stream
	timed   bool          // ahead is known

	ended chan struct{} // closed with lost

	conn *nats.Conn
	away atomic.Uint64 // how often an append found nobody
}

// mark is a message that was the last one.
type mark struct {
	seq  uint64
	time time.Time
}

func (c *Cluster) newWatched(name string) *watched {
	return &watched{name: name, log: c.cfg.Logger, ended: make(chan struct{}), conn: c.conn}
}

// lossErr is what has become of the stream, nil while it is what it was.
func (x *watched) lossErr() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost
}

func (x *watched) check() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lost != nil {
		return x.lost
	}
	return x.problem
}

func startWatch(c *Cluster) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{skewWarning: rate.Sometimes{Interval: time.Minute}, cluster: c, cancel: cancel, done: make(chan struct{}), connected: time.Now()}
	go w.run(ctx)
	return w
}

func (w *watch) stop() {
	w.cancel()
	<-w.done
}

// add begins to look after a stream. The stream of a store may have been opened before.
func (w *watch) add(x *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := func(o *watched) bool { return o.name == x.name }
	if x.topic == nil && slices.ContainsFunc(w.streams, known) {
		return
	}
	w.streams = append(w.streams, x)
}

func (w *watch) disconnected() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := fmt.Errorf("not connected since about %s", w.connected.UTC().Format(time.RFC3339))
	if last := w.cluster.conn.LastError(); last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return err
}

func (w *watch) problems() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, x := range w.streams {
		errs = append(errs, x.check())
	}
	return errors.Join(errs...)
}

// lossErr is why the first stream that is another one than it was is that; nil: all are what they were.
func (w *watch) lossErr() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.streams {
		if err := x.lossErr(); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) run(ctx context.Context) {
	defer close(w.done)
	for again := time.NewTicker(watchInterval); ; {
		select {
		case <-ctx.Done():
			again.Stop()
			return
		case <-again.C:
			w.poll(ctx)
		}
	}
}

// poll asks after all streams at once.
func (w *watch) poll(ctx context.Context) {
	w.polling.Lock()
	defer w.polling.Unlock()
	if !w.cluster.conn.IsConnected() {
		return
	}
	w.mu.Lock()
	w.connected = time.Now()
	streams := slices.Clone(w.streams)
	w.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(8)
	for _, x := range streams {
		g.Go(func() error { w.pollStream(ctx, x); return nil })
	}
	_ = g.Wait() // none has an error: each notes its own
	w.warnOfSkew()
}

func (w *watch) pollStream(ctx context.Context, x *watched) {
	if x.lossErr() != nil {
		return
	}
	settings, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	acked := x.acknowledged()
	asked := w.cluster.cfg.Now()
	stream, err := w.cluster.js.Stream(settings, x.name)
	if err == nil {
		x.setSkew(clocks.Ahead(asked, stream.CachedInfo().TimeStamp, w.cluster.cfg.Now()))
	}
	if errors.Is(err, context.Canceled) {
		return
	}
	switch {
	case err == nil:
		x.gone = time.Time{}
		config := stream.CachedInfo().Config
		x.setUnsafe(w.cluster.recheck(settings, x.opened, &config))
		err = errors.Join(x.refusal(), checkReplicas(x.name, stream.CachedInfo()), x.compare(ctx, stream, acked))
	case errors.Is(err, js.ErrStreamNotFound):
		err = x.missing()
	default:
		x.retainAcknowledged()
		err = fmt.Errorf("stream %s does not answer, it may have no leader: start the servers that are down: %w", x.name,
			explainAPI(err, x.name))
	}
	w.note(x, err)
}

// goneAfter is how long a stream may not exist until it counts as deleted: servers that have just started may not have heard
// of all.
const goneAfter = 10 * time.Second

// missing is called when there is no such stream.
func (x *watched) missing() error {
	if x.gone.IsZero() {
		x.gone = time.Now()
	}
	if time.Since(x.gone) >= goneAfter {
		x.markLost(fmt.Errorf("stream %s has been deleted with all that it held: starting again, which makes it anew", x.name))
	}
	return fmt.Errorf("stream %s is gone: somebody has deleted it, or the servers have lost it; it is made anew in a moment, empty: "+
		"to restore it, stop all processes first", x.name)
}

// refusal says why nothing may be appended.
func (x *watched) refusal() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.unsafe
}

func (x *watched) setUnsafe(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unsafe = err
}

func (x *watched) setSkew(ahead time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ahead, x.timed = ahead, true
}

// skew is that of the server whose clock is nearest to ours.
func (w *watch) skew() (ahead time.Duration, measured bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.streams {
		x.mu.Lock()
		if x.timed && (!measured || x.ahead.Abs() < ahead.Abs()) {
			ahead, measured = x.ahead, true
		}
		x.mu.Unlock()
	}
	return ahead, measured
}

// warnSkew is the difference of clocks from which on it is reported.
const warnSkew = time.Second

// warnOfSkew says now and then that our clock differs.
func (w *watch) warnOfSkew() {
	if ahead, _ := w.skew(); ahead.Abs() > warnSkew {
		w.skewWarning.Do(func() {
			w.cluster.cfg.Logger.Warn("nats: our clock differs from the servers': set it right", "ahead", ahead.String(),
				"refused_beyond", w.cluster.cfg.Delta.String())
		})
	}
}

// note logs what has changed.
func (w *watch) note(x *watched, problem error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case problem != nil && x.problem == nil:
		w.cluster.cfg.Logger.Error("a stream is not well", "stream", x.name, "error", problem)
	case problem == nil && x.problem != nil:
		w.cluster.cfg.Logger.Info("a stream is well again", "stream", x.name)
	}
	x.problem = problem
}

// checkReplicas reports a stream that would have no leader but for the moment: too few of its servers are there.
func checkReplicas(name string, info *js.StreamInfo) error {
	if info.Cluster == nil {
		return nil
	}
	if info.Cluster.Leader == "" {
		return fmt.Errorf("stream %s has no leader: start the servers that are down", name)
	}
	replicas, online := 1, 1
	for _, peer := range info.Cluster.Replicas {
		if replicas++; !peer.Offline {
			online++
		}
	}
	if online <= replicas/2 {
		return fmt.Errorf("stream %s: %d of its %d servers are there, no majority: start those that are down", name, online, replicas)
	}
	return nil
}

// compare looks whether a topic's stream still is what it was, and remembers where it ends.
func (x *watched) compare(ctx context.Context, stream js.Stream, acked []acked) error {
	if x.topic == nil {
		return nil
	}
	l, err := parseLineage(stream.CachedInfo().Config.Metadata[metadataLineage])
	if x.markLostIfAnother(l, err) {
		return nil
	}
	state := &stream.CachedInfo().State
	x.marks = slices.DeleteFunc(x.marks, func(m mark) bool { return m.seq < state.FirstSeq })
	if state.LastSeq < x.known(acked) { // or a leader that has just been chosen
		if x.short++; x.short < 2 {
			return nil
		}
		return x.recordLoss(ctx, stream, l)
	}
	x.short = 0
	if same, err := x.isSame(ctx, stream, acked); err != nil {
		return err
	} else if !same {
		return x.recordLoss(ctx, stream, l)
	}
	x.appendMark(mark{state.LastSeq, state.LastTime})
	x.forget(acked)
	return nil
}

// markLostIfAnother ends what is done with a stream that is another one by its incarnations: it was made anew, or another
// process has found that it lost its end, which this one may have read.
func (x *watched) markLostIfAnother(l lineage, err error) bool {
	if err != nil || !l.continues(x.topic.lineage) {
		x.markLost(fmt.Errorf("stream %s has been deleted and made anew: starting again", x.name))
		return true
	}
	newest := l[len(l)-1]
	if newest == x.topic.lineage[len(x.topic.lineage)-1] {
		return false
	}
	x.markLost(fmt.Errorf("stream %s has lost what was acknowledged, from message %d on, as another process has found: starting again, "+
		"to do again what was done with them", x.name, newest.seq))
	return true
}

// known is the last message that is known to have been there.
func (x *watched) known(acked []acked) (seq uint64) {
	if n := len(x.marks); n > 0 {
		seq = x.marks[n-1].seq
	}
	for _, a := range acked {
		seq = max(seq, a.seq)
	}
	return seq
}

// isSame tells whether a stream has the message that was its last one at the poll before, and those that were acknowledged
// since then.
func (x *watched) isSame(ctx context.Context, stream js.Stream, acked []acked) (bool, error) {
	if n := len(x.marks); n > 0 {
		if same, err := isSame(ctx, stream, x.marks[n-1]); err != nil || !same {
			return false, err
		}
	}
	for _, a := range acked {
		if same, err := a.isThere(ctx, stream); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func (x *watched) appendMark(m mark) {
	n := len(x.marks)
	if m.seq == 0 || n > 0 && x.marks[n-1] == m {
		return
	}
	x.marks = append(x.marks[max(0, n+1-maxMarks):], m)
}

// isSame tells whether the message of a mark is there. One that retention has dropped meanwhile is no other.
func isSame(ctx context.Context, stream js.Stream, m mark) (bool, error) {
	if state := &stream.CachedInfo().State; state.LastSeq <= m.seq {
		return state.LastSeq == m.seq && state.LastTime.Equal(m.time), nil
	}
	return hasMessage(ctx, stream, m.seq, func(got *js.RawStreamMsg) bool { return got.Time.Equal(m.time) })
}

// hasMessage tells whether what a stream has at a place is the same, or was dropped by retention.
func hasMessage(ctx context.Context, stream js.Stream, seq uint64, same func(*js.RawStreamMsg) bool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	got, err := stream.GetMsg(ctx, seq)
	if errors.Is(err, js.ErrMsgNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at message %d: %w", seq, err)
	}
	return same(got), nil
}

// recordLoss begins an incarnation behind the newest message that is still the same. Two processes may do so at once: one of
// the two incarnations is forgotten, and what was stored in the other counts as of an unknown one.
func (x *watched) recordLoss(ctx context.Context, stream js.Stream, l lineage) error {
	kept := uint64(0)
	for _, m := range slices.Backward(x.marks) {
		same, err := isSame(ctx, stream, m)
		if err != nil {
			return err
		}
		if same {
			kept = m.seq
			break
		}
	}
	config := stream.CachedInfo().Config
	config.Metadata[metadataLineage] = l.next(kept + 1).String()
	if _, err := x.topic.js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("begin incarnation: %w", err)
	}
	x.markLost(fmt.Errorf("stream %s has lost what was acknowledged, from message %d on: starting again, to do again what was done "+
		"with them", x.name, kept+1))
	return nil
}

// markLost ends what this process does with the topic, until it is started again.
func (x *watched) markLost(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lost == nil {
		x.lost = fmt.Errorf("%w: %w", topic.ErrBeyondEnd, why)
		x.log.Error("a topic is another one than it was", "error", why)
		close(x.ended)
	}
}
