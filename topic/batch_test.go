package topic_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"refrain/feed"
	"refrain/topic"
)

func exampleBatch() topic.Batch {
	s := feed.Sentence{
		Source: "x", Post: "p1", Time: 6, End: 3, Text: "a b",
		Tokens: []uint64{1, 2}, Sequence: 7, Version: 9, Coverage: 1,
	}
	for i := range s.Group {
		s.Group[i] = byte(0xa1 + i)
	}
	return topic.Batch{Sentences: []feed.Sentence{s},
		Watermark: &topic.Watermark{Writer: 8, Source: "x", Time: 5, Newest: 6}, TextVersion: 1}
}

// TestBatchExample holds the code to the worked example in batch.go.
func TestBatchExample(t *testing.T) {
	b := exampleBatch()
	want := "524202" + "0100" + "01" + "0800000000000000" + "000178" + "0a02" +
		"0100" + "01" + "00027031" + "0000" + "03" + "00" + "0900000000000000" +
		"000003" + "0003612062" + "0000803f" + "0700000000000000" +
		"a1a2a3a4a5a6a7a8a9aaabacadaeafb0" + "02" + "0100000000000000" + "0200000000000000"
	got := b.Append(nil)
	if body := hex.EncodeToString(got[:len(got)-8]); body != want {
		t.Errorf("got\n%s, want\n%s", body, want)
	}
	back, err := topic.DecodeBatch(got)
	if diff := cmp.Diff(b, back); err != nil || diff != "" {
		t.Errorf("error %v, difference %s", err, diff)
	}
}

func TestBatchAppendsBehindDst(t *testing.T) {
	b := exampleBatch()
	got := b.Append([]byte("before"))
	if want := "before" + string(b.Append(nil)); string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		back, err := topic.DecodeBatch(b.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestBatchDamaged flips, cuts and extends: the checksum must see all of it.
func TestBatchDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		data := b.Append(nil)
		damaged := bytes.Clone(data)
		switch rapid.IntRange(0, 2).Draw(t, "damage") {
		case 0:
			i := rapid.IntRange(0, len(data)-1).Draw(t, "byte")
			damaged[i] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		case 1:
			damaged = damaged[:rapid.IntRange(0, len(data)-1).Draw(t, "length")]
		case 2:
			damaged = append(damaged, 0)
		}
		_, err := topic.DecodeBatch(damaged)
		if !errors.Is(err, topic.ErrBatchCorrupt) && !errors.Is(err, topic.ErrBatchFormat) {
			t.Fatalf("got %v", err)
		}
	})
}

