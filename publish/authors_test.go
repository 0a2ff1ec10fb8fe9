package publish_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/publish"
	"refrain/topic"
)

// TestEventsOfDeletedAuthors: an event is judged by who wrote the posts that it shows, and by when it was made.
func TestEventsOfDeletedAuthors(t *testing.T) {
	deleted := time.UnixMilli(1_700_000_000_000).UTC()
	top := topic.NewMemory(topic.DefaultMemory())
	for _, e := range []struct {
		name, later, earlier, first string
		after                       time.Duration
	}{
		{"by her", "ann", "bob", "cid", -time.Hour}, {"of her", "bob", "ann", "cid", 0},
		{"first hers", "bob", "cid", "ann", 0}, {"found meanwhile", "ann", "bob", "cid", time.Second},
		{"back", "ann", "bob", "cid", time.Hour}, {"others", "bob", "cid", "cid", 0},
	} {
		m := feed.Match{Later: feed.Occurrence{Post: e.name, Author: e.later},
			Earlier: feed.Occurrence{Post: "e", Author: e.earlier},
			First:   feed.First{Post: "f", Author: e.first}}
		if err := top.Append(t.Context(), []topic.Record{{Time: deleted.Add(e.after),
			Data: m.AppendEvent(nil, "d")}}); err != nil {
			t.Fatal(err)
		}
	}
	_, url := serve(t, top, func(c *publish.EventsConfig) {
		c.Deleted = func(n feed.Name, made time.Time) bool {
			return n.Author == "ann" && !made.After(deleted.Add(feed.RetractionLag))
		}
	})
	got, _ := connect(t, url+"?from=start&until=now").posts(t, -1)
	if diff := cmp.Diff([]string{"first hers", "back", "others"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
