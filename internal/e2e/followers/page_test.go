package followers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// TestPageSaysTheSameOfAnEvent: as it comes, and where it stands when the page is loaded, with the measure that decided.
func TestPageSaysTheSameOfAnEvent(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server and a browser")
	}
	for measure, want := range map[string]string{"jaccard": "63 % the same words ·", "dice": "77 % by dice, 63 % the same words ·"} {
		t.Run(measure, func(t *testing.T) {
			p := e2e.New(t, "REFRAIN_WINDOW_MEASURE="+measure, "REFRAIN_WINDOW_THRESHOLD=0.6")
			f := newFront(t, p.URL(""))
			p.Start()
			chromium(t, f.URL+"/")
			f.next("")
			p.Await(time.Minute, "the page", func() bool { return f.all(opened(1)) })
			var lines [][]byte
			for i, text := range []string{"one two three four five six seven eight", "one two three four five"} {
				lines = append(lines, fmt.Appendf(nil, `{"id":"%d","text":"%s"}`+"\n", i, text))
			}
			p.Feed(lines, 2, func(int) {})
			says := func(s follow) bool { return len(s.About) == 1 && strings.HasPrefix(s.About[0], want) }
			p.Await(time.Minute, "the event live: "+want, func() bool { return f.all(says) })
			live := f.latest()[0].About[0]
			f.next("") // has the page loaded anew: now it stands in it
			p.Await(time.Minute, "the page again", func() bool { return f.all(opened(1)) })
			if loaded := f.latest()[0].About[0]; loaded != live {
				t.Errorf("the page says %q, and said %q", loaded, live)
			}
		})
	}
}
