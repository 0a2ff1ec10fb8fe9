package jetstream

import (
	"context"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"refrain/topic"
)

// defaultPace bounds the bytes a second that are appended to all topics of a server, and paceBurst what may come at once, in
// seconds of it.
//
// The server keeps on the heap, whatever the collector does, all blocks that were written and are read until nobody has read
// them for ten seconds (nats-server 2.15: a block that is flushed as it is written is held strongly, and CacheExpire is no
// setting of a stream): 400 MiB appended in a second were 417 MiB on the heap for ten. So what comes in ten seconds
// bounds what it holds: 192 MiB at most. That is twice what a feed of 30,000 posts and 10,000 events a second takes.
const (
	defaultPace = 16 << 20
	paceBurst   = 2
)

func newPace(bytes int) *rate.Limiter { return rate.NewLimiter(rate.Limit(bytes), paceBurst*bytes) }

// unpackedShare is the part of what a message unpacks to that counts as its size where it is stored in less: whoever reads
// it carries all of that, and 38 KB of one character take a few hundred bytes here. Usual events are an eighth.
const unpackedShare = 4

// pacedSize is what the message of some records counts.
func pacedSize(m *nats.Msg, records []topic.Record) int64 {
	plain := 0
	for i := range records {
		plain += len(records[i].Data)
	}
	return max(storedSize(m), int64(plain)/unpackedShare)
}

// awaitPace waits until so many bytes may be appended. A topic of another process's server has no pace.
func (t *Topic) awaitPace(ctx context.Context, bytes int64) error {
	if t.pace == nil {
		return nil
	}
	return t.pace.WaitN(ctx, int(min(bytes, int64(t.pace.Burst()))))
}
