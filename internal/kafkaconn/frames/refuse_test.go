package frames

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

var order = binary.BigEndian

// bombs is the answer to a fetch with a batch of two records that unpack to more than is accepted.
func bombs(t *testing.T) (answer, []byte) {
	half := make([]byte, maxUnpacked/2+1)
	a := fetched(protocol.RecordSet{Version: 2, Attributes: protocol.Attributes(compress.Gzip),
		Records: protocol.NewRecordReader(
			protocol.Record{Offset: 10, Value: protocol.NewBytes(half)}, protocol.Record{Offset: 11, Value: protocol.NewBytes(half)})})
	return a, a.frame(t)
}

// TestABombIsSteppedOver: of a batch that cannot be handed on there is one record, at its end, that says why.
func TestABombIsSteppedOver(t *testing.T) {
	a, frame := bombs(t)
	_, res, err := protocol.ReadResponse(send(t, a.request, frame), a.api, a.version)
	if err != nil {
		t.Fatal(err)
	}
	set := res.(*fetch.Response).Topics[0].Partitions[0].RecordSet.Records
	r, err := set.ReadRecord()
	if err != nil {
		t.Fatal(err)
	}
	if r.Offset%10 != 1 || r.Value != nil || len(r.Headers) != 1 || r.Headers[0].Key != Refused ||
		!strings.Contains(string(r.Headers[0].Value), "unpacks to more than") {
		t.Errorf("got %+v", r)
	}
	if _, err := set.ReadRecord(); err != io.EOF {
		t.Errorf("after it: %v", err)
	}
}

// TestADamagedBatchIsAskedForAgain: what was damaged on the way is not the producer's, and may be right the next time.
func TestADamagedBatchIsAskedForAgain(t *testing.T) {
	a, frame := bombs(t)
	frame[len(frame)-20] ^= 1
	if got, err := io.ReadAll(send(t, a.request, frame)); err == nil {
		t.Errorf("%d bytes are handed on", len(got))
	}
}

// TestReasonsAreCutToTheRoomThereIs, and a batch without room for any is not refused so.
func TestReasonsAreCutToTheRoomThereIs(t *testing.T) {
	for room, want := range map[int]bool{200: true, 40: true, 10: false} {
		b := make([]byte, atRecords+room)
		order.PutUint32(b[atChecksum:], crc32.Checksum(b[atAttributes:], castagnoli))
		if got := refuse(b, strings.Repeat("why ", 30)); got != want {
			t.Errorf("room for %d bytes: %v", room, got)
		} else if got && records(b[atRecords:], 1) != nil {
			t.Errorf("room for %d bytes: no record is there", room)
		}
	}
}
