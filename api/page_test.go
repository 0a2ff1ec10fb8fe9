package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"refrain/api"
	"refrain/feed"
	"refrain/topic"
)

func TestPageEscapesWhatPostsSay(t *testing.T) {
	evil := `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	m := feed.Match{
		Jaccard: 1, Later: feed.Occurrence{Text: evil, Author: evil, Post: evil}, Earlier: feed.Occurrence{Text: "earlier words"},
	}
	page := pageOf(t, m)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
		t.Error("the words of a post became part of the page")
	}
	if !strings.Contains(page, "earlier words") || !strings.Contains(page, "&lt;/script&gt;") {
		t.Errorf("the event is not shown:\n%s", page)
	}
	if !strings.Contains(page, `addEventListener("dev.refrain.reuse.v1"`) {
		t.Error("the page does not listen for the events' type")
	}
	for _, outside := range []string{"http://", "https://", "//cdn"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page names an outside resource: %s", outside)
		}
	}
}

// TestPageLinks: a later post can be clicked if its link leads to the web, and nothing else.
func TestPageLinks(t *testing.T) {
	for link, want := range map[string]string{
		"":                         "",
		"https://x.com/a/status/1": `href="https://x.com/a/status/1" rel="noopener noreferrer"`,
		"http://x.com/?a=1&b=%22":  `href="http://x.com/?a=1&amp;b=%22" rel="noopener noreferrer"`,
		`https://x.com/"><script>alert(1)</script>`: `href="https://x.com/%22%3e%3cscript%3ealert%281%29%3c/script%3e" rel=`,
		"javascript:alert(1)":                       "",
		" javascript:alert(1)":                      "",
		"data:text/html,x":                          "",
		"//x.com/1":                                 "",
	} {
		page := pageOf(t, feed.Match{Later: feed.Occurrence{Post: "1", Text: "later words", Link: link}})
		list, _, _ := strings.Cut(page, "</ol>")
		if want == "" && strings.Contains(list, "href") || !strings.Contains(list, want) || strings.Contains(list, "<script") {
			t.Errorf("%q: want %s in\n%s", link, want, list)
		}
	}
}

func TestPageMarksCutTexts(t *testing.T) {
	m := feed.Match{Later: feed.Occurrence{Text: "later words", TextCut: true}, Earlier: feed.Occurrence{Text: "earlier words"}}
	if page := pageOf(t, m); !strings.Contains(page, "later words…") || strings.Contains(page, "earlier words…") {
		t.Errorf("got\n%s", page)
	}
}

// TestPageNamesTheMeasure: the similarity that decided, and by which measure where that is not Jaccard. What comes while the page is
// open is shown by its script, which internal/e2e/followers holds to the same.
func TestPageNamesTheMeasure(t *testing.T) {
	for want, m := range map[string]feed.Match{
		`<span class="share">63 %</span> the same words`:                 {Jaccard: 0.625},
		`<span class="share">82 %</span> by cosine, 67 % the same words`: {Jaccard: 2.0 / 3, Measure: "cosine", Similarity: 0.8165},
	} {
		if page := pageOf(t, m); !strings.Contains(page, want) {
			t.Errorf("want %s in\n%s", want, page)
		}
	}
}

// pageOf is the page that shows an event.
func pageOf(t *testing.T, m feed.Match) string {
	t.Helper()
	top := topic.NewMemory(topic.DefaultMemory())
	if err := top.Append(t.Context(), []topic.Record{{Data: m.AppendEvent(nil, "d")}, {Data: []byte("rubbish")}}); err != nil {
		t.Fatal(err)
	}
	tail := api.NewTail(top, 3)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- tail.Run(ctx) }()
	cfg := config()
	cfg.Recent = tail
	h := mustNew(t, cfg)
	deadline := time.Now().Add(10 * time.Second)
	for len(tail.Latest(1)) == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	w := serve(h, "GET", "/", "")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return w.Body.String()
}
