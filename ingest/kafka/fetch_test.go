package kafka

import (
	"testing"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// batch is a producer's, of the records at some offsets.
func batch(base int64, offsets ...int64) *protocol.RecordBatch {
	var records []protocol.Record
	for _, o := range offsets {
		records = append(records, protocol.Record{Offset: o, Value: protocol.NewBytes([]byte("x"))})
	}
	return &protocol.RecordBatch{BaseOffset: base, Records: protocol.NewRecordReader(records...)}
}

// TestWhereAFetchEnds: what compaction has taken away, up to whole batches, neither holds a reader up nor makes it
// skip what is there.
func TestWhereAFetchEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int64
		sets []protocol.RecordReader
		want []int64
		next int64
	}{
		{"nothing yet", 7, nil, nil, 7},
		{"begins before", 7, []protocol.RecordReader{batch(5, 5, 6, 7, 8)}, []int64{7, 8}, 9},
		{"gaps", 7, []protocol.RecordReader{batch(5, 5, 8), batch(20, 20, 22)}, []int64{8, 20, 22}, 23},
		{"the end of the batch is gone", 7, []protocol.RecordReader{batch(5, 5, 6)}, nil, 8},
		{"and another follows", 7, []protocol.RecordReader{batch(5, 5, 6), batch(20, 20)}, []int64{20}, 21},
		{"an empty batch", 7, []protocol.RecordReader{batch(7)}, nil, 8},
		{"an empty batch further on", 7, []protocol.RecordReader{batch(20)}, nil, 20},
		{"empty batches around", 7, []protocol.RecordReader{batch(5), batch(20), batch(30, 31), batch(40)}, []int64{31}, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFetched(&fetch.ResponsePartition{RecordSet: protocol.RecordSet{Records: &protocol.RecordStream{Records: c.sets}}}, c.at)
			var got []int64
			for {
				r, err := f.record(c.at)
				if err != nil {
					t.Fatal(err)
				}
				if r == nil {
					break
				}
				got = append(got, r.Offset)
			}
			if len(got) != len(c.want) || f.next != c.next {
				t.Fatalf("got %v and next %d, want %v and %d", got, f.next, c.want, c.next)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("got %v, want %v", got, c.want)
				}
			}
		})
	}
}
