package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"

	"refrain/topic"
)

func exampleState() State {
	s := State{Partition: 2, LookupFrom: []int64{0, 70, 1 << 40}, ReplayFrom: 12, Control: 3, Watermarks: newWatermarks(3),
		ObserveFrom: []observePoint{{}, {60, 123}, {1 << 39, 456}}}
	s.Watermarks.observe(0, 100, &topic.Watermark{Writer: 1, Source: "a", Time: 5, Newest: 50})
	s.Watermarks.observe(0, 101, &topic.Watermark{Writer: 1 << 60, Source: "b", Time: -6, Newest: -6, Idle: true})
	s.Watermarks.observe(1, 200, &topic.Watermark{Writer: 1, Source: "a", Time: 7, Newest: 60})
	s.Watermarks.observe(2, 300, &topic.Watermark{Writer: 1, Source: "a", Time: 9, Newest: 9, Idle: true})
	s.Watermarks.clock, s.Watermarks.known, s.Watermarks.fresh = 4, true, false
	s.EventEnd, s.SentenceTopic, s.EventTopic, s.ControlTopic = []int64{1 << 33, 0}, "ABC", "DEF", "GHI"
	return s
}

func emptyState() State {
	s := newState(0, []int64{0})
	s.EventEnd = []int64{}
	return *s
}

var stateDiff = cmp.AllowUnexported(Watermarks{}, watermark{}, observePoint{})

func TestStateRoundTrip(t *testing.T) {
	for _, want := range []State{exampleState(), emptyState()} {
		got, err := DecodeState(want.Append([]byte("head"))[4:])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got, stateDiff); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStateDamaged(t *testing.T) {
	s := exampleState()
	data := s.Append(nil)
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x40
		if _, err := DecodeState(damaged); !errors.Is(err, ErrState) {
			t.Errorf("byte %d changed: got %v", i, err)
		}
		if _, err := DecodeState(data[:i]); !errors.Is(err, ErrState) {
			t.Errorf("cut at %d: got %v", i, err)
		}
	}
}

// TestDecodeStateStops: after the first thing that is wrong nothing is made room for any more.
func TestDecodeStateStops(t *testing.T) {
	const writers = 10_000
	s := newState(0, make([]int64, 10_000))
	data := s.Append(nil)
	body := data[:len(data)-8-1-1-3] // without writers, ends and incarnations
	body = append(binary.AppendUvarint(body, writers), make([]byte, 8*writers)...)
	body[len(body)-8*writers+8] = 9 // no kind of watermark
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := DecodeState(binary.LittleEndian.AppendUint64(body, xxh3.Hash(body))); !errors.Is(err, ErrState) {
		t.Error(err)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 100*uint64(len(body)) {
		t.Errorf("%d bytes allocated for %d", after.TotalAlloc-before.TotalAlloc, len(body))
	}
}

func FuzzDecodeState(f *testing.F) {
	for _, s := range []State{exampleState(), *newState(0, []int64{0})} {
		data := s.Append(nil)
		f.Add(data)
		f.Add(data[:len(data)-8])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sealed := binary.LittleEndian.AppendUint64(bytes.Clone(data), xxh3.Hash(data))
		for _, b := range [][]byte{data, sealed} {
			s, err := DecodeState(b)
			if err != nil {
				if !errors.Is(err, ErrState) && !errors.Is(err, errStateFormat) {
					t.Errorf("got %v", err)
				}
				continue
			}
			again, err := DecodeState(s.Append(nil))
			if diff := cmp.Diff(s, again, stateDiff); err != nil || diff != "" {
				t.Errorf("written and read again: error %v, difference %s", err, diff)
			}
		}
	})
}
