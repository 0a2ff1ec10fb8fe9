package kafka

import (
	"encoding/binary"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/zeebo/xxh3"

	"refrain/topic"
)

// Headers of a record. Kafka's stamp has milliseconds; what is below stands beside it, in four bytes, little endian.
const (
	headerTrace  = "trace"
	headerOrigin = "origin"
	headerNanos  = "ns"
)

// encode makes a record for Kafka, with the stamp that it bears or else now.
func (t *Topic) encode(r *topic.Record, now time.Time) protocol.Record {
	stamp := r.Time
	if stamp.IsZero() {
		stamp = now
	}
	out := protocol.Record{Time: stamp, Value: protocol.NewBytes(notNil(r.Data))}
	if t.cfg.Compact {
		out.Key = protocol.NewBytes(contentKey(r.Data))
	}
	if r.Trace != "" {
		out.Headers = append(out.Headers, protocol.Header{Key: headerTrace, Value: []byte(r.Trace)})
	}
	if r.Origin != "" {
		out.Headers = append(out.Headers, protocol.Header{Key: headerOrigin, Value: []byte(r.Origin)})
	}
	if ns := stamp.Nanosecond() % int(time.Millisecond); ns != 0 {
		out.Headers = append(out.Headers, protocol.Header{Key: headerNanos, Value: binary.LittleEndian.AppendUint32(nil, uint32(ns))})
	}
	return out
}

// notNil is b, empty where it is nil: Kafka knows both, and drops what has nil in a compacted topic.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func contentKey(data []byte) []byte {
	h := xxh3.Hash128(data).Bytes()
	return h[:]
}

// encodedSize is about how many bytes a record takes, before compression.
func encodedSize(r *topic.Record) int { return len(r.Data) + len(r.Trace) + len(r.Origin) + 64 }

// received is a record as it was fetched.
type received struct {
	partition  int
	offset     int64
	time       time.Time
	key, value []byte // value is nil where Kafka has null
	headers    []protocol.Header
}

// decoded is the topic's record.
func (r *received) decoded() *topic.Record {
	out := topic.Record{Partition: r.partition, Position: r.offset, Time: r.time.UTC(), Data: r.value}
	for _, h := range r.headers {
		switch {
		case h.Key == headerTrace:
			out.Trace = string(h.Value)
		case h.Key == headerOrigin:
			out.Origin = string(h.Value)
		case h.Key == headerNanos && len(h.Value) == 4:
			out.Time = out.Time.Add(time.Duration(binary.LittleEndian.Uint32(h.Value) % uint32(time.Millisecond)))
		}
	}
	return &out
}

// size is how much memory the record takes.
func (r *received) size() int { return len(r.value) + len(r.key) + 128 }
