package topic_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/topic"
)

func TestTombstonesRoundTrip(t *testing.T) {
	for _, want := range [][]feed.Tombstone{{}, {{Post: "p1"}},
		{{Source: "x", Post: "p\xff\x00"}, {Source: "ü"}, {Source: "x", Author: "a\xff"}}} {
		data := topic.AppendTombstones([]byte("head"), want)[4:]
		got, err := topic.DecodeTombstones(data)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("error %v, difference %s", err, diff)
		}
	}
}

// TestTombstoneFixtures: what was written once stays readable.
func TestTombstoneFixtures(t *testing.T) {
	want := []feed.Tombstone{{Source: "x", Post: "p1"}, {Source: "bluesky", Author: "did:plc:abc"}}
	data, err := os.ReadFile("testdata/control-2.golden")
	if err != nil {
		t.Fatal(err)
	}
	got, err := topic.DecodeTombstones(data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, difference %s", err, diff)
	}
	if diff := cmp.Diff(data, topic.AppendTombstones(nil, want)); diff != "" {
		t.Errorf("written otherwise than before: %s", diff)
	}
}

func TestTombstonesOfFormat1(t *testing.T) {
	_, err := topic.DecodeTombstones(seal([]byte("RT\x01\x00")))
	if !errors.Is(err, topic.ErrTombstones) || !strings.Contains(err.Error(), "empty data directory") {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodeTombstones(f *testing.F) {
	data := topic.AppendTombstones(nil, []feed.Tombstone{{Source: "x", Post: "p1"}, {Post: "p2"}, {Author: "a"}})
	f.Add(data)
	f.Add(data[:len(data)-8])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, b := range [][]byte{data, seal(data)} {
			got, err := topic.DecodeTombstones(b)
			if err != nil {
				if !errors.Is(err, topic.ErrTombstones) {
					t.Errorf("got %v", err)
				}
				continue
			}
			again, err := topic.DecodeTombstones(topic.AppendTombstones(nil, got))
			if diff := cmp.Diff(got, again); err != nil || diff != "" {
				t.Errorf("written and read again: error %v, difference %s", err, diff)
			}
		}
	})
}
