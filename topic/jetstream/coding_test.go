package jetstream_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"refrain/topic"
	"refrain/topic/conformance"
	"refrain/topic/jetstream"
)

var codings = []jetstream.Coding{jetstream.Plain, jetstream.S2, jetstream.Zstd}

// TestCodings writes with each coding and reads with each other one what compresses well, not at all, and is too large:
// everything comes back as it was, and a topic that compresses takes less.
func TestCodings(t *testing.T) {
	noise := make([]byte, 5000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	want := []topic.Record{
		{Data: []byte{}}, {Data: []byte("short")}, {Data: noise}, {Data: bytes.Repeat([]byte("ja wohl "), 5000)},
		{Data: make([]byte, 1<<20)}, {Data: make([]byte, 1<<20+1)},
	}
	sizes := map[jetstream.Coding]int64{}
	for _, packed := range []bool{false, true} {
		for _, wrote := range codings {
			s := MustStart(t)
			x := MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.Packed, c.Coding = packed, wrote })
			conformance.MustAppend(t, x, want...)
			size, err := x.Size(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sizes[wrote] = size.Bytes
			for _, reads := range codings {
				y := MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.Packed, c.Coding = packed, reads })
				got := conformance.MustFetch(t, conformance.MustOpen(t, y, 0, -1, -1), len(want))
				for i := range want {
					if !bytes.Equal(want[i].Data, got[i].Data) {
						t.Errorf("packed %v, written with %q, read with %q: record %d of %d bytes has %d", packed, wrote, reads, i,
							len(want[i].Data), len(got[i].Data))
					}
				}
			}
		}
		// All but the noise and the record above the limit is next to nothing.
		for _, c := range codings[1:] {
			if saved := sizes[jetstream.Plain] - sizes[c]; saved < 1<<20+30_000 {
				t.Errorf("packed %v: %q saves %d bytes of %d", packed, c, saved, sizes[jetstream.Plain])
			}
		}
	}
}