// TestBatchRefuses damages the record and seals it again, so that the checksum is right: each rule of the format
// has to hold by itself.
func TestBatchRefuses(t *testing.T) {
	b := exampleBatch()
	whole := b.Append(nil)
	good := whole[:len(whole)-8]
	set := func(i int, v ...byte) []byte {
		x := bytes.Clone(good)
		copy(x[i:], v)
		return x
	}
	nan := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	tests := []struct {
		name, want string
		body       []byte
	}{
		{"magic", `begin with "RB"`, set(0, 'X')},
		{"mark kind", "mark at byte 3: unknown kind 4", set(5, 4)},
		{"unknown flags", "sentence 0: flags at byte 18: unknown bits in 0x80", set(20, 0x80)},
		{"fields of the same post", "has no link and meta of its own", set(20, 8|32)},
		{"link ahead", "link at byte 36: string 5 of 3", slices.Insert(set(20, 32), 38, 5, 3)},
		{"no meta", "meta at byte 37: string 5 of 3", slices.Insert(set(20, 32), 38, 3, 5)},
		{"first of same post", "cannot be of the post before", set(20, 8)},
		{"reference ahead", "source at byte 19: string 9 of 1", set(21, 9)},
		{"long string", "post at byte 21: 127 of them", set(23, 127)},
		{"coverage above 1", "coverage at byte 47: 2 is not", set(46, 0, 0, 0, 0x40)},
		{"coverage NaN", "NaN is not", set(46, nan...)},
		{"too many tokens", "tokens at byte 72: 3 of them in 16 bytes", set(74, 3)},
		{"too few tokens", "end at byte 80: 8 bytes too many", set(74, 1)},
		{"equal tokens", "number 1 is not above", set(75, 2)},
		{"bytes behind", "1 bytes too many", append(bytes.Clone(good), 0)},
		{"endless varint", "no varint", append([]byte("RB\x02"), bytes.Repeat([]byte{0xff}, 30)...)},
		{"too many sentences", "sentences at byte 8", append([]byte("RB\x02\x01\x00\x00"), 0xff, 0xff, 0xff, 0xff, 0x07)},
		{"empty body", "text version at byte 0", []byte("RB\x02")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := topic.DecodeBatch(seal(test.body))
			if !errors.Is(err, topic.ErrBatchCorrupt) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestBatchOtherFormat: whoever meets a record of another format is told what to do.
func TestBatchOtherFormat(t *testing.T) {
	b := exampleBatch()
	data := b.Append(nil)
	for format, advice := range map[byte]string{1: "start with an empty data directory", 3: "start the version that wrote it"} {
		data[2] = format
		_, err := topic.DecodeBatch(data)
		if !errors.Is(err, topic.ErrBatchFormat) || errors.Is(err, topic.ErrBatchCorrupt) ||
			!strings.Contains(err.Error(), advice) {
			t.Errorf("format %d: got %v, want ErrBatchFormat and %q", format, err, advice)
		}
	}
}

var update = flag.Bool("update", false, "write the fixtures in testdata: only while their format is not released")

// TestBatchFixture: a record that was written once stays readable.
func TestBatchFixture(t *testing.T) {
	b, file := fixtureBatch(), filepath.Join("testdata", "batch-format2.bin")
	if *update {
		if err := os.WriteFile(file, b.Append(nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := topic.DecodeBatch(data)
	if diff := cmp.Diff(b, got); err != nil || diff != "" {
		t.Errorf("error %v, difference %s", err, diff)
	}
}

// fixtureBatch has everything that a record can have.
func fixtureBatch() topic.Batch {
	cut := feed.Sentence{
		Source: "x", Post: "p2", Author: "ann", Lang: "en", Time: 1_700_000_000_000, Index: 1, Start: 4, End: 9004,
		Text: "the beginning", TextCut: true, TimeAdjusted: true, Link: "https://example.org/p2", Meta: `{"followers":12}`,
		Tokens: []uint64{3, 1 << 63}, Group: feed.Hash{1, 2, 3}, Sequence: 8, Version: 10, Coverage: 0.5,
	}
	next := cut
	next.Index, next.TextCut, next.Repost, next.Text = 2, false, true, "the next"
	noLink := cut
	noLink.Post, noLink.Link, noLink.Untimed = "p3", "", true
	b := exampleBatch()
	b.TooShort = 3
	b.Watermark = &topic.Watermark{Writer: 1 << 63, Source: "y", Time: 7, Newest: 9, Idle: true}
	b.Sentences = append(b.Sentences, cut, next, noLink)
	return b
}

// TestBatchFieldsCost: sentences whose posts have no link and no meta spend nothing on them, and those of one post
// share them.
func TestBatchFieldsCost(t *testing.T) {
	size := func(change func(*feed.Sentence)) int {
		b := benchmarkBatch(2)
		for i := range b.Sentences {
			change(&b.Sentences[i])
		}
		return len(b.Append(nil))
	}
	none := size(func(*feed.Sentence) {})
	if got := size(func(s *feed.Sentence) { s.TextCut = true }); got != none {
		t.Errorf("cut texts: %d bytes, without %d", got, none)
	}
	const link, meta = "https://example.org/1", `{"a":1}`
	want := none + 2 + len(link) + 2 + len(meta)
	if got := size(func(s *feed.Sentence) { s.Link, s.Meta = link, meta }); got != want {
		t.Errorf("link and meta: %d bytes, want %d", got, want)
	}
}

func TestBatchAppendPanics(t *testing.T) {
	tests := map[string]func(*topic.Batch){
		"negative count":   func(b *topic.Batch) { b.TooShort = -1 },
		"end before start": func(b *topic.Batch) { b.Sentences[0].End = -1 },
		"unsorted tokens":  func(b *topic.Batch) { b.Sentences[0].Tokens = []uint64{2, 1} },
		"token twice":      func(b *topic.Batch) { b.Sentences[0].Tokens = []uint64{2, 2} },
		"coverage":         func(b *topic.Batch) { b.Sentences[0].Coverage = 1.5 },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil {
					t.Error("no panic")
				}
			}()
			b := exampleBatch()
			spoil(&b)
			b.Append(nil)
		})
	}
}

func FuzzDecodeBatch(f *testing.F) {
	for _, b := range []topic.Batch{{}, exampleBatch(), benchmarkBatch(3), fixtureBatch()} {
		data := b.Append(nil)
		f.Add(data)
		f.Add(data[:len(data)-8])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecoded(t, data)
		checkDecoded(t, seal(data)) // past the checksum
	})
}

func checkDecoded(t *testing.T, data []byte) {
	t.Helper()
	b, err := topic.DecodeBatch(data)
	if err != nil {
		return
	}
	again, err := topic.DecodeBatch(b.Append(nil))
	if diff := cmp.Diff(b, again); err != nil || diff != "" {
		t.Errorf("written and read again: error %v, difference %s", err, diff)
	}
}

func seal(body []byte) []byte {
	return binary.LittleEndian.AppendUint64(bytes.Clone(body), xxh3.Hash(body))
}

func drawBatch(t *rapid.T) topic.Batch {
	name := rapid.SampledFrom([]string{"", "x", "bluesky", "\xff\x00", "ü"})
	b := topic.Batch{TextVersion: rapid.IntRange(0, math.MaxInt32).Draw(t, "version"),
		TooShort: rapid.IntRange(0, 300).Draw(t, "short")}
	if rapid.Bool().Draw(t, "mark") {
		b.Watermark = &topic.Watermark{
			Writer: rapid.Uint64().Draw(t, "writer"), Source: name.Draw(t, "source"), Idle: rapid.Bool().Draw(t, "idle"),
			Time: feed.Time(rapid.Int64().Draw(t, "time")), Newest: feed.Time(rapid.Int64().Draw(t, "newest")),
		}
	}
	for range rapid.IntRange(0, 5).Draw(t, "sentences") {
		b.Sentences = append(b.Sentences, drawSentence(t, name))
	}
	return b
}

func drawSentence(t *rapid.T, name *rapid.Generator[string]) feed.Sentence {
	tokens := rapid.SliceOfNDistinct(rapid.Uint64(), 0, 6, rapid.ID).Draw(t, "tokens")
	if len(tokens) == 0 {
		tokens = nil
	}
	slices.Sort(tokens)
	start := rapid.IntRange(0, 1000).Draw(t, "start")
	return feed.Sentence{
		Source: name.Draw(t, "source"), Post: name.Draw(t, "post"), Author: name.Draw(t, "author"), Lang: name.Draw(t, "lang"),
		Time: feed.Time(rapid.Int64().Draw(t, "time")), Index: rapid.IntRange(0, 300).Draw(t, "index"),
		Start: start, End: start + rapid.IntRange(0, 1000).Draw(t, "length"), Text: rapid.String().Draw(t, "text"),
		Tokens: tokens, Group: feed.GroupHash(tokens), Sequence: rapid.Uint64().Draw(t, "sequence"),
		Version: rapid.Uint64Range(0, 2).Draw(t, "text hash"), Coverage: rapid.Float32Range(0, 1).Draw(t, "coverage"),
		Untimed: rapid.Bool().Draw(t, "untimed"), TimeAdjusted: rapid.Bool().Draw(t, "adjusted"),
		Repost:  rapid.Bool().Draw(t, "repost"),
		TextCut: rapid.Bool().Draw(t, "cut"), Converted: rapid.Bool().Draw(t, "converted"), Link: name.Draw(t, "link"), Meta: name.Draw(t, "meta"),
	}
}

// benchmarkBatch is n sentences of two in a post, 12 tokens each, as in a feed of short posts.
func benchmarkBatch(n int) topic.Batch {
	b := topic.Batch{TextVersion: 1, Watermark: &topic.Watermark{Source: "feed/0", Time: 1_700_000_000_000,
		Newest: 1_700_000_000_000}}
	for i := range n {
		tokens := make([]uint64, 12)
		for j := range tokens {
			tokens[j] = xxh3.HashString(fmt.Sprint(i, j))
		}
		slices.Sort(tokens)
		post := i / 2
		b.Sentences = append(b.Sentences, feed.Sentence{
			Source: "feed", Post: fmt.Sprint(1_000_000_000 + post), Author: fmt.Sprint("author", post%50), Lang: "en",
			Time: feed.Time(1_700_000_000_000 + 40*post), Index: i % 2, Start: 70 * (i % 2), End: 70*(i%2) + 70,
			Text:   fmt.Sprintf("sentence %06d, which is about as long as they are in such feeds.  ", i),
			Tokens: tokens, Group: feed.GroupHash(tokens), Sequence: uint64(i), Version: uint64(post), Coverage: 0.5,
		})
	}
	return b
}

func BenchmarkBatchAppend(b *testing.B) {
	batch := benchmarkBatch(250)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = batch.Append(out[:0])
	}
	report(b, len(out), len(batch.Sentences))
}

func BenchmarkBatchDecode(b *testing.B) {
	batch := benchmarkBatch(250)
	data := batch.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := topic.DecodeBatch(data); err != nil {
			b.Fatal(err)
		}
	}
	report(b, len(data), len(batch.Sentences))
}

func report(b *testing.B, size, sentences int) {
	b.SetBytes(int64(size))
	b.ReportMetric(float64(size)/float64(sentences), "bytes/sentence")
	b.ReportMetric(float64(sentences)*float64(b.N)/b.Elapsed().Seconds(), "sentences/s")
}

func BenchmarkGroupHash(b *testing.B) {
	batch := benchmarkBatch(1)
	b.ReportAllocs()
	for b.Loop() {
		feed.GroupHash(batch.Sentences[0].Tokens)
	}
}
