package http_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/ingest"
	httpsource "refrain/ingest/http"
)

// server is an HTTP source behind a real HTTP server, and somebody who takes its batches.
type server struct {
	*httpsource.Source
	url string

	mu      sync.Mutex
	batches []ingest.Batch
	ended   chan error // what Next ended with
}

// with is the default configuration, changed.
func with(change func(*httpsource.Config)) httpsource.Config {
	cfg := httpsource.Default()
	change(&cfg)
	return cfg
}

func mustNew(t testing.TB, cfg httpsource.Config) *httpsource.Source {
	t.Helper()
	h, err := httpsource.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// mustServe starts a server whose batches are acknowledged with what ack returns.
func mustServe(t testing.TB, cfg httpsource.Config, ack func(ingest.Batch) error) *server {
	t.Helper()
	s := &server{Source: mustNew(t, cfg), ended: make(chan error, 1)}
	web := httptest.NewServer(s.Source)
	s.url = web.URL + "/v1/posts"
	go s.consume(ack)
	t.Cleanup(func() {
		web.Close()
		s.stop(t)
	})
	return s
}

func (s *server) consume(ack func(ingest.Batch) error) {
	for {
		b, err := s.Next(context.Background())
		if err != nil {
			s.ended <- err
			return
		}
		s.mu.Lock()
		s.batches = append(s.batches, b)
		s.mu.Unlock()
		b.Done(ack(b))
	}
}

// stop shuts down, once, and wants Next to end.
func (s *server) stop(t testing.TB) {
	t.Helper()
	if s.Shutdown(context.Background()) != nil {
		return // the test did it
	}
	if err := <-s.ended; err != io.EOF {
		t.Errorf("Next ended with %v, want io.EOF", err)
	}
}

func durable(ingest.Batch) error { return nil }

func (s *server) all() (all ingest.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.batches {
		all.Posts = append(all.Posts, b.Posts...)
		all.Rejected = append(all.Rejected, b.Rejected...)
		all.Notes = append(all.Notes, b.Notes...)
		all.Deleted = append(all.Deleted, b.Deleted...)
	}
	return all
}

func (s *server) ids() (ids []string) {
	for _, p := range s.all().Posts {
		ids = append(ids, p.ID)
	}
	return ids
}

// reply is the JSON of an answer or of a problem document.
type reply struct {
	Status   int
	Accepted int    `json:"accepted"`
	Rejected int    `json:"rejected"`
	Omitted  int    `json:"omitted"`
	Next     int    `json:"next"`
	Detail   string `json:"detail"`
	Results  []line `json:"results"`
	retry    string
}

type line struct {
	Line   int    `json:"line"`
	ID     string `json:"id"`
	Status string `json:"status"`
	Note   string `json:"note"`
	Reason string `json:"reason"`
}

// send posts a body; header holds names and values in turn.
func send(t testing.TB, url string, body io.Reader, header ...string) reply {
	t.Helper()
	req, err := http.NewRequest("POST", url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var r reply
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("status %d: %v in %q", resp.StatusCode, err, b)
	}
	r.Status, r.retry = resp.StatusCode, resp.Header.Get("Retry-After")
	wantType := "application/json"
	if r.Status != 200 {
		wantType = "application/problem+json"
	}
	if got := resp.Header.Get("Content-Type"); got != wantType {
		t.Errorf("status %d with content type %q", r.Status, got)
	}
	return r
}

var ndjson = []string{"Content-Type", "application/x-ndjson"}

func post(id string) string { return fmt.Sprintf(`{"id":%q,"text":"the text of %s"}`, id, id) }

func posts(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(post(fmt.Sprint(i)) + "\n")
	}
	return b.String()
}

func sequence(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}

