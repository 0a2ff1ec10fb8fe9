package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/dataset"
	"refrain/text"
	"refrain/topic"
)

// ofStreams are the streams of the data set, and how many posts are read of each.
var ofStreams = []struct {
	name, file string
}{
	{"ira", "stream/ira_2012-02_2016-08.jsonl.zst"},
	{"crisislex", "stream/crisislex_t26_22events.jsonl.gz"},
	{"pheme", "stream/pheme_ottawa_germanwings.jsonl.gz"},
	{"weibo", "stream/weibo_ced_2010-2012.jsonl.zst"},
}

// BenchmarkTopicBytes measures what posts and events take in the topics of a running service, on its disk: the figures
// that plan.DefaultCosts and the limits of the topics come from.
func BenchmarkTopicBytes(b *testing.B) {
	for _, s := range ofStreams {
		for _, batch := range []int{1, 100, 1000} {
			b.Run(fmt.Sprintf("%s/batch=%d", s.name, batch), func(b *testing.B) {
				posts := mustPosts(b, dataset.File(b, s.file), 60_000)
				if batch == 1 {
					posts = posts[:min(len(posts), 10_000)]
				}
				var m topicBytes
				for b.Loop() {
					m = mustMeasureTopics(b, posts, batch)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(m.sentenceBytes)/float64(len(posts)), "B/post")
				b.ReportMetric(float64(m.sentenceBytes)/float64(m.sentences), "B/sentence")
				b.ReportMetric(float64(m.sentenceBytes)/float64(m.estimate), "share")
				b.ReportMetric(float64(m.eventBytes)/float64(max(m.events, 1)), "B/event")
				b.ReportMetric(float64(m.events)/float64(m.sentences), "events/sentence")
			})
		}
	}
}

// TestTopicBytes: what posts take is far below what they took before records were compressed: 211 bytes a post with
// batches of 1,000, and 1,090 an event.
func TestTopicBytes(t *testing.T) {
	posts := mustPosts(t, dataset.File(t, ofStreams[0].file), 20_000)
	m := mustMeasureTopics(t, posts, 1000)
	perPost, perEvent := float64(m.sentenceBytes)/float64(len(posts)), float64(m.eventBytes)/float64(max(m.events, 1))
	t.Logf("%.0f bytes a post, %.0f an event, of %d", perPost, perEvent, m.events)
	if perPost > 170 || m.events < 1000 || perEvent > 400 {
		t.Errorf("%.0f bytes a post, %.0f an event, of %d: want at most 170 and 400, of 1000 or more", perPost, perEvent, m.events)
	}
}

func mustPosts(tb testing.TB, path string, atMost int) (all []feed.Post) {
	tb.Helper()
	f, err := file.Open(file.Default(path))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for len(all) < atMost {
		b, err := f.Next(tb.Context())
		all = append(all, b.Posts...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return all[:min(len(all), atMost)]
}

// topicBytes is what posts took.
type topicBytes struct {
	sentenceBytes, eventBytes int64
	sentences, events         int
	estimate                  int // what their records are, by the formula of package plan, before they are compressed
}

// mustMeasureTopics runs a service of its own and gives it the posts, so many at a time.
func mustMeasureTopics(tb testing.TB, posts []feed.Post, batch int) (m topicBytes) {
	tb.Helper()
	cfg := testConfig(tb)
	cfg.Models.Every, cfg.Models.Drift = 0, 0
	s := mustNew(tb, cfg)
	src := make(pushed)
	s.AddSource("test", src)
	ctx, stop := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if err := s.Ready(ctx); err != nil {
		tb.Fatal(err)
	}
	for rest := posts; len(rest) > 0; rest = rest[min(batch, len(rest)):] {
		durable := make(chan error, 1)
		src <- ingest.Batch{Partition: "feed", Posts: rest[:min(batch, len(rest))], Ack: func(err error) { durable <- err }}
		if err := <-durable; err != nil {
			tb.Fatal(err)
		}
	}
	if err := s.node.flush(ctx); err != nil {
		tb.Fatal(err)
	}
	m.count(tb, s.node, posts)
	stop()
	if err := <-ended; err != nil {
		tb.Fatal(err)
	}
	return m
}

func (m *topicBytes) count(tb testing.TB, n *node, posts []feed.Post) {
	tb.Helper()
	sentences, err := n.sentences.Size(tb.Context())
	events, err2 := n.events.Size(tb.Context())
	if err := errors.Join(err, err2); err != nil {
		tb.Fatal(err)
	}
	m.sentenceBytes, m.eventBytes = sentences.Bytes, events.Bytes
	var splitter text.Splitter
	for i := range posts {
		all, _ := splitter.Sentences(nil, &posts[i], n.cfg.Window.MinTokens)
		m.sentences += len(all)
		for _, x := range all {
			m.estimate += 64 + 8*len(x.Tokens) + len(x.Text)
		}
	}
	m.events = mustCount(tb, n.events)
}

// mustCount reads a topic of one partition from its beginning to its end.
func mustCount(tb testing.TB, t topic.Topic) (n int) {
	tb.Helper()
	start, end, err := t.Bounds(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	r, err := t.Open(tb.Context(), start)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	for at := start[0]; at < end[0]; {
		records, err := r.Fetch(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		n += len(records)
		at = records[len(records)-1].Position + 1
	}
	return n
}
