package bluesky_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/bluesky"
)

// firehose is a local server that speaks Jetstream's format. For every connection it calls serve with the
// cursor asked for, 0 without one.
type firehose struct {
	url     string
	handler http.Handler
	mu      sync.Mutex
	// asked holds the cursor of every connection so far.
	requested []int64
}

func mustFirehose(t *testing.T, serve func(n int, cursor int64, send func(string) error)) *firehose {
	t.Helper()
	f := &firehose{}
	f.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query()["wantedCollections"]; !cmp.Equal(got, []string{"app.bsky.feed.post"}) {
			t.Errorf("wantedCollections %v", got)
		}
		cursor, _ := strconv.ParseInt(r.URL.Query().Get("cursor"), 10, 64)
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		f.mu.Lock()
		f.requested = append(f.requested, cursor)
		n := len(f.requested)
		f.mu.Unlock()
		ctx := c.CloseRead(r.Context())
		serve(n, cursor, func(s string) error {
			if s == "" { // stay, and say nothing
				<-ctx.Done()
				return ctx.Err()
			}
			kind := websocket.MessageText
			if s[0] == 0 {
				kind = websocket.MessageBinary
			}
			return c.Write(ctx, kind, []byte(s))
		})
	})
	web := httptest.NewServer(f.handler)
	t.Cleanup(web.Close)
	f.url = "ws" + strings.TrimPrefix(web.URL, "http") + "/subscribe"
	return f
}

func (f *firehose) cursors() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requested)
}

// base is a server time in microseconds; events lie a second apart.
const base = 1_725_911_162_000_000

func created(n int) string {
	return fmt.Sprintf(`{"did":"did:plc:a","time_us":%d,"kind":"commit","commit":{"rev":"r","operation":"create",`+
		`"collection":"app.bsky.feed.post","rkey":"%d","cid":"c","record":{"$type":"app.bsky.feed.post","text":"post %d",`+
		`"createdAt":"2024-09-09T19:46:02.102Z","langs":["en","de"]}}}`, base+n*1e6, n, n)
}

func uri(rkey string) string { return "at://did:plc:a/app.bsky.feed.post/" + rkey }

// with is the default configuration in a hurry, changed.
func with(change func(*bluesky.Config)) bluesky.Config {
	cfg := bluesky.Default()
	cfg.BatchDelay = 5 * time.Millisecond
	change(&cfg)
	return cfg
}

// mustOpen opens a source that connects again soon, and checks at the end that nothing of it runs on.
func mustOpen(t *testing.T, cfg bluesky.Config) *bluesky.Source {
	t.Helper()
	cfg.Client = &http.Client{Transport: &http.Transport{}}
	cfg.MinBackoff, cfg.MaxPause = time.Millisecond, 5*time.Millisecond
	cfg.Logger = slog.New(slog.DiscardHandler)
	before := goleak.IgnoreCurrent()
	b, err := bluesky.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := b.Next(context.Background()); err != io.EOF {
			t.Errorf("Next after Close: %v, want io.EOF", err)
		}
		cfg.Client.CloseIdleConnections()
		if err := goleak.Find(before, goleak.IgnoreAnyFunction("net/http.(*Server).Serve"),
			goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
			goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"),
			goleak.IgnoreAnyFunction("github.com/coder/websocket.(*Conn).CloseRead.func1")); err != nil {
			t.Error(err)
		}
	})
	return b
}