func TestTakesEveryForm(t *testing.T) {
	pretty := "{\n  \"id\": \"0\",\n  \"text\": \"a\"\n}\n"
	for name, c := range map[string]struct {
		body   string
		header []string
		want   int
	}{
		"one object":                 {post("0"), nil, 1},
		"one object over many lines": {pretty, nil, 1},
		"objects over many lines":    {pretty + strings.Replace(pretty, "0", "1", 1), nil, 2},
		"array":                      {"[" + post("0") + ",\n" + post("1") + "]", nil, 2},
		"array behind a mark":        {"\xEF\xBB\xBF \n[" + post("0") + "]", nil, 1},
		"lines, said":                {posts(3), ndjson, 3},
		"lines, found out":           {posts(3), nil, 3},
		"lines as curl -d strips them": {strings.ReplaceAll(posts(3), "\n", ""),
			[]string{"Content-Type", "application/x-www-form-urlencoded"}, 3},
		"lines of Windows":      {strings.ReplaceAll(posts(2), "\n", "\r\n"), ndjson, 2},
		"no newline at the end": {strings.TrimSpace(posts(2)), ndjson, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustServe(t, httpsource.Default(), durable)
			r := send(t, s.url, strings.NewReader(c.body), c.header...)
			if r.Status != 200 || r.Accepted != c.want || r.Rejected != 0 || len(r.Results) != c.want {
				t.Errorf("answer %+v, want %d accepted", r, c.want)
			}
			if diff := cmp.Diff(sequence(c.want), s.ids()); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTakesGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = io.WriteString(w, posts(5))
	_ = w.Close()
	s := mustServe(t, httpsource.Default(), durable)
	r := send(t, s.url, bytes.NewReader(z.Bytes()), "Content-Encoding", "GZip") // in any case
	if r.Accepted != 5 {
		t.Errorf("answer %+v, want 5 accepted", r)
	}

	r = send(t, s.url, bytes.NewReader(z.Bytes()[:z.Len()-12]), "Content-Encoding", "gzip", "Content-Type",
		"application/x-ndjson")
	if r.Status != 400 || !strings.Contains(r.Detail, "unexpected EOF") {
		t.Errorf("cut off: answer %+v, want 400", r)
	}
	r = send(t, s.url, strings.NewReader("{}"), "Content-Encoding", "br")
	if r.Status != 415 {
		t.Errorf("brotli: status %d, want 415", r.Status)
	}
}

func TestGivesPostsTheirTimeAndSource(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := mustServe(t, with(func(c *httpsource.Config) { c.Source, c.Now = "web", func() time.Time { return now } }), durable)
	send(t, s.url,
		strings.NewReader(`[{"id":"1","text":"a"},{"id":"2","text":"b","source":"x","created_at":"2020-01-01T00:00:00Z"}]`))
	got := s.all().Posts
	want := []feed.Post{
		{ID: "1", Text: "a", Source: "web", Time: feed.FromTime(now)},
		{ID: "2", Text: "b", Source: "x", Time: feed.FromTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)), Timed: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
	if got := s.batches[0].Partition; got != "http" {
		t.Errorf("partition %q", got)
	}
}

func TestHandsOnTheTrace(t *testing.T) {
	s := mustServe(t, httpsource.Default(), durable)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	send(t, s.url, strings.NewReader(post("1")), "traceparent", parent)
	send(t, s.url, strings.NewReader(post("2")))
	s.mu.Lock()
	defer s.mu.Unlock()
	// Without a tracer provider there are no spans of our own, and the client's goes through.
	if got := s.batches[0].Trace; got != parent {
		t.Errorf("traceparent %q, want %q", got, parent)
	}
	if got := s.batches[1].Trace; got != "" {
		t.Errorf("traceparent %q without one", got)
	}
}

// TestRequestsMayNameFields: a request says how its posts call the fields, and a plus that an address has made a space of
// is told.
func TestRequestsMayNameFields(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) {
		c.FieldsOf = func(q url.Values) (*feed.Fields, error) { return feed.ParseFields(q.Get("map")) }
	}), durable)
	post := func(query string) (status int, body string) {
		r, err := http.Post(s.url+query, "application/json", strings.NewReader(`{"id":"1","title":"Why?","body":"Because."}`))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(b)
	}
	if status, body := post("?map=text=title%2Bbody|text"); status != http.StatusOK || s.all().Posts[0].Text != "Why?\nBecause." {
		t.Errorf("%d: %s; %+v", status, body, s.all().Posts)
	}
	for query, want := range map[string]string{"?map=text=title+body": "a space in a name", "?map=txt=a": "no field of a post", "?x=y": "text: missing"} {
		if status, body := post(query); status/100 != 4 || !strings.Contains(body, want) {
			t.Errorf("%s: %d: %s, want %q", query, status, body, want)
		}
	}
}

