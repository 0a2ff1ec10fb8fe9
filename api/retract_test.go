package api

import (
	"encoding/json"
	"fmt"
	"testing"

	"refrain/feed"
)

// TestRetractionOfWhatIsNotThere: hundreds of posts a second may be deleted that nothing here shows. None of them has
// all that is here decoded.
func TestRetractionOfWhatIsNotThere(t *testing.T) {
	tail := &Tail{size: 500}
	for i := range tail.size {
		tail.apply(eventOf(fmt.Sprint(i)))
	}
	gone := retractionOf(t, "nowhere")
	if n := testing.AllocsPerRun(10, func() { tail.apply(gone) }); n > 100 {
		t.Errorf("%v allocations for one deletion", n)
	}
	if len(tail.ring) != tail.size {
		t.Errorf("%d events left of %d", len(tail.ring), tail.size)
	}
}

// TestRetractionOfOddNames: what is written with escapes is found as well.
func TestRetractionOfOddNames(t *testing.T) {
	for _, name := range []string{"plain", `"`, "a/b", "<&>", "\x00\n", "é", "\u2028", "\xff", "😀"} {
		tail := &Tail{size: 500}
		tail.apply(eventOf("other"))
		tail.apply(eventOf(name))
		if tail.apply(retractionOf(t, name)); len(tail.ring) != 1 {
			t.Errorf("%q: %d events left, want that of the other post", name, len(tail.ring))
		}
	}
}

func eventOf(post string) []byte {
	m := feed.Match{Later: feed.Occurrence{Post: post}}
	return m.AppendEvent(nil, "d")
}

func retractionOf(t *testing.T, post string) []byte {
	name, err := json.Marshal(post) // with other escapes than AppendEvent
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"type":%q,"data":{"source":"","post":%s}}`, feed.RetractedType, name)
}