func mustNext(t *testing.T, b ingest.Source) ingest.Batch {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	batch, err := b.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func account(name, inner string) string {
	return fmt.Sprintf(`{"did":"did:plc:%s","time_us":1725911163000000,"kind":"account","account":{%s}}`, name, inner)
}

func TestReadsEveryKindOfMessage(t *testing.T) {
	commit := func(n int, inner string) string {
		return fmt.Sprintf(`{"did":"did:plc:a","time_us":%d,"kind":"commit","commit":{"collection":"app.bsky.feed.post",%s}}`, base+n*1e6, inner)
	}
	f := mustFirehose(t, func(n int, _ int64, send func(string) error) {
		for _, s := range []string{
			created(1),
			`{"did":"did:plc:a","time_us":1725911163000000,"kind":"identity","identity":{"did":"did:plc:a","seq":1}}`,
			account("a", `"active":false,"status":"deleted"`),
			account("b", `"active":false,"status":"suspended"`),
			account("c", `"active":false,"status":"deactivated"`),
			account("d", `"active":true`),
			account("e", `"active":true,"status":"deleted"`),
			account("f", `"active":false,"status":"takendown","did":"did:plc:f","seq":1,"time":"2024-09-09T19:46:02Z"`),
			`{"did":"did:plc:g","time_us":1725911163000000,"kind":"account"}`,
			strings.ReplaceAll(created(2), "feed.post", "feed.like"),
			commit(3, `"operation":"update","rkey":"1","record":{"text":"edited","createdAt":"2024-09-09T19:46:02Z"}`),
			commit(4, `"operation":"delete","rkey":"1"`),
			commit(5, `"operation":"create","rkey":"5","record":{"text":"`+`\ud800`+` odd","createdAt":"30000-01-01T00:00:00Z"}`),
			commit(6, `"operation":"create","rkey":"6","record":{"text":"no time"}`),
			commit(7, `"operation":"create","rkey":"7","record":{"text":"","createdAt":"2024-09-09T19:46:02Z"}`),
			`garbage`,
			`{"did":"did:plc:a","kind":"commit"}`,
			commit(8, `"operation":"create","rkey":"8","record":{"createdAt":"2024-09-09T19:46:02Z"}`),
			commit(9, `"operation":"create","rkey":"9","record":{"text":7}`),
			commit(10, `"operation":"create","rkey":"10"`),
			commit(11, `"operation":"explode","rkey":"11"`),
			commit(12, `"operation":"create","rkey":""`),
			"\x00\x01",
			commit(13, `"operation":"create","rkey":"13","record":{"text":"`+strings.Repeat("x", 5000)+`"}`),
			created(14),
			"",
		} {
			if send(s) != nil {
				return
			}
		}
	})
	b := mustOpen(t, with(func(c *bluesky.Config) { c.URL, c.MaxMessage, c.BatchDelay = f.url, 4000, time.Second }))
	var all ingest.Batch
	for len(all.Posts) < 6 {
		batch := mustNext(t, b)
		all.Posts = append(all.Posts, batch.Posts...)
		all.Rejected = append(all.Rejected, batch.Rejected...)
		all.Notes = append(all.Notes, batch.Notes...)
		all.Deleted = append(all.Deleted, batch.Deleted...)
		batch.Done(nil)
	}
	at := func(us int64) feed.Time { return feed.Time(us / 1000) }
	claimed := feed.Time(1725911162000)
	want := []feed.Post{
		{Source: "bluesky", ID: uri("1"), Author: "did:plc:a", Lang: "en", Text: "post 1", Time: claimed + 102, Timed: true},
		{Source: "bluesky", ID: uri("1"), Author: "did:plc:a", Text: "edited", Time: claimed, Timed: true},
		{Source: "bluesky", ID: uri("5"), Author: "did:plc:a", Text: "\uFFFD odd", Time: at(base + 5e6)},
		{Source: "bluesky", ID: uri("6"), Author: "did:plc:a", Text: "no time", Time: at(base + 6e6)},
		{Source: "bluesky", ID: uri("7"), Author: "did:plc:a", Text: "", Time: claimed, Timed: true},
		{Source: "bluesky", ID: uri("14"), Author: "did:plc:a", Lang: "en", Text: "post 14", Time: claimed + 102, Timed: true},
	}
	if diff := cmp.Diff(want, all.Posts); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
	gone := []feed.Tombstone{
		{Source: "bluesky", Author: "did:plc:a"}, {Source: "bluesky", Author: "did:plc:f"}, {Source: "bluesky", Post: uri("1")},
	}
	if diff := cmp.Diff(gone, all.Deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if len(all.Notes) != 2 || !strings.Contains(all.Notes[0].Text, "30000") || !strings.Contains(all.Notes[0].Text, "U+FFFD") {
		t.Errorf("notes %+v", all.Notes)
	}
	words := []string{"invalid character", "time_us", "text", "text", "record", "explode", "rkey", "binary", "4000"}
	if len(all.Rejected) != len(words) {
		t.Fatalf("rejected %+v", all.Rejected)
	}
	for i, r := range all.Rejected {
		if !strings.Contains(r.Reason, words[i]) || !strings.HasPrefix(r.Location, "bluesky:") || len(r.Raw) == 0 {
			t.Errorf("rejection %d: %s: %s; want %q in it", i, r.Location, r.Reason, words[i])
		}
	}
}

// TestResumes cuts the connection every few messages: every post arrives, and each connection begins
// behind what was acknowledged, less the rewind.
func TestResumes(t *testing.T) {
	const total = 40
	f := mustFirehose(t, func(n int, cursor int64, send func(string) error) {
		sent := 0
		for i := range total {
			if base+int64(i)*1e6 < cursor {
				continue
			}
			if sent++; sent > 7 || send(created(i)) != nil {
				return
			}
		}
		_ = send("")
	})
	b := mustOpen(t, with(func(c *bluesky.Config) { c.URL, c.Rewind = f.url, 2*time.Second }))
	seen := map[string]int{}
	for len(seen) < total {
		batch := mustNext(t, b)
		for _, p := range batch.Posts {
			seen[p.ID]++
		}
		batch.Done(nil)
	}
	cursors := f.cursors()
	if len(cursors) < 6 || cursors[0] != 0 {
		t.Errorf("cursors %v", cursors)
	}
	if !slices.IsSorted(cursors) || cursors[len(cursors)-1] < base+30e6 {
		t.Errorf("cursors do not move on: %v", cursors)
	}
}

func TestReadsAgainWhatWasNotDurable(t *testing.T) {
	f := mustFirehose(t, func(n int, cursor int64, send func(string) error) {
		for i := range 10 {
			if base+int64(i)*1e6 >= cursor && send(created(i)) != nil {
				return
			}
		}
		_ = send("")
	})
	b := mustOpen(t, with(func(c *bluesky.Config) { c.URL, c.BatchPosts, c.Rewind = f.url, 2, time.Microsecond }))
	first, second, third := mustNext(t, b), mustNext(t, b), mustNext(t, b)
	first.Done(nil)
	third.Done(nil) // out of order, and behind a batch that fails
	second.Done(errors.New("disk full"))
	seen := map[string]bool{}
	for len(seen) < 9 {
		batch := mustNext(t, b)
		if len(seen) == 0 && batch.Posts[0].ID != uri("1") {
			t.Errorf("after the failure came %s: what was read before it must not be acknowledged first", batch.Posts[0].ID)
		}
		for _, p := range batch.Posts {
			seen[p.ID] = true
		}
		batch.Done(nil)
	}
	for _, n := range []string{"2", "3"} {
		if !seen[uri(n)] {
			t.Errorf("post %s of the failed batch did not come again: %v", n, seen)
		}
	}
	if got, want := f.cursors(), []int64{0, base + 1e6 - 1}; !cmp.Equal(got, want) {
		t.Errorf("cursors %v, want %v: behind the first batch, not the third", got, want)
	}
}

func TestWaitsForSlowAcks(t *testing.T) {
	f := mustFirehose(t, func(n int, _ int64, send func(string) error) {
		for i := range 4 {
			if send(created(i)) != nil {
				return
			}
		}
		_ = send("")
	})
	b := mustOpen(t, with(func(c *bluesky.Config) { c.URL, c.BatchPosts, c.InFlight = f.url, 2, 1 }))
	first := mustNext(t, b)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next with a batch in flight: %v, want it to wait", err)
	}
	first.Done(nil)
	second := mustNext(t, b)
	if len(second.Posts) != 2 || second.Posts[0].ID != uri("2") {
		t.Errorf("after the wait: %+v, want the third post", second.Posts)
	}
	second.Done(nil)
}

// TestLargeMessagesWaitOutside: what is read and not acknowledged is bounded by bytes too, and all of it comes.
func TestLargeMessagesWaitOutside(t *testing.T) {
	const n, most = 120, 40 << 20
	text := strings.Repeat("large ", 100_000)
	f := mustFirehose(t, func(_ int, _ int64, send func(string) error) {
		for i := range n {
			if send(strings.Replace(created(i), "post ", text, 1)) != nil {
				return
			}
		}
		_ = send("")
	})
	b := mustOpen(t, with(func(c *bluesky.Config) { c.URL, c.InFlight = f.url, n }))
	posts, unacked := 0, 0
	var batches []ingest.Batch
	for posts < n {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		batch, err := b.Next(ctx)
		cancel()
		if err != nil && len(batches) == 0 {
			t.Fatalf("after %d posts: %v", posts, err)
		}
		if err != nil {
			for i := range batches {
				batches[i].Done(nil)
			}
			batches, unacked = nil, 0
			continue
		}
		batches, posts = append(batches, batch), posts+len(batch.Posts)
		if unacked += len(batch.Posts) * len(text); unacked > most {
			t.Fatalf("%d bytes of posts are handed on and not acknowledged, want %d at most", unacked, most)
		}
	}
}

func TestCursorOutlivesTheProcess(t *testing.T) {
	dir := bluesky.CursorDir(t.TempDir())
	f := mustFirehose(t, func(n int, cursor int64, send func(string) error) {
		if send(created(n)) == nil {
			_ = send("")
		}
	})
	for range 2 {
		b := mustOpen(t, with(func(c *bluesky.Config) { c.URL, c.Cursors = f.url, dir }))
		batch := mustNext(t, b)
		batch.Done(nil)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := f.cursors(), []int64{0, base + 1e6 - 5e6}; !cmp.Equal(got, want) {
		t.Errorf("cursors %v, want %v", got, want)
	}
	if v, err := dir.Get(t.Context(), "bluesky"); err != nil || string(v) != fmt.Sprint(base+2_000_000) {
		t.Errorf("kept %q, %v", v, err)
	}
	if err := dir.Put(t.Context(), "../x", nil); err == nil {
		t.Error("a key left the directory")
	}
}

func TestLeavesASilentConnection(t *testing.T) {
	f := mustFirehose(t, func(n int, _ int64, send func(string) error) {
		if n > 1 && send(created(n)) != nil {
			return
		}
		_ = send("")
	})
	b := mustOpen(t, with(func(c *bluesky.Config) { c.URL, c.Silence = f.url, 200*time.Millisecond }))
	batch := mustNext(t, b)
	if batch.Posts[0].ID == uri("1") || len(f.cursors()) < 2 {
		t.Errorf("posts %+v after %d connections", batch.Posts, len(f.cursors()))
	}
	batch.Done(nil)
}

func TestKeepsDeletionBeforeCreation(t *testing.T) {
	for _, gone := range []string{
		strings.Replace(created(1), "create", "delete", 1), account("a", `"active":false,"status":"deleted"`),
	} {
		testDeletion(t, gone)
	}
}

func testDeletion(t *testing.T, gone string) {
	t.Helper()
	f := mustFirehose(t, func(n int, _ int64, send func(string) error) {
		for _, s := range []string{created(0), gone, created(1), ""} {
			if send(s) != nil {
				return
			}
		}
	})
	b := mustOpen(t, with(func(c *bluesky.Config) { c.URL, c.BatchDelay = f.url, time.Second }))
	first, second := mustNext(t, b), mustNext(t, b)
	if len(first.Posts) != 1 || len(first.Deleted) != 1 || len(second.Posts) != 1 || second.Posts[0].ID != uri("1") {
		t.Errorf("batches %+v and %+v, want the post behind its deletion", first, second)
	}
	first.Done(nil)
	second.Done(nil)
}

func TestWithoutServerEndsOnClose(t *testing.T) {
	b := mustOpen(t, with(func(c *bluesky.Config) { c.URL = "ws://127.0.0.1:1/subscribe" }))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Next: %v", err)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add(created(1))
	f.Add(strings.Replace(created(1), "create", "delete", 1))
	f.Add(account("a", `"active":false,"status":"takendown"`))
	f.Add(`{"time_us":1,"kind":"commit","did":"d","commit":{"collection":"app.bsky.feed.post","rkey":"r","operation":"create","record":{"text":null}}}`)
	f.Fuzz(func(t *testing.T, data string) {
		posts, deleted, rejected := bluesky.Decode([]byte(data))
		if posts+deleted+rejected > 1 {
			t.Errorf("one message gave %d posts, %d deletions, %d rejections", posts, deleted, rejected)
		}
	})
}
