package frames

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/apiversions"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/segmentio/kafka-go/protocol/joingroup"
	"github.com/segmentio/kafka-go/protocol/metadata"
	"github.com/segmentio/kafka-go/protocol/offsetfetch"
	"github.com/segmentio/kafka-go/protocol/syncgroup"

	"refrain/internal/wirecheck"
)

// answer is one that a broker gives.
type answer struct {
	request
	message protocol.Message
}

func someRecords(n int, how compress.Compression) protocol.RecordSet {
	var all []protocol.Record
	for range n {
		all = append(all, protocol.Record{
			Time: time.UnixMilli(1e12), Key: protocol.NewBytes([]byte("key")),
			Value:   protocol.NewBytes(bytes.Repeat([]byte("value "), 20)),
			Headers: []protocol.Header{{Key: "trace", Value: []byte("abc")}},
		})
	}
	return protocol.RecordSet{Version: 2, Attributes: protocol.Attributes(how), Records: protocol.NewRecordReader(all...)}
}

func fetched(set protocol.RecordSet) answer {
	return answer{request{protocol.Fetch, 11}, &fetch.Response{Topics: []fetch.ResponseTopic{{Topic: "posts",
		Partitions: []fetch.ResponsePartition{{AbortedTransactions: []fetch.ResponseTransaction{{ProducerID: 7}},
			RecordSet: set}}}}}}
}

// answers are proper: of each way in which lengths are written, and of each compression.
func properAnswers() []answer {
	old := someRecords(3, compress.None)
	old.Version = 1
	all := []answer{
		{request{protocol.ApiVersions, 0}, &apiversions.Response{ApiKeys: []apiversions.ApiKeyResponse{{ApiKey: 3,
			MaxVersion: 8}}}},
		{request{protocol.Metadata, 8}, &metadata.Response{Brokers: []metadata.ResponseBroker{{Host: "a", Port: 9092}},
			ClusterID: "c",
			Topics: []metadata.ResponseTopic{{Name: "posts",
				Partitions: []metadata.ResponsePartition{{ReplicaNodes: []int32{1, 2}, IsrNodes: []int32{1}}}}}}},
		{request{protocol.JoinGroup, 7}, &joingroup.Response{ProtocolName: "range", LeaderID: "a", MemberID: "a",
			Members: []joingroup.ResponseMember{{MemberID: "a"}}}},
		{request{protocol.JoinGroup, 1}, &joingroup.Response{ProtocolName: "range", LeaderID: "a", MemberID: "a",
			Members: []joingroup.ResponseMember{{MemberID: "a",
				Metadata: []byte("\x00\x01\x00\x00\x00\x01\x00\x05posts\x00\x00\x00\x00")}}}},
		{request{protocol.SyncGroup, 0},
			&syncgroup.Response{Assignments: []byte("\x00\x01\x00\x00\x00\x01\x00\x05posts\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00")}},
		{request{protocol.OffsetFetch, 5}, &offsetfetch.Response{Topics: []offsetfetch.ResponseTopic{{Name: "posts",
			Partitions: []offsetfetch.ResponsePartition{{CommittedOffset: 9}}}}}},
		fetched(old),
	}
	for how := compress.None; how <= compress.Zstd; how++ {
		all = append(all, fetched(someRecords(5, how)))
	}
	return all
}

func (a answer) frame(tb testing.TB) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := protocol.WriteResponse(&b, a.version, 1, a.message); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// wire is a connection on which a broker answers request 1.
type wire struct {
	net.Conn
	io.Reader
}

func (w wire) Read(p []byte) (int, error)  { return w.Reader.Read(p) }
func (w wire) Write(p []byte) (int, error) { return len(p), nil }
func (w wire) RemoteAddr() net.Addr        { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092} }

// send makes the request, and returns the connection with the answer on it.
func send(tb testing.TB, r request, frame []byte) *Conn {
	tb.Helper()
	var asked []string
	c := Wrap(wire{Reader: bytes.NewReader(frame)}, func(request string) { asked = append(asked, request) }, func(error) {})
	head := binary.BigEndian.AppendUint32(nil, 8+100)
	head = binary.BigEndian.AppendUint16(head, uint16(r.api))
	head = binary.BigEndian.AppendUint16(head, uint16(r.version))
	head = binary.BigEndian.AppendUint32(head, 1)
	for _, piece := range [][]byte{head[:5], head[5:], make([]byte, 100)} {
		if _, err := c.Write(piece); err != nil {
			tb.Fatal(err)
		}
	}
	if len(asked) != 1 || asked[0] != r.api.String() {
		tb.Errorf("told of %v, asked for %s", asked, r.api)
	}
	return c
}

func TestProperAnswersPass(t *testing.T) {
	for _, a := range properAnswers() {
		frame := a.frame(t)
		got, err := io.ReadAll(send(t, a.request, frame))
		if err != nil || !bytes.Equal(got, frame) {
			t.Errorf("%s v%d: %d of %d bytes pass, %v", a.api, a.version, len(got), len(frame), err)
		}
	}
}