func TestRejectsLinesAndGoesOn(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) { c.MaxText, c.MaxPost = 100, 500 }), durable)
	body := post("0") + "\n" +
		"{broken\n" +
		"\n" +
		`{"text":"no id"}` + "\n" +
		`{"id":"5","text":"` + strings.Repeat("x", 101) + `"}` + "\n" +
		`{"id":"6","text":"` + strings.Repeat("x", 600) + `"}` + "\n" +
		"{\"id\":\"7\",\"text\":\"a \xff b\"}\n" +
		post("8")
	r := send(t, s.url, strings.NewReader(body), ndjson...)
	if r.Status != 200 || r.Accepted != 3 || r.Rejected != 4 {
		t.Fatalf("answer %+v, want 3 accepted, 4 rejected", r)
	}
	var got []string
	for _, l := range r.Results {
		got = append(got, fmt.Sprint(l.Line, " ", l.Status, " ", l.ID))
	}
	want := []string{
		"1 accepted 0", "2 rejected ", "4 rejected ", "5 rejected 5", "6 rejected ", "7 accepted 7", "8 accepted 8",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	for i, word := range map[int]string{2: "id", 3: "100", 4: "500"} {
		if !strings.Contains(r.Results[i].Reason, word) {
			t.Errorf("line %d: reason %q does not say %q", r.Results[i].Line, r.Results[i].Reason, word)
		}
	}
	all := s.all()
	if r.Results[5].Note == "" || len(all.Notes) != 1 {
		t.Errorf("the change to line 7 is not told: %+v, notes %v", r.Results[5], all.Notes)
	}
	if len(all.Rejected) != 4 || all.Rejected[0].Location != "POST /v1/posts:2" || string(all.Rejected[0].Raw) != "{broken" {
		t.Errorf("dead letters %+v", all.Rejected)
	}
}

func TestArrayWithDamage(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want string // line and fate of each
		raw  string // of the first dead letter
	}{
		"inside an element": {`[` + post("0") + `,{"id":1,,},` + post("2") + `]`, "1+ 2- 3+", `{"id":1,,}`},
		"not an object":     {`[` + post("0") + `,7,"x",[],` + post("4") + `]`, "1+ 2- 3- 4- 5+", `7`},
		"no comma":          {`[` + post("0") + ` ` + post("1") + `]`, "1+ 2-", ``},
		"comma at the end":  {`[` + post("0") + `,]`, "1+ 2-", `]`},
		"cut off":           {`[` + post("0") + `,{"id":"1","te`, "1+ 2-", `{"id":"1","te`},
		"not closed":        {`[` + post("0"), "1+ 2-", ``},
		"something follows": {`[` + post("0") + `] x`, "1+ 2-", ``},
		"a quote not closed": {`[` + post("0") + `,{"id":"1","text":"a},` + post("2") + `]`, "1+ 2-",
			`{"id":"1","text":"a},` + post("2") + `]`},
		"objects, then junk": {post("0") + post("1") + "junk", "1+ 2+ 3-", "j"},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustServe(t, httpsource.Default(), durable)
			r := send(t, s.url, strings.NewReader(c.body))
			var got []string
			for _, l := range r.Results {
				got = append(got, fmt.Sprint(l.Line, map[string]string{"accepted": "+", "rejected": "-"}[l.Status]))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("fates (-want +got):\n%s", diff)
			}
			if raw := string(s.all().Rejected[0].Raw); raw != c.raw {
				t.Errorf("dead letter %q, want %q", raw, c.raw)
			}
		})
	}
}

func TestStatusWhenNothingIsAccepted(t *testing.T) {
	s := mustServe(t, httpsource.Default(), durable)
	for body, want := range map[string]int{
		"":                       400,
		" \n\n":                  400,
		"hello":                  400,
		`{"id":"1","text":`:      400,
		`{"id":"1"}`:             422,
		`[{"id":"1"}]`:           422,
		"{\"id\":1}\n{\"id\":2}": 422,
	} {
		r := send(t, s.url, strings.NewReader(body))
		if r.Status != want || r.Accepted != 0 {
			t.Errorf("%q: answer %+v, want status %d", body, r, want)
		}
		if r.Detail == "" {
			t.Errorf("%q: no detail", body)
		}
	}
	if r := send(t, s.url, strings.NewReader(" [ ]\n")); r.Status != 200 || r.Accepted != 0 || r.Rejected != 0 {
		t.Errorf("an empty list: answer %+v, want 200", r)
	}
	if r := send(t, s.url+"?results=some", strings.NewReader(post("1"))); r.Status != 400 ||
		!strings.Contains(r.Detail, "some") {
		t.Errorf("results=some: answer %+v", r)
	}
}

