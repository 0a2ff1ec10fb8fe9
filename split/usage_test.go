package split

import (
	"strings"
	"testing"

	"refrain/feed"
	"refrain/internal/quota"
	"refrain/topic"
)

// TestUsage: the sources of a batch share its bytes by what their sentences weigh, and what is left out is counted too.
func TestUsage(t *testing.T) {
	sentences := topic.NewMemory(topic.DefaultMemory())
	cfg := Default()
	cfg.Sentences = sentences
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const long = "These are quite enough words for a sentence of their own. "
	written, err := s.WriteFrom(t.Context(), "token:a", []feed.Post{
		{Source: "x", ID: "1", Text: strings.Repeat(long, 9)}, {Source: "y", ID: "2", Text: long + "Short."},
		{Source: "z", ID: "3", Text: "Short."},
	}, "http")
	if err != nil {
		t.Fatal(err)
	}
	r, err := sentences.OpenMemory(t.Context(), []int64{0})
	if err != nil {
		t.Fatal(err)
	}
	records, err := r.TryFetch(1000)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, r := range records {
		if r.Origin == "token:a" { // watermarks are nobody's
			size += int64(len(r.Data)) + recordOverhead
		}
	}
	used := written.BySource
	x, y, z := used["x"], used["y"], used["z"]
	if all := x.Bytes + y.Bytes + z.Bytes; all > size || all < size-3 || x.Bytes < 7*y.Bytes || z.Bytes == 0 {
		t.Errorf("bytes %d, %d, %d of %d", x.Bytes, y.Bytes, z.Bytes, size)
	}
	x.Bytes, y.Bytes, z.Bytes = 0, 0, 0
	if (x != quota.Usage{Posts: 1, Sentences: 9} || y != quota.Usage{Posts: 1, Sentences: 2} ||
		z != quota.Usage{Posts: 1, Sentences: 1}) {
		t.Errorf("got %+v, %+v, %+v", x, y, z)
	}
}
