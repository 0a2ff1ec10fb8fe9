package jetstream

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"refrain/topic"
)

const (
	// maxAhead bounds the bytes, and maxFetch the messages, that wait in the queue of a reader; Fetch takes no further
	// message when it has maxFetch records, or maxFetchBytes of them.
	maxAhead      = 16 << 20
	maxFetch      = 256
	maxFetchBytes = 4 << 20
	// maxPull is how many messages are asked of the server at a time. A limit in bytes would be better, but with
	// one every answer carries a status message too, and then the client's own buffer (of maxPull) overflows.
	maxPull = 64
	// narrowAhead and narrowPull are those of a narrow reader.
	narrowAhead = 1 << 20
	narrowPull  = 8
	// retryTimeout is how long a reader tries to go on by itself before Fetch says that it cannot.
	retryTimeout = 30 * time.Second
	// inactive is after how long the server forgets a reader that asks for nothing; it is made anew where it was.
	inactive = time.Minute
)

// reader is a topic.Reader on one ordered pull consumer. A goroutine, the pump, takes messages from the client
// into a bounded queue, so that Fetch obeys its ctx while the client waits for a lost server. Everything the pump
// does starts at next: when the consumer is lost for whatever reason it makes another one there.
type reader struct {
	topic    *Topic
	from     []int64
	filtered []string // subjects to ask for, nil for all

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{} // closed when the pump has ended
	once   sync.Once

	held  error // Fetch's: an error that came behind records
	next  int64 // the pump's: stream sequence of the next message, all below handed to the queue
	queue chan item
	ahead *semaphore.Weighted // bytes in the queue
	room  int64               // most of them
	pull  int                 // messages asked for at a time
}

var _ topic.Reader = (*reader)(nil)

// item is what Fetch is given of one message, or an error.
type item struct {
	records []topic.Record
	size    int64 // bytes of the message
	err     error
}

// Open implements topic.Topic.
func (t *Topic) Open(ctx context.Context, from []int64) (topic.Reader, error) {
	return t.open(ctx, from, maxAhead, maxPull)
}

// OpenNarrow is Open for readers of which there are many: it reads a megabyte ahead instead of sixteen.
func (t *Topic) OpenNarrow(ctx context.Context, from []int64) (topic.Reader, error) {
	return t.open(ctx, from, narrowAhead, narrowPull)
}

func (t *Topic) open(ctx context.Context, from []int64, ahead int64, pull int) (topic.Reader, error) {
	if err := topic.CheckFrom(from, t.cfg.Partitions); err != nil {
		return nil, fmt.Errorf("open topic %s: %w", t.cfg.Name, err)
	}
	if err := t.checkEnd(ctx, from); err != nil {
		return nil, fmt.Errorf("open topic %s: %w", t.cfg.Name, err)
	}
	r := &reader{
		topic: t, from: slices.Clone(from), filtered: t.subjects(from),
		done: make(chan struct{}), next: t.firstWanted(from),
		queue: make(chan item, maxFetch), ahead: semaphore.NewWeighted(ahead), room: ahead, pull: pull,
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	go r.pump()
	return r, nil
}

// whyEnded is what has become of a topic that is another one than it was.
func (t *Topic) whyEnded() error {
	if t.health.why == nil {
		return nil
	}
	if err := t.health.why(); err != nil {
		return fmt.Errorf("read topic %s: %w", t.cfg.Name, err)
	}
	return nil
}

func (t *Topic) checkEnd(ctx context.Context, from []int64) error {
	if err := t.whyEnded(); err != nil {
		return err
	}
	stream, err := t.js.Stream(ctx, t.cfg.Name)
	if err != nil {
		return err
	}
	end := t.begin(stream.CachedInfo().State.LastSeq + 1)
	if highest := slices.Max(from); highest > end {
		return fmt.Errorf("%w: from %d, end %d", topic.ErrBeyondEnd, highest, end)
	}
	return nil
}

// subjects is nil when every partition is wanted: the server then looks at no message's subject.
func (t *Topic) subjects(from []int64) []string {
	var wanted []string
	for p, f := range from {
		if f >= 0 {
			wanted = append(wanted, t.subject(p))
		}
	}
	if len(wanted) == len(from) {
		return nil
	}
	return wanted
}

// firstWanted is the first message to read. Stream sequences start at 1.
func (t *Topic) firstWanted(from []int64) int64 {
	first := int64(-1)
	for _, f := range from {
		if f >= 0 && (first < 0 || f < first) {
			first = f
		}
	}
	return max(t.sequence(first), 1)
}

// Fetch implements topic.Reader.
func (r *reader) Fetch(ctx context.Context) ([]topic.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.ctx.Err() != nil {
		return nil, topic.ErrClosed
	}
	if err := r.held; err != nil {
		r.held = nil
		return nil, err
	}
	if err := r.topic.whyEnded(); err != nil {
		return nil, err
	}
	select {
	case i := <-r.queue:
		return r.collect(i)
	default:
	}
	select {
	case i := <-r.queue:
		return r.collect(i)
	case <-r.topic.health.ended:
		return nil, r.topic.whyEnded()
	case <-r.done:
		return r.rest()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// rest is what the pump put into the queue before it ended by itself; after Close nobody wants it.
func (r *reader) rest() ([]topic.Record, error) {
	if r.ctx.Err() == nil {
		select {
		case i := <-r.queue:
			return r.collect(i)
		default:
		}
	}
	return nil, topic.ErrClosed
}

// collect takes what else is in the queue. An error behind records waits for the next call.
func (r *reader) collect(first item) ([]topic.Record, error) {
	r.ahead.Release(first.size)
	if first.err != nil {
		return nil, first.err
	}
	out := first.records
	for size := first.size; len(out) < maxFetch && size < maxFetchBytes; {
		select {
		case i := <-r.queue:
			r.ahead.Release(i.size)
			size += i.size
			if i.err != nil {
				r.held = i.err
				return out, nil
			}
			out = append(out, i.records...)
		default:
			return out, nil
		}
	}
	return out, nil
}

// Close implements topic.Reader. It waits for the pump, which during an outage may take until its request to the
// server times out.
func (r *reader) Close() error {
	r.once.Do(r.cancel)
	<-r.done
	return nil
}