func TestLongAnswersListWhatMatters(t *testing.T) {
	s := mustServe(t, httpsource.Default(), durable)
	body := posts(2500) + "{broken\n"
	r := send(t, s.url, strings.NewReader(body), ndjson...)
	if r.Accepted != 2500 || r.Rejected != 1 || len(r.Results) != 1 || r.Results[0].Line != 2501 || r.Omitted != 2500 {
		t.Errorf("answer %d accepted, %d rejected, %d listed, %d omitted", r.Accepted, r.Rejected, len(r.Results), r.Omitted)
	}
	r = send(t, s.url+"?results=all", strings.NewReader(body), ndjson...)
	if len(r.Results) != 2501 || r.Omitted != 0 {
		t.Errorf("results=all: %d listed, %d omitted", len(r.Results), r.Omitted)
	}
	if want := append(sequence(2500), sequence(2500)...); !cmp.Equal(want, s.ids()) {
		t.Errorf("order of posts: %s", cmp.Diff(want, s.ids()))
	}
	for _, b := range s.batches {
		if len(b.Posts) > 1000 {
			t.Errorf("a batch of %d posts", len(b.Posts))
		}
	}
}

func TestHandsOnBeforeTheBodyEnds(t *testing.T) {
	seen := make(chan int, 10)
	s := mustServe(t, with(func(c *httpsource.Config) { c.BatchPosts = 2 }), func(b ingest.Batch) error {
		seen <- len(b.Posts)
		return nil
	})
	r, w := io.Pipe()
	answered := make(chan reply)
	go func() { answered <- send(t, s.url, r, ndjson...) }()
	_, _ = io.WriteString(w, posts(3))
	if n := <-seen; n != 2 {
		t.Errorf("first batch of %d posts, want 2", n)
	}
	_ = w.Close()
	if got := <-answered; got.Accepted != 3 {
		t.Errorf("answer %+v", got)
	}
}

func TestBodyThatStandsStill(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) { c.ReadTimeout = 50 * time.Millisecond }), durable)
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, posts(3)+`{"id":"half`) }()
	got := send(t, s.url, r, ndjson...)
	if got.Status != 408 || got.Accepted != 3 || got.Next != 4 {
		t.Errorf("answer %+v, want 408 with three accepted and the fourth next", got)
	}
}

func TestBodyTooLarge(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) { c.MaxBody, c.BatchPosts = 1000, 2 }), durable)
	r := send(t, s.url, strings.NewReader(posts(100)), ndjson...)
	if r.Status != 413 || r.Accepted != 0 || len(s.ids()) != 0 {
		t.Errorf("length known: answer %+v, %d posts taken", r, len(s.ids()))
	}

	chunked := io.MultiReader(strings.NewReader(posts(100)))
	r = send(t, s.url, chunked, ndjson...)
	if r.Status != 413 || r.Accepted == 0 || r.Next != r.Accepted+1 {
		t.Errorf("length unknown: answer %+v, want what fits and the next line", r)
	}
	if got := len(s.ids()); got != r.Accepted {
		t.Errorf("%d accepted, %d taken", r.Accepted, got)
	}

	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 1<<20))
	_ = z.Close()
	if r := send(t, s.url, bytes.NewReader(bomb.Bytes()[:min(bomb.Len(), 1000)]), "Content-Encoding", "gzip"); r.Status != 413 {
		t.Errorf("bomb: status %d, want 413", r.Status)
	}
}