// TestImproperAnswersAreRefused: each is a proper answer with one number changed.
func TestImproperAnswersAreRefused(t *testing.T) {
	const topics = 4 + 4 + 4 // of metadata, behind the throttle: how many brokers there are
	batchAt := bytes.Index(fetched(someRecords(1, compress.None)).frame(t), []byte("\xff\xff\xff\xff\x02")) - 12
	for name, test := range map[string]struct {
		answer
		at     int
		value  int32
		reason string
	}{
		"frame of -5":          {properAnswers()[0], 0, -5, "an answer of -5 bytes"},
		"frame of 2 GB":        {properAnswers()[0], 0, 1<<31 - 1, "limit"},
		"another request":      {properAnswers()[0], 4, 2, "not made"},
		"2·10⁹ versions":       {properAnswers()[0], 10, 1<<31 - 1, "array"},
		"2·10⁹ brokers":        {properAnswers()[1], topics, 1<<31 - 1, "array"},
		"batch of -5 bytes":    {fetched(someRecords(1, compress.None)), batchAt + atLength, -5, "batch of records of -5"},
		"2·10⁹ records":        {fetched(someRecords(1, compress.None)), batchAt + atCount, 1<<31 - 1, "records in"},
		"-1 records":           {fetched(someRecords(1, compress.None)), batchAt + atCount, -1, "records in"},
		"2·10⁹ packed records": {fetched(someRecords(1, compress.Zstd)), batchAt + atCount, 1<<31 - 1, "records in"},
		"version 9":            {fetched(someRecords(1, compress.None)), batchAt + 13, 9, "version 9"},
		"unknown compression":  {fetched(someRecords(1, compress.None)), batchAt + 19, 7, "does not exist"},
	} {
		frame := test.frame(t)
		binary.BigEndian.PutUint32(frame[test.at:], uint32(test.value))
		_, err := io.ReadAll(send(t, test.request, frame))
		if !wirecheck.Is(err) || !strings.Contains(err.Error(), test.reason) || len(err.Error()) > 300 {
			t.Errorf("%s: %v, want %q in it", name, err, test.reason)
		}
	}
}

// TestBombsAreNotUnpacked: 2 GB in a few kilobytes.
func TestBombsAreNotUnpacked(t *testing.T) {
	for how := compress.Gzip; how <= compress.Zstd; how++ {
		packed := bomb(t, how)
		before := allocated()
		err := unpack(uint16(how), packed, func([]byte) error { return nil })
		if err == nil {
			t.Errorf("%s: a bomb of %d bytes was unpacked", how, len(packed))
		}
		// a buffer that doubles, and is copied each time; more so under the race detector
		if n := allocated() - before; n > 10*maxUnpacked {
			t.Errorf("%s: %d bytes allocated", how, n)
		}
	}
}

// bomb packs more than is accepted.
func bomb(t *testing.T, how compress.Compression) []byte {
	t.Helper()
	var out bytes.Buffer
	w := how.Codec().NewWriter(&out)
	zeros := make([]byte, 1<<20)
	for range maxUnpacked/len(zeros) + 1 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestClaimsAreNotAllocated: a header that says how much room to make.
func TestClaimsAreNotAllocated(t *testing.T) {
	before := allocated()
	for how, claim := range map[compress.Compression][]byte{
		compress.Snappy: append(append([]byte{}, "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"...), "\xff\xff\xff\xffx"...),
		compress.Zstd:   {0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0}, // a window of 2 TB
	} {
		if err := unpack(uint16(how), claim, func([]byte) error { return nil }); err == nil {
			t.Errorf("%s: %x was unpacked", how, claim)
		}
	}
	if err := unpack(uint16(compress.Snappy), binary.AppendUvarint(nil, 1<<32-1),
		func([]byte) error { return nil }); err == nil {
		t.Error("a block of 4 GB was unpacked")
	}
	if n := allocated() - before; n > 64<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// FuzzAnswers: whatever is let through, the library reads without a panic, and without much memory.
func FuzzAnswers(f *testing.F) {
	proper := properAnswers()
	for i, a := range proper {
		f.Add(uint8(i), a.frame(f))
	}
	f.Fuzz(func(t *testing.T, kind uint8, frame []byte) {
		r := proper[int(kind)%len(proper)].request
		passed, err := io.ReadAll(send(t, r, frame))
		if err != nil || len(passed) == 0 {
			return
		}
		before := allocated()
		_, m, err := protocol.ReadResponse(bytes.NewReader(passed), r.api, r.version)
		if res, ok := m.(*fetch.Response); ok && err == nil {
			drain(res)
		}
		if n := allocated() - before; n > 64<<20 {
			t.Errorf("the library allocates %d bytes for an answer of %d", n, len(passed))
		}
	})
}

// drain reads records as ingest does.
func drain(res *fetch.Response) {
	for _, topic := range res.Topics {
		for _, p := range topic.Partitions {
			if p.RecordSet.Records == nil {
				continue
			}
			for r, err := p.RecordSet.Records.ReadRecord(); err == nil; r, err = p.RecordSet.Records.ReadRecord() {
				if r.Value != nil {
					_, _ = protocol.ReadAll(r.Value) // it is the reading that must not end the process
				}
			}
		}
	}
}

// BenchmarkFetch is what the check of records costs: 1,000 records of 130 bytes.
func BenchmarkFetch(b *testing.B) {
	for _, how := range []compress.Compression{compress.None, compress.Lz4, compress.Zstd} {
		b.Run(how.String(), func(b *testing.B) {
			a := fetched(someRecords(1000, how))
			body := a.frame(b)[headBytes:]
			for b.Loop() {
				if err := a.check(body); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/record")
		})
	}
}
