package jetstream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
)

// The headers of a message. The stamp is the writer's clock in nanoseconds since 1970; packed is the number of records.
const (
	headerTime   = "Refrain-Time"
	headerTrace  = "Traceparent"
	headerOrigin = "Refrain-Origin"
	headerPacked = "Refrain-Packed"
)

// A packed topic puts up to maxPacked records that are appended one behind the other into a message of up to
// packedBytes: a message of its own for an event of a kilobyte costs the server and the client more than all else that
// is done for the event.
const (
	packedBits  = 5
	maxPacked   = 1 << packedBits
	packedBytes = 64 << 10
)

// A message of a packed topic has maxPacked positions, of which its records take the last ones: so the position after
// a message's last record is the first of the next message, however many records there are, and a topic that was
// written without packing can be read with it.

// position is that of a record in the message at seq, with so many records behind it.
func (t *Topic) position(seq uint64, behind int) int64 { return t.begin(seq+1) - 1 - int64(behind) }

// begin is the first position of the message at seq.
func (t *Topic) begin(seq uint64) int64 { return int64(seq) << t.bits() }

// sequence is the message that a position belongs to.
func (t *Topic) sequence(position int64) int64 { return position >> t.bits() }

func (t *Topic) bits() int {
	if t.cfg.Packed {
		return packedBits
	}
	return 0
}

// together is how many of the first records go into one message: they share what is said once in it. Who has an origin
// goes alone: events have none.
func (t *Topic) together(records []topic.Record) int {
	if !t.cfg.Packed || records[0].Origin != "" {
		return 1
	}
	first, room := &records[0], min(packedBytes, int(t.js.Conn().MaxPayload())/2)
	for i := range records {
		r := &records[i]
		room -= len(r.Data)
		if i > 0 && (i == maxPacked || room < 0 || r.Partition != first.Partition || !r.Time.Equal(first.Time) || r.Origin != "") {
			return i
		}
	}
	return len(records)
}

// message makes the message of records that go together.
func (t *Topic) message(records []topic.Record, now time.Time) *nats.Msg {
	first := &records[0]
	if !first.Time.IsZero() {
		now = first.Time
	}
	m := &nats.Msg{Subject: t.subject(first.Partition),
		Header: nats.Header{headerTime: {strconv.FormatInt(now.UnixNano(), 10)}}}
	if len(records) > 1 {
		m.Header[headerPacked] = []string{strconv.Itoa(len(records))}
		m.Data = pack(records)
	} else {
		if first.Trace != "" {
			m.Header[headerTrace] = []string{first.Trace}
		}
		if first.Origin != "" {
			m.Header[headerOrigin] = []string{first.Origin}
		}
		m.Data = first.Data
	}
	encode(m, t.cfg.Coding)
	return m
}

// pack writes of each record the trace and the data, each behind its length as a uvarint.
func pack(records []topic.Record) []byte {
	size := 0
	for i := range records {
		size += len(records[i].Trace) + len(records[i].Data) + 2*binary.MaxVarintLen32
	}
	b := make([]byte, 0, size)
	for i := range records {
		b = append(binary.AppendUvarint(b, uint64(len(records[i].Trace))), records[i].Trace...)
		b = append(binary.AppendUvarint(b, uint64(len(records[i].Data))), records[i].Data...)
	}
	return b
}

// unpack reads what pack wrote, of n records; it is false for anything else, and where n is 1.
func unpack(b []byte, n int) (records []topic.Record, ok bool) {
	for range n {
		trace, rest, ok := nextPiece(b)
		if !ok {
			return nil, false
		}
		data, rest, ok := nextPiece(rest)
		if !ok {
			return nil, false
		}
		records, b = append(records, topic.Record{Trace: string(trace), Data: data}), rest
	}
	return records, n > 1 && len(b) == 0
}

// nextPiece reads one piece of b, which stands behind its length.
func nextPiece(b []byte) (piece, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	b = b[size:]
	return b[:n:n], b[n:], true
}

// records reads a message. One without our stamp (somebody else wrote it) has the server's time.
func (t *Topic) records(m js.Msg, meta *js.MsgMetadata) ([]topic.Record, error) {
	seq := meta.Sequence.Stream
	partition, err := strconv.Atoi(strings.TrimPrefix(m.Subject(), t.cfg.Name+"."))
	if err != nil || partition < 0 || partition >= t.cfg.Partitions {
		return nil, fmt.Errorf("read topic %s: message %d: subject %q names none of the %d partitions",
			t.cfg.Name, seq, m.Subject(), t.cfg.Partitions)
	}
	data, err := decode(m.Headers(), m.Data())
	switch {
	case errors.Is(err, errNewerCoding):
		return nil, fmt.Errorf("read topic %s: message %d: %w", t.cfg.Name, seq, err)
	case err != nil:
		t.cfg.Logger.Error("message cannot be decompressed, handed on as it is", "topic", t.cfg.Name, "position",
			t.begin(seq), "error", err)
		data = m.Data()
	}
	records, ok := unpack(data, t.packed(m.Headers()))
	if !ok { // one record: whoever reads it says that it is none, and goes on
		records = []topic.Record{{Trace: m.Headers().Get(headerTrace), Origin: m.Headers().Get(headerOrigin), Data: data}}
	}
	at := stamp(m, meta)
	for i := range records {
		records[i].Partition, records[i].Position, records[i].Time = partition, t.position(seq, len(records)-1-i), at
	}
	return records, nil
}

// packed is the number of records of a message: 1 unless it says otherwise. More than fit would take the positions of
// the message before, as would several in a topic that is not packed; whoever wrote that did not write it for us.
func (t *Topic) packed(h nats.Header) int {
	n, err := strconv.Atoi(h.Get(headerPacked))
	if err != nil || n < 1 || n > 1<<t.bits() {
		return 1
	}
	return n
}

func stamp(m js.Msg, meta *js.MsgMetadata) time.Time {
	ns, err := strconv.ParseInt(m.Headers().Get(headerTime), 10, 64)
	if err != nil {
		return meta.Timestamp.UTC()
	}
	return time.Unix(0, ns).UTC()
}