func TestFullQueueAnswers429(t *testing.T) {
	n, release := 0, make(chan struct{})
	s := mustServe(t, with(func(c *httpsource.Config) {
		c.BatchPosts, c.Queue, c.Patience, c.AckTimeout = 2, 2, time.Millisecond, 20*time.Millisecond
	}),
		func(ingest.Batch) error {
			if n++; n > 1 {
				<-release
			}
			return nil
		})
	t.Cleanup(func() { close(release) })
	// The first batch is acknowledged; the second and third keep both slots, so there is none for the fourth.
	r := send(t, s.url, strings.NewReader(posts(100)), ndjson...)
	if r.Status != 429 || r.retry == "" || r.Accepted != 2 || r.Next != 3 || len(r.Results) != 2 {
		t.Errorf("answer %+v, want 429, two accepted, the third next", r)
	}
	r = send(t, s.url, strings.NewReader(post("other")), ndjson...)
	if r.Status != 429 || r.Accepted != 0 || r.Next != 1 {
		t.Errorf("answer %+v, want 429 and nothing accepted", r)
	}
	until(t, func() bool { return len(s.ids()) == 4 })
}

func TestNotDurableAnswers503(t *testing.T) {
	n := 0
	s := mustServe(t, with(func(c *httpsource.Config) { c.BatchPosts = 10 }), func(ingest.Batch) error {
		n++
		if n == 3 {
			return errors.New("disk full")
		}
		return nil
	})
	r := send(t, s.url, strings.NewReader(posts(1000)), ndjson...)
	if r.Status != 503 || r.retry == "" || r.Accepted != 20 || r.Next != 21 || len(r.Results) != 20 {
		t.Errorf("answer %d, %d accepted, next %d, %d results; want 503, 20, 21, 20", r.Status, r.Accepted, r.Next, len(r.Results))
	}
	if !strings.Contains(r.Detail, "disk full") {
		t.Errorf("detail %q does not say why", r.Detail)
	}
}

func TestAckThatNeverComes(t *testing.T) {
	h := mustNew(t, with(func(c *httpsource.Config) { c.AckTimeout = time.Millisecond }))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/posts", strings.NewReader(post("1"))))
	if w.Code != 503 {
		t.Errorf("status %d, want 503", w.Code)
	}
}