// bombs are messages of a few bytes that claim, or are, more than a record may be; and such as are damaged.
func bombs(tb testing.TB) map[string][2]string {
	tb.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	large := make([]byte, 1<<20+1)
	claims := binary.AppendUvarint(nil, 1<<31)
	valid := string(s2.Encode(nil, make([]byte, 1000)))
	streamed := &bytes.Buffer{} // a frame that does not say its size
	w, err := zstd.NewWriter(streamed)
	if err != nil {
		tb.Fatal(err)
	}
	for range 64 {
		if _, err := w.Write(large); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return map[string][2]string{
		"s2, a byte too many":     {"s2", string(s2.Encode(nil, large))},
		"s2, claims 2 GiB":        {"s2", string(claims) + "\x00"},
		"s2, claims 2^70":         {"s2", strings.Repeat("\xff", 10) + "\x01"},
		"s2, cut":                 {"s2", valid[:len(valid)-1]},
		"s2, empty":               {"s2", ""},
		"zstd, a byte too many":   {"zstd", string(e.EncodeAll(large, nil))},
		"zstd, 64 MiB in a frame": {"zstd", streamed.String()},
		"zstd, claims 2^60":       {"zstd", "\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x10\x01\x00\x00"},
		"zstd, two frames":        {"zstd", strings.Repeat(string(e.EncodeAll(large[:1<<20], nil)), 3)},
		"zstd, no frame":          {"zstd", "{}"},
	}
}

// TestBombs: a message that claims more than a record may be is never decompressed to it. The reader names it and hands it
// on as it is, for the reader of the records to leave out, and goes on.
func TestBombs(t *testing.T) {
	s := MustStart(t)
	var log bytes.Buffer
	x := MustOpenTopic(t, s, func(c *jetstream.TopicConfig) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	r := conformance.MustOpen(t, x, 0, 0, 0)
	position := int64(0)
	for name, bomb := range bombs(t) {
		if err := s.PublishCoded("sentences.1", bomb[0], bomb[1]); err != nil {
			t.Fatal(err)
		}
		position++
		if got := conformance.MustFetch(t, r, 1); string(got[0].Data) != bomb[1] {
			t.Errorf("%s: handed on as %d bytes of %d", name, len(got[0].Data), len(bomb[1]))
		}
		if want := fmt.Sprintf("topic=sentences position=%d", position); !strings.Contains(log.String(), want) {
			t.Errorf("%s: the log does not say %q: %s", name, want, log.String())
		}
		header := "NATS/1.0\r\nRefrain-Coding: " + bomb[0] + "\r\n\r\n"
		if _, err := jetstream.Unpack([]byte(header), []byte(bomb[1])); err == nil {
			t.Errorf("%s: offline it is no error", name)
		}
	}
}

// TestNewerCoding: data in a coding that this version does not know is not damaged, and not left out: reading stops with
// what to do.
func TestNewerCoding(t *testing.T) {
	s := MustStart(t)
	x := MustOpenTopic(t, s)
	if err := s.PublishCoded("sentences.1", "s9", "data"); err != nil {
		t.Fatal(err)
	}
	_, err := conformance.MustOpen(t, x, 0, 0, 0).Fetch(t.Context())
	if err == nil || !strings.Contains(err.Error(),
		`message 1: unknown coding "s9": it is of a newer version: start the version that wrote it`) {
		t.Errorf("got %v", err)
	}
}

// TestUnknownCodingConfigured: a topic is not opened with a coding that nobody could read.
func TestUnknownCodingConfigured(t *testing.T) {
	_, err := MustStart(t).OpenTopic(t.Context(), topicConfig(func(c *jetstream.TopicConfig) { c.Coding = "lz4" }))
	if err == nil || errors.Is(err, topic.ErrFull) || !strings.Contains(err.Error(), `unknown coding "lz4"`) {
		t.Errorf("got %v", err)
	}
}

// FuzzUnpack: any stored message gives records of at most the limit, or an error.
func FuzzUnpack(f *testing.F) {
	for _, bomb := range bombs(f) {
		f.Add(bomb[0], "", []byte(bomb[1]))
		f.Add(bomb[0], "2", []byte(bomb[1]))
	}
	f.Add("s2", "", s2.Encode(nil, []byte(strings.Repeat("text ", 100))))
	f.Add("", "2", []byte("\x00\x01a\x00\x01b"))
	f.Fuzz(func(t *testing.T, coding, packed string, data []byte) {
		header := "NATS/1.0\r\nRefrain-Coding: " + coding + "\r\nRefrain-Packed: " + packed + "\r\n\r\n"
		records, err := jetstream.Unpack([]byte(header), data)
		if err != nil {
			return
		}
		total := 0
		for _, r := range records {
			total += len(r)
		}
		if total > max(1<<20, len(data)) {
			t.Errorf("%d bytes out of %d", total, len(data))
		}
	})
}

// TestCodedResumes goes on behind every record of a packed and compressed topic.
func TestCodedResumes(t *testing.T) {
	x := MustOpenTopic(t, MustStart(t), func(c *jetstream.TopicConfig) { c.Packed, c.Coding = true, jetstream.Zstd })
	want := packable(100)
	for i := range want {
		want[i].Data = fmt.Appendf(nil, "%d %s", i, strings.Repeat("the same words ", 20))
	}
	conformance.MustAppend(t, x, want...)
	all := conformance.MustFetch(t, conformance.MustOpen(t, x, 0, 0, 0), len(want))
	for i := range all {
		want[i].Position = all[i].Position
		rest := conformance.MustFetch(t, conformance.MustOpen(t, x, -1, all[i].Position, -1), len(all)-i)
		if !reflect.DeepEqual(all[i:], rest) { // cmp takes a hundred times as long
			t.Fatalf("from record %d on: %s", i, cmp.Diff(all[i:], rest))
		}
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}
