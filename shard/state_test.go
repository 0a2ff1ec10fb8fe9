package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"

	"refrain/topic"
)

func exampleState() State {
	s := State{Partition: 2, Look: []int64{0, 70, 1 << 40}, ReplayFrom: 12, Control: 3, Marks: newMarks(3)}
	s.Marks.meet(0, 100, &topic.Mark{Writer: 1, Source: "a", Time: 5, Newest: 50})
	s.Marks.meet(0, 101, &topic.Mark{Writer: 1 << 60, Source: "b", Time: -6, Newest: -6, Idle: true})
	s.Marks.meet(1, 200, &topic.Mark{Writer: 1, Source: "a", Time: 7, Newest: 60})
	s.Marks.meet(2, 300, &topic.Mark{Writer: 1, Source: "a", Time: 9, Newest: 9, Idle: true})
	s.Marks.clock, s.Marks.known, s.Marks.fresh = 4, true, false
	return s
}

var stateDiff = cmp.AllowUnexported(Marks{}, met{})

func TestStateRoundTrip(t *testing.T) {
	for _, want := range []State{exampleState(), {Look: []int64{0}, Marks: newMarks(1)}} {
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

// TestStateFixture: what a released program has stored stays readable. A new format gets a fixture of its own beside it.
func TestStateFixture(t *testing.T) {
	const file = "testdata/state-2"
	want := exampleState()
	if *update {
		if err := os.WriteFile(file, want.Append(nil), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeState(data)
	if diff := cmp.Diff(&want, got, stateDiff); err != nil || diff != "" {
		t.Errorf("error %v, difference %s", err, diff)
	}
	if !bytes.Equal(want.Append(nil), data) {
		t.Error("the same state is written otherwise: that is another format")
	}
}

var update = flag.Bool("update", false, "write testdata anew")

func TestStateOfFormat1(t *testing.T) {
	s := exampleState()
	data := s.Append(nil)
	data[2] = 1
	if _, err := DecodeState(data); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "empty data directory") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeState(f *testing.F) {
	for _, s := range []State{exampleState(), {Look: []int64{0}, Marks: newMarks(1)}} {
		data := s.Append(nil)
		f.Add(data)
		f.Add(data[:len(data)-8])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sealed := binary.LittleEndian.AppendUint64(bytes.Clone(data), xxh3.Hash(data))
		for _, b := range [][]byte{data, sealed} {
			s, err := DecodeState(b)
			if err != nil {
				if !errors.Is(err, ErrState) {
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
