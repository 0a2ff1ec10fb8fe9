package kafka_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"refrain/internal/devservers"
	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/kafka"
)

// TestRepetitive reads 400 MB that are the same again and again, of which a megabyte on the broker's disk is 255 unpacked,
// into memory that has no room for an answer of that. In the second part they come after what cannot be compressed, when
// the reader has begun to ask for much.
func TestRepetitive(t *testing.T) {
	same := bytes.Repeat([]byte("the same words again and again. "), 8000)
	other := make([]byte, len(same))
	_, _ = rand.NewChaCha8([32]byte{}).Read(other) // it has no errors
	for name, test := range map[string]struct {
		before int // records of other, in each partition
		mostMB uint64
	}{"from the start": {0, 150}, "suddenly": {16, 350}} {
		t.Run(name, func(t *testing.T) {
			x := MustOpenTopic(t, MustOpen(t, fake(t, 1).ListenAddrs()), func(c *kafka.TopicConfig) { c.Partitions = 8 })
			mustFill(t, x, other, test.before)
			mustFill(t, x, same, 192)
			r := conformance.MustOpen(t, x, make([]int64, 8)...)
			peak := peakOf(func() { mustDrain(t, r, 8*(test.before+192)) })
			if t.Logf("%d MB at most", peak/1_000_000); peak > test.mostMB*1_000_000 {
				t.Errorf("the heap had %d MB, want %d or less", peak/1_000_000, test.mostMB)
			}
		})
	}
}

// TestTurns: of two partitions that fill an answer each none is read before the other, though the broker that leads both of them
// leads none of their neighbours.
func TestTurns(t *testing.T) {
	f := fake(t, 2)
	x := MustOpenTopic(t, MustOpen(t, f.ListenAddrs()), func(c *kafka.TopicConfig) { c.Partitions = 8 })
	for p := range int32(8) {
		if err := f.MoveTopicPartition(x.Name(), p, min(p/2, 1)); err != nil {
			t.Fatal(err)
		}
	}
	const n = 40
	data := make([]byte, 250_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // it has no errors
	for range n {
		conformance.MustAppend(t, x, topic.Record{Partition: 0, Data: data}, topic.Record{Partition: 1, Data: data})
	}
	r := conformance.MustOpen(t, x, make([]int64, 8)...)
	var read [8]int
	for read[0] < n && read[1] < n {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			read[records[i].Partition]++
		}
	}
	if least := min(read[0], read[1]); least < n-5 {
		t.Errorf("of one all %d records are read, and of the other %d", n, least)
	}
}

// TestStoreAsksForMore: a store that is read from its beginning does not ask for each few of its values.
func TestStoreAsksForMore(t *testing.T) {
	f := fake(t, 1)
	c, name := MustOpen(t, f.ListenAddrs()), devservers.Name(t)
	first, err := c.OpenStore(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 20_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(value) // it has no errors
	const n = 200
	for i := range n {
		if err := first.Put(t.Context(), fmt.Sprint(i), value); err != nil {
			t.Fatal(err)
		}
	}
	var asked atomic.Int64
	f.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		f.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	second, err := MustOpen(t, f.ListenAddrs()).OpenStore(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Get(t.Context(), fmt.Sprint(n-1)); err != nil || !bytes.Equal(got, value) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got := asked.Load(); got > n/5 {
		t.Errorf("asked %d times for %d values of 20 KB", got, n)
	}
}

// mustFill appends n records to each partition, four in a batch.
func mustFill(t *testing.T, x topic.Topic, data []byte, n int) {
	t.Helper()
	for range n / 4 {
		var records []topic.Record
		for i := range 4 * x.Partitions() {
			records = append(records, topic.Record{Partition: i / 4, Data: data})
		}
		conformance.MustAppend(t, x, records...)
	}
}

// mustDrain fetches n records, and keeps none.
func mustDrain(t *testing.T, r topic.Reader, n int) {
	t.Helper()
	for n > 0 {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n -= len(records)
	}
}

// peakOf is how many bytes the heap had at most during f, beyond what it had before.
func peakOf(f func()) (peak uint64) {
	runtime.GC()
	before := heap()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for again := time.NewTicker(5 * time.Millisecond); ; {
			peak = max(peak, heap())
			select {
			case <-again.C:
			case <-stop:
				again.Stop()
				return
			}
		}
	})
	f()
	close(stop)
	wg.Wait()
	return peak - min(peak, before)
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
