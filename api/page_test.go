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
	top := topic.NewMemory(topic.DefaultMemory())
	evil := `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	m := feed.Match{Jaccard: 1, Later: feed.Occurrence{Text: evil, Author: evil, Post: evil}, Earlier: feed.Occurrence{Text: "earlier words"}}
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
	w := ask(h, "GET", "/", "")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	page := w.Body.String()
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