func TestShutdownFinishesWhatWasAccepted(t *testing.T) {
	started, release := make(chan struct{}, 10), make(chan struct{})
	s := mustServe(t, with(func(c *httpsource.Config) { c.BatchPosts = 2 }), func(ingest.Batch) error {
		started <- struct{}{}
		<-release
		return nil
	})
	answered := make(chan reply)
	go func() { answered <- send(t, s.url, strings.NewReader(posts(5)), ndjson...) }()
	<-started
	down := make(chan error)
	go func() { down <- s.Shutdown(context.Background()) }()
	until(t, func() bool {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/posts", strings.NewReader("")))
		return w.Code == 503 // new requests are refused while the old one is finished
	})
	close(release)
	if r := <-answered; r.Status != 200 || r.Accepted != 5 {
		t.Errorf("answer %+v, want 5 accepted", r)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if err := <-s.ended; err != io.EOF {
		t.Errorf("Next ended with %v", err)
	}
	if got := len(s.ids()); got != 5 {
		t.Errorf("%d posts taken", got)
	}
}

func TestShutdownGivesUpAtItsDeadline(t *testing.T) {
	h := mustNew(t, httpsource.Default())
	w := httptest.NewRecorder()
	served := make(chan struct{})
	go func() {
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/posts", strings.NewReader(post("1"))))
		close(served)
	}()
	b, err := h.Next(context.Background())
	if err != nil || len(b.Posts) != 1 {
		t.Fatal(b, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	<-served
	if w.Code != 503 {
		t.Errorf("the request given up was answered with %d, want 503", w.Code)
	}
	if _, err := h.Next(context.Background()); err != io.EOF {
		t.Errorf("Next: %v, want io.EOF", err)
	}
}

// until polls a condition that another goroutine brings about.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatal("did not come true in 10 s")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestDelete(t *testing.T) {
	fail := false
	s := mustServe(t, with(func(c *httpsource.Config) { c.Source = "web" }), func(ingest.Batch) error {
		if fail {
			return errors.New("disk full")
		}
		return nil
	})
	for _, path := range []string{
		"/1", "/a%2Fb?source=x", "/at:%2F%2Fdid:plc:abc%2Fapp.bsky.feed.post%2F3k?source=bluesky", "/%2E%2E?source=", "/%E6%96%87",
	} {
		if got := remove(t, s.url+path); got != 204 {
			t.Errorf("DELETE %s: status %d", path, got)
		}
	}
	want := []feed.Tombstone{
		{Source: "web", Post: "1"}, {Source: "x", Post: "a/b"},
		{Source: "bluesky", Post: "at://did:plc:abc/app.bsky.feed.post/3k"}, {Source: "", Post: ".."}, {Source: "web", Post: "文"},
	}
	if diff := cmp.Diff(want, s.all().Deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	fail = true
	if got := remove(t, s.url+"/1"); got != 503 {
		t.Errorf("not durable: status %d", got)
	}
}

func TestDeleteAuthor(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) { c.Source = "web" }), durable)
	base := strings.TrimSuffix(s.url, "posts") + "authors"
	for _, path := range []string{"/ann", "/did:plc:abc?source=bluesky", "/a%2Fb?source="} {
		if got := remove(t, base+path); got != 204 {
			t.Errorf("DELETE %s: status %d", path, got)
		}
	}
	want := []feed.Tombstone{{Source: "web", Author: "ann"}, {Source: "bluesky", Author: "did:plc:abc"}, {Author: "a/b"}}
	if diff := cmp.Diff(want, s.all().Deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if got := remove(t, base+"/"); got != 404 {
		t.Errorf("nobody: status %d", got)
	}
}

// TestDeleteLongNames: a name that no post can have is refused, and does not go into the topic.
func TestDeleteLongNames(t *testing.T) {
	s := mustServe(t, httpsource.Default(), durable)
	base, long := strings.TrimSuffix(s.url, "posts"), strings.Repeat("x", feed.MaxName+1)
	for _, path := range []string{"posts/" + long, "authors/" + long, "posts/1?source=" + long, "authors/ann?source=" + long,
		"posts/%FF", "posts/1?source=%C3", "authors/%FF"} {
		if got := remove(t, base+path); got != 400 {
			t.Errorf("DELETE %.30s...: status %d, want 400", path, got)
		}
	}
	if got := s.all().Deleted; got != nil {
		t.Errorf("%d were deleted", len(got))
	}
}

func remove(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequest("DELETE", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestWrongMethodAndPath(t *testing.T) {
	h := mustNew(t, httpsource.Default())
	for _, c := range []struct {
		method, path, allow string
		want                int
	}{
		{"GET", "/v1/posts", "POST", 405}, {"POST", "/v1/posts/7", "DELETE", 405}, {"GET", "/v1/authors/7", "DELETE", 405},
		{"GET", "/v1/other", "", 404},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.want || w.Header().Get("Allow") != c.allow || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d, Allow %q, %s", c.method, c.path, w.Code, w.Header().Get("Allow"), w.Header().Get("Content-Type"))
		}
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) { c.BatchPosts, c.Queue, c.Patience = 7, 3, time.Minute }), durable)
	var clients sync.WaitGroup
	for c := range 8 {
		clients.Go(func() {
			var b strings.Builder
			for i := range 100 {
				b.WriteString(post(fmt.Sprintf("%d-%d", c, i)) + "\n")
			}
			if r := send(t, s.url, strings.NewReader(b.String()), ndjson...); r.Accepted != 100 {
				t.Errorf("client %d: %+v", c, r)
			}
		})
	}
	clients.Wait()
	next := map[string]int{}
	for _, id := range s.ids() {
		c, i, _ := strings.Cut(id, "-")
		if i != fmt.Sprint(next[c]) {
			t.Fatalf("client %s: post %s where %d was due", c, i, next[c])
		}
		next[c]++
	}
	if len(s.ids()) != 800 {
		t.Errorf("%d posts", len(s.ids()))
	}
}

func TestNewReportsEverything(t *testing.T) {
	_, err := httpsource.New(httpsource.Config{Patience: -1})
	for _, want := range []string{"max body: 0", "queue: 0", "patience: -1ns", "logger is not set"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s too", err, want)
		}
	}
}

// TestSlashInAPath: whoever writes a slash of a name as it is gets told how to write it.
func TestSlashInAPath(t *testing.T) {
	s := mustServe(t, httpsource.Default(), durable)
	for path, want := range map[string]int{"//": 404, "/a//b": 404, "/": 404, "/%2F": 204} {
		req, _ := http.NewRequestWithContext(t.Context(), "DELETE", s.url+path, nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != want || want == 404 && !strings.Contains(string(body), "written %2F: a post / is /v1/posts/%2F") {
			t.Errorf("DELETE %s: %s %s", path, resp.Status, body)
		}
	}
}
