package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"refrain/ingest"
	httpsource "refrain/ingest/http"
	"refrain/internal/quota"
	"refrain/topic"
)

// refusal is a problem document as far as quotas are in it.
type refusal struct {
	Type, Detail   string
	Status         int
	Accepted, Next int
	Quota          struct {
		Kind, Limit, Source string
		Wait                int
	}
}

// TestOverQuota: what was sent before has its answer, the batch that is refused is not handed on, not even in part, and
// the answer says which quota it is, for how long, and where to go on.
func TestOverQuota(t *testing.T) {
	asked := 0
	cfg := with(func(c *httpsource.Config) {
		c.BatchPosts = 2
		c.Sender = func(r *http.Request) string { return r.Header.Get("X-Who") }
		c.Admit = func(_ context.Context, b *ingest.Batch) (func(), error) {
			if asked++; asked < 3 {
				return func() {}, nil
			}
			return nil, &quota.Exceeded{
				Kind: quota.KindSource, Limit: "posts", Sender: quota.Sender(b.Sender), Source: b.Sources()[0], Wait: 90 * time.Second,
			}
		}
	})
	s := mustServe(t, cfg, durable)
	body := strings.Repeat(`{"id":"1","source":"x","text":"a"}`+"\n", 7)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader(body))
	req.Header.Set("X-Who", "token:a")
	got, retry := mustRefuse(t, req)
	if retry != "90" || got.Type != "urn:refrain:problem:quota" || got.Accepted != 4 || got.Next != 5 ||
		got.Quota.Kind != "source" || got.Quota.Limit != "posts" || got.Quota.Source != "x" || got.Quota.Wait != 90 {
		t.Errorf("Retry-After %s, %+v", retry, got)
	}
	if !strings.Contains(got.Detail, `of posts of the source "x" is used up for 1m30s`) {
		t.Errorf("detail: %s", got.Detail)
	}
	if len(s.batches) != 2 || s.batches[1].Sender != "token:a" {
		t.Errorf("%d batches, want the two before", len(s.batches))
	}
}

// TestLongWaits: a client that is told to come back in nine days is gone. It is told to ask every hour, why that is worth
// while, and how long it takes if nothing changes.
func TestLongWaits(t *testing.T) {
	for limit, why := range map[string]string{
		"share":  "It counts only while more than half of the topic is used, so ask again every hour",
		"events": "Ask again every hour: whoever runs the server may have given more by then.",
	} {
		cfg := with(func(c *httpsource.Config) {
			c.Admit = func(context.Context, *ingest.Batch) (func(), error) {
				return nil, &quota.Exceeded{Kind: quota.KindToken, Limit: limit, Wait: 216 * time.Hour}
			}
		})
		s := mustServe(t, cfg, durable)
		req, _ := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader(`{"id":"1","text":"a"}`))
		got, retry := mustRefuse(t, req)
		if retry != "3600" || got.Quota.Wait != 216*3600 || !strings.Contains(got.Detail, "for 216h0m0s. "+why) {
			t.Errorf("Retry-After %s, %+v", retry, got)
		}
	}
}

// TestFullTopicHasAType: a client can tell a full topic from a fault, is told when to come back, and the log has a bounded
// number of lines about it.
func TestFullTopicHasAType(t *testing.T) {
	var log strings.Builder
	cfg := with(func(c *httpsource.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	wait := 3 * time.Minute
	s := mustServe(t, cfg, func(ingest.Batch) error { return &ingest.NoRoomError{In: wait, Err: topic.ErrFull} })
	for i := range 200 {
		resp, err := http.Post(s.url, "application/json", strings.NewReader(`{"id":"1","text":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		var got refusal
		err = json.NewDecoder(resp.Body).Decode(&got)
		_ = resp.Body.Close()
		if retry := resp.Header.Get("Retry-After"); err != nil || got.Status != 503 ||
			got.Type != "urn:refrain:problem:topic-full" || retry != "180" || got.Next != 1 ||
			!strings.Contains(got.Detail, "about 3m0s") {
			t.Fatalf("request %d: %v, Retry-After %s, %+v", i, err, retry, got)
		}
	}
	if lines := strings.Count(log.String(), "posts not durable"); lines < 1 || lines > 20 {
		t.Errorf("%d lines in the log about 200 requests", lines)
	}
}

// TestOwedForAll: batches of the same request may be on their way when the next one is refused, so the time to wait is asked
// for again when they are counted. A client that came back after what was said first was refused for four times as long.
func TestOwedForAll(t *testing.T) {
	var s *server
	cfg := with(func(c *httpsource.Config) {
		c.BatchPosts = 1
		asked := 0
		c.Admit = func(_ context.Context, b *ingest.Batch) (func(), error) {
			if asked++; asked < 5 {
				return func() {}, nil
			}
			return nil, &quota.Exceeded{Kind: quota.KindToken, Limit: "posts", Wait: time.Second}
		}
		c.Owed = func(b *ingest.Batch) *quota.Exceeded {
			if len(s.batches) != 4 || len(b.Posts) != 1 || b.Posts[0].ID != "5" {
				t.Errorf("asked after %d batches, for %v", len(s.batches), b.Posts)
			}
			return &quota.Exceeded{Kind: quota.KindToken, Limit: "posts", Wait: time.Minute}
		}
	})
	s = mustServe(t, cfg, durable)
	var body strings.Builder
	for i := range 7 {
		fmt.Fprintf(&body, `{"id":"%d","text":"a"}`+"\n", i+1)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader(body.String()))
	if got, retry := mustRefuse(t, req); retry != "60" || got.Next != 5 || !strings.Contains(got.Detail, "for 1m0s") {
		t.Errorf("Retry-After %s, %+v", retry, got)
	}
}

// TestDeletionsOverQuota: they are posts to the quota.
func TestDeletionsOverQuota(t *testing.T) {
	cfg := with(func(c *httpsource.Config) {
		c.Admit = func(_ context.Context, b *ingest.Batch) (func(), error) {
			return nil, &quota.Exceeded{Kind: quota.KindToken, Limit: "posts", Wait: time.Second, Source: b.Deleted[0].Source}
		}
	})
	s := mustServe(t, cfg, durable)
	req, _ := http.NewRequestWithContext(t.Context(), "DELETE", s.url+"/1?source=x", nil)
	if got, retry := mustRefuse(t, req); retry != "1" || strings.Contains(got.Detail, "next") ||
		got.Type != "urn:refrain:problem:quota" || len(s.batches) != 0 {
		t.Errorf("Retry-After %s, %+v, %d batches", retry, got, len(s.batches))
	}
}

func mustRefuse(t *testing.T, req *http.Request) (got refusal, retryAfter string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &got); err != nil || resp.StatusCode != http.StatusTooManyRequests ||
		resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%s %s: %s", resp.Status, resp.Header, b)
	}
	return got, resp.Header.Get("Retry-After")
}
