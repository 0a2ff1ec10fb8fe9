package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
)

// item reads a message. One without our stamp (somebody else wrote it) has the server's time.
func (t *Topic) item(m js.Msg, meta *js.MsgMetadata) item {
	partition, err := strconv.Atoi(strings.TrimPrefix(m.Subject(), t.cfg.Name+"."))
	if err != nil || partition < 0 || partition >= t.cfg.Partitions {
		return item{err: fmt.Errorf("read topic %s: message %d: subject %q names none of the %d partitions",
			t.cfg.Name, meta.Sequence.Stream, m.Subject(), t.cfg.Partitions)}
	}
	return item{record: topic.Record{
		Partition: partition, Position: int64(meta.Sequence.Stream), Time: stamp(m, meta),
		Trace: m.Headers().Get(headerTrace), Data: m.Data(),
	}}
}

func stamp(m js.Msg, meta *js.MsgMetadata) time.Time {
	ns, err := strconv.ParseInt(m.Headers().Get(headerTime), 10, 64)
	if err != nil {
		return meta.Timestamp.UTC()
	}
	return time.Unix(0, ns).UTC()
}

// backoff spaces the attempts of a reader to go on, and says when it is time to tell.
type backoff struct {
	since time.Time
	wait  time.Duration
}

func newBackoff() *backoff { return &backoff{since: time.Now(), wait: 50 * time.Millisecond} }

// exhausted is true when there is no hope, or none has been fulfilled for a while; it starts counting again.
func (b *backoff) exhausted(err error) bool {
	if !errors.Is(err, js.ErrStreamNotFound) && time.Since(b.since) < patience {
		return false
	}
	b.since = time.Now()
	return true
}

// sleep waits, twice as long each time up to 2 s.
func (b *backoff) sleep(ctx context.Context) {
	timer := time.NewTimer(b.wait)
	defer timer.Stop()
	b.wait = min(2*b.wait, 2*time.Second)
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
