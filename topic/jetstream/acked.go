package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// A server that comes back with an older copy of its disk takes appends at once, and where these make the stream longer than
// it was before the watch looks again, it shows no gap any more. So the newest message that was acknowledged to this process
// is remembered, and the watch looks whether it still is there. An acknowledgement of after the server came back must not
// take the place of one of before: of each life of the server the newest one is kept, until the next poll.

// acked is a message that was acknowledged to this process.
type acked struct {
	seq  uint64
	sum  uint64 // of its content: the server's time of it is not in the acknowledgement
	life uint64 // of the server
}

var sumSeed = maphash.MakeSeed()

// sumBytes is how much of a message's data is looked at: all of a large one would be a tenth of an append's time.
const sumBytes = 1024

// sumOf tells a message from others by its stamp, its length, and how it begins: one that is made again has another stamp.
func sumOf(header nats.Header, data []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	_, _ = h.WriteString(header.Get(headerTime)) // a hash has no errors
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(data))))
	_, _ = h.Write(data[:min(len(data), sumBytes)])
	return h.Sum64()
}

// isThere tells whether a stream has the message, or retention has dropped it.
func (a acked) isThere(ctx context.Context, stream js.Stream) (bool, error) {
	return hasMessage(ctx, stream, a.seq, func(got *js.RawStreamMsg) bool { return sumOf(got.Header, got.Data) == a.sum })
}

// life is another number whenever the server may have been away: the connection was lost, or an append found nobody, for
// the stream may be kept by another server than the one that we are connected to.
func (x *watched) life() uint64 { return x.conn.Stats().Reconnects + x.away.Load() }

// acknowledge notes a message that was sent in a life of the server. Where that is over, nobody knows in which the
// acknowledgement came, and to which copy of the stream it belongs.
func (x *watched) acknowledge(a acked) error {
	if x.life() != a.life {
		return errors.New("acknowledged, but the server was away meanwhile: it may have lost it again")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.acked); n == 0 || x.keep || x.acked[n-1].life != a.life {
		x.acked, x.keep = append(x.acked[max(0, n+1-maxMarks):], a), false
	} else if a.seq > x.acked[n-1].seq {
		x.acked[n-1] = a
	}
	return nil
}

func (x *watched) acknowledged() []acked {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.acked)
}

// retainAcknowledged is called when the stream did not answer a poll: its server may have been away, be it another one than ours and
// nobody appending.
func (x *watched) retainAcknowledged() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.keep = true
}

// forget drops what a poll has found to be there: the next one compares with where the stream ended, which is behind it.
func (x *watched) forget(found []acked) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.acked = slices.DeleteFunc(x.acked, func(a acked) bool { return slices.Contains(found, a) })
}

// life is that of the server that an append is made in: one in this process has but one. While there is no connection it is
// none, or what is sent at this moment would come in the next.
func (h *health) life() (uint64, error) {
	if h.watched == nil {
		return 0, nil
	}
	if !h.watched.conn.IsConnected() {
		return 0, fmt.Errorf("no connection to a server: %w", nats.ErrDisconnected)
	}
	return h.watched.life(), nil
}

// acknowledge notes the last message of an append.
func (h *health) acknowledge(ack *js.PubAck, m *nats.Msg, life uint64) error {
	if h.watched == nil {
		return nil
	}
	return h.watched.acknowledge(acked{ack.Sequence, sumOf(m.Header, m.Data), life})
}

// unanswered is called when an append's messages were not answered.
func (h *health) unanswered() {
	if h.watched != nil {
		h.watched.away.Add(1)
	}
}
