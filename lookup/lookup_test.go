package lookup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"refrain/feed"
	"refrain/lookup"
	"refrain/publish"
	"refrain/topic"
	"refrain/topic/jetstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// matcher answers with what it was made with, and remembers the question.
type matcher struct {
	asked lookup.Query
	found []lookup.Sentence
	err   error
}

func (m *matcher) Match(_ context.Context, q lookup.Query) ([]lookup.Sentence, error) {
	m.asked = q
	return m.found, m.err
}

// hooks knows one webhook, which it may not be able to enable.
type hooks struct{ enabled []string }

func (h *hooks) Status() any { return []map[string]string{{"name": "desk"}} }

func (h *hooks) Enable(_ context.Context, name string) error {
	switch name {
	case "broken":
		return errors.New("store is away")
	case "other":
		return fmt.Errorf("webhook %s: %w", name, lookup.ErrUnknown)
	}
	h.enabled = append(h.enabled, name)
	return nil
}

// learners knows one model, 7, and a damaged one, 5, and is busy when told so.
type learners struct {
	busy  bool
	asked []string
}

func (l *learners) Status() any { return map[string]int{"current": 7} }

func (l *learners) Learn() error { return l.ask("learn") }

func (l *learners) Use(id int) error {
	if id == 5 {
		return fmt.Errorf("%w: 5.model: checksum mismatch", lookup.ErrUnusable)
	}
	if id != 7 {
		return fmt.Errorf("model %d: %w", id, lookup.ErrUnknown)
	}
	return l.ask("use 7")
}

func (l *learners) ask(what string) error {
	if l.busy {
		return lookup.ErrBusy
	}
	l.asked = append(l.asked, what)
	return nil
}

func said(what string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, what, " ", r.Method, " ", r.URL.RequestURI())
	})
}

// config is an API of which everything works.
func config() lookup.Config {
	yes := func(context.Context) error { return nil }
	return lookup.Config{
		Posts: said("posts"), Events: said("events"), Metrics: said("metrics"), Matcher: &matcher{},
		Recent: lookup.NewTail(topic.NewMemory(topic.MemoryConfig{}), 5),
		Reuse:  said("reuse"), Text: said("text"), Author: said("author"), Webhooks: new(hooks), Models: new(learners),
		Explain: func(_ context.Context, a, b string) (any, error) { return map[string]string{"a": a, "b": b}, nil },
		Live:    yes, Ready: yes, Logger: slog.New(slog.DiscardHandler),
	}
}

func mustNew(t *testing.T, cfg lookup.Config) http.Handler {
	t.Helper()
	h, err := lookup.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

// detail reads a problem document.
func detail(t *testing.T, w *httptest.ResponseRecorder, status int) string {
	t.Helper()
	if w.Code != status || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("status %d, %s: %s; want a problem with status %d", w.Code, w.Header().Get("Content-Type"), w.Body, status)
	}
	var p struct{ Detail string }
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%v in %s", err, w.Body)
	}
	return p.Detail
}

type description struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string `yaml:"operationId"`
		Parameters  []struct {
			Name, In string
			Schema   map[string]any
		}
		Responses map[string]any
	}
	Components map[string]map[string]any
}

func served(t *testing.T) (d description, raw string) {
	t.Helper()
	w := ask(mustNew(t, config()), "GET", "/openapi.yaml", "")
	if err := yaml.Unmarshal(w.Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d, w.Body.String()
}

// TestOpenAPIDescribesWhatIsServed goes both ways: whatever is described is served, with those methods and
// query parameters, and 405 answers allow nothing else; every route has one.
func TestOpenAPIDescribesWhatIsServed(t *testing.T) {
	d, _ := served(t)
	h := mustNew(t, config())
	if len(d.Paths) == 0 || !strings.HasPrefix(d.OpenAPI, "3.1") {
		t.Fatalf("openapi %q with %d paths", d.OpenAPI, len(d.Paths))
	}
	for path, methods := range d.Paths {
		target := strings.ReplaceAll(path, "{id}", "7")
		for method, op := range methods {
			w := ask(h, strings.ToUpper(method), target, `{"text":""}`)
			if w.Code == 404 || w.Code == 405 {
				t.Errorf("%s %s is described and not served: %d", method, path, w.Code)
			}
			for _, p := range op.Parameters {
				if p.In != "query" {
					continue
				}
				w := ask(h, strings.ToUpper(method), target+"?"+p.Name+"=x", `{"text":""}`)
				if strings.Contains(w.Body.String(), "Unknown query") {
					t.Errorf("%s %s: parameter %s is described and unknown", method, path, p.Name)
				}
			}
		}
		w := ask(h, "PATCH", target, "")
		detail(t, w, 405)
		for _, m := range strings.Split(w.Header().Get("Allow"), ", ") {
			if _, ok := methods[strings.ToLower(m)]; !ok && m != "HEAD" {
				t.Errorf("%s %s is served and not described", m, path)
			}
		}
	}
}

func TestOpenAPIReferencesResolve(t *testing.T) {
	d, raw := served(t)
	for _, rest := range strings.Split(raw, `$ref: "#/components/`)[1:] {
		ref, _, _ := strings.Cut(rest, `"`)
		kind, name, _ := strings.Cut(ref, "/")
		if d.Components[kind][name] == nil {
			t.Errorf("reference to %s, which is not there", ref)
		}
	}
	seen := map[string]bool{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			if op.OperationID == "" || seen[op.OperationID] || len(op.Responses) == 0 {
				t.Errorf("%s %s: operationId %q is empty or used twice, or there are no responses", method, path, op.OperationID)
			}
			seen[op.OperationID] = true
		}
	}
}

func TestUnknownPathMethodAndParameter(t *testing.T) {
	h := mustNew(t, config())
	detail(t, ask(h, "GET", "/v2/posts", ""), 404)
	detail(t, ask(h, "GET", "/index.html", ""), 404)
	w := ask(h, "PUT", "/v1/events", "")
	detail(t, w, 405)
	if got := w.Header().Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow %q", got)
	}
	got := detail(t, ask(h, "GET", "/v1/events?form=start&untill=now&from=start", ""), 400)
	if want := "Unknown query parameters: form, untill. Known here: from, until, format."; got != want {
		t.Errorf("detail %q, want %q", got, want)
	}
	if got := detail(t, ask(h, "GET", "/livez?x", ""), 400); !strings.Contains(got, "x") {
		t.Errorf("detail %q", got)
	}
}

func TestHandlersAreMounted(t *testing.T) {
	h := mustNew(t, config())
	for target, want := range map[string]string{
		"POST /v1/posts?results=all":           "posts POST /v1/posts?results=all",
		"DELETE /v1/posts/at:%2F%2Fa?source=x": "posts DELETE /v1/posts/at:%2F%2Fa?source=x",
		"GET /v1/events?from=start":            "events GET /v1/events?from=start",
		"GET /metrics":                         "metrics GET /metrics",
		"GET /livez":                           "ok\n",
		"GET /readyz":                          "ok\n",
	} {
		method, path, _ := strings.Cut(target, " ")
		if w := ask(h, method, path, ""); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %q, want %q", target, w.Code, w.Body, want)
		}
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := lookup.New(lookup.Config{Posts: said("")})
	for _, name := range []string{"Events", "Metrics", "Matcher", "Recent", "Explain", "Live", "Ready"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
}

func TestHealthSaysWhyNot(t *testing.T) {
	cfg := config()
	cfg.Ready = func(context.Context) error { return errors.New("replaying partition 3") }
	if got := detail(t, ask(mustNew(t, cfg), "GET", "/readyz", ""), 503); got != "replaying partition 3" {
		t.Errorf("detail %q", got)
	}
}

func TestMatch(t *testing.T) {
	at := feed.Time(1767323045000)
	m := &matcher{found: []lookup.Sentence{
		{Index: 0, Start: 0, End: 3, Compared: false},
		{Index: 1, Start: 4, End: 10, Compared: true, Matches: []feed.Match{{
			Scheme: "near", Jaccard: 0.875, Occurrences: 3, Earlier: feed.Occurrence{Post: "p1", Text: "<b>", Time: at},
		}}},
	}}
	cfg := config()
	cfg.Matcher = m
	h := mustNew(t, cfg)
	w := ask(h, "POST", "/v1/match", `{"text":"Hi. <b>bold","lang":"en","threshold":0.8750}`)
	if want := (lookup.Query{Text: "Hi. <b>bold", Lang: "en", Threshold: "0.8750"}); m.asked != want {
		t.Errorf("asked %+v, want %+v: a number keeps its digits", m.asked, want)
	}
	var got struct {
		Sentences []struct {
			Sentence, Start, End int
			Text                 string
			Compared             bool
			Matches              []struct {
				Jaccard float64
				Earlier struct{ Post, Text string }
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if len(got.Sentences) != 2 || got.Sentences[0].Matches == nil || got.Sentences[1].Text != "<b>bol" {
		t.Fatalf("answer %s", w.Body)
	}
	if found := got.Sentences[1].Matches[0]; found.Jaccard != 0.875 || found.Earlier.Post != "p1" || found.Earlier.Text != "<b>" {
		t.Errorf("match %+v", found)
	}

	ask(h, "POST", "/v1/match", `{"text":"x","threshold":"4/5"}`)
	if m.asked.Threshold != "4/5" {
		t.Errorf("threshold %q", m.asked.Threshold)
	}
	for body, word := range map[string]string{
		``: "body", `{`: "body", `[]`: "body", `{}`: "text", `{"text":"a"} x`: "follows", `{"text":"a","treshold":1}`: "treshold",
		`{"text":"a","threshold":[1]}`: "threshold", `{"text":7}`: "text",
	} {
		if got := detail(t, ask(h, "POST", "/v1/match", body), 400); !strings.Contains(got, word) {
			t.Errorf("%s: detail %q does not say %q", body, got, word)
		}
	}
	detail(t, ask(h, "POST", "/v1/match", `{"text":"`+strings.Repeat("x", 3<<20)+`"}`), 413)
	m.err = fmt.Errorf("threshold %q: %w", "2", lookup.ErrInput)
	detail(t, ask(h, "POST", "/v1/match", `{"text":"a"}`), 400)
	m.err = errors.New("secret")
	if got := detail(t, ask(h, "POST", "/v1/match", `{"text":"a"}`), 500); strings.Contains(got, "secret") {
		t.Errorf("an inner error is shown: %q", got)
	}
}

func TestExplain(t *testing.T) {
	h := mustNew(t, config())
	w := ask(h, "GET", "/v1/explain?a=x+y&b=%E6%96%87", "")
	if got, want := w.Body.String(), `{"a":"x y","b":"文"}`+"\n"; got != want {
		t.Errorf("answer %q, want %q", got, want)
	}
	if got := detail(t, ask(h, "GET", "/v1/explain?a=x", ""), 400); !strings.Contains(got, "parameter b") {
		t.Errorf("detail %q", got)
	}
}

func TestPanicBecomesAProblem(t *testing.T) {
	cfg := config()
	cfg.Events = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") })
	cfg.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		panic("oh")
	})
	h := mustNew(t, cfg)
	detail(t, ask(h, "GET", "/v1/events", ""), 500)
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("half an answer ends with %v, want the connection to be cut", cause)
		}
	}()
	ask(h, "GET", "/metrics", "")
}

func TestPageEscapesWhatPostsSay(t *testing.T) {
	top := topic.NewMemory(topic.MemoryConfig{})
	evil := `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	m := feed.Match{Jaccard: 1, Later: feed.Occurrence{Text: evil, Author: evil, Post: evil}, Earlier: feed.Occurrence{Text: "earlier words"}}
	if err := top.Append(t.Context(), []topic.Record{{Data: m.AppendEvent(nil, "d")}, {Data: []byte("rubbish")}}); err != nil {
		t.Fatal(err)
	}
	tail := lookup.NewTail(top, 3)
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

func TestTailKeepsTheLatest(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		top := topic.NewMemory(topic.MemoryConfig{Partitions: 2, Ordered: ordered})
		var records []topic.Record
		for i := range 20 {
			m := feed.Match{Later: feed.Occurrence{Post: fmt.Sprintf("%02d", i)}}
			records = append(records, topic.Record{Partition: i % 2, Data: m.AppendEvent(nil, "d")})
		}
		if err := top.Append(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		tail := lookup.NewTail(top, 4)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- tail.Run(ctx) }()
		deadline := time.Now().Add(10 * time.Second)
		for len(tail.Latest(9)) < 4 && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		cancel()
		<-ended
		var got []string
		for _, m := range tail.Latest(9) {
			got = append(got, m.Later.Post)
		}
		slices.Sort(got)
		if len(got) != 4 || got[0] < "12" {
			t.Errorf("ordered %v: latest %v", ordered, got)
		}
	}
}

func TestTailTakesRetractedPostsAway(t *testing.T) {
	top := topic.NewMemory(topic.MemoryConfig{})
	event := func(later, earlier, first string) topic.Record {
		m := feed.Match{Later: feed.Occurrence{Post: later}, Earlier: feed.Occurrence{Post: earlier}, First: feed.First{Post: first}}
		return topic.Record{Data: m.AppendEvent(nil, "d")}
	}
	retracted := `{"specversion":"1.0","type":"dev.refrain.retracted.v1","data":{"source":"","post":"gone"}}`
	err := top.Append(t.Context(), []topic.Record{
		event("gone", "a", "a"), event("b", "gone", "a"), event("c", "a", "gone"), event("d", "a", "a"),
		{Data: []byte(retracted)}, {Data: []byte(`{"type":"dev.refrain.other.v1"}`)}, event("last", "a", "a"),
	})
	if err != nil {
		t.Fatal(err)
	}
	tail := lookup.NewTail(top, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- tail.Run(ctx) }()
	deadline := time.Now().Add(10 * time.Second)
	for len(tail.Latest(1)) == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	var got []string
	for _, m := range tail.Latest(10) {
		got = append(got, m.Later.Post)
	}
	if diff := cmp.Diff([]string{"last", "d"}, got); diff != "" {
		t.Errorf("latest (-want +got):\n%s", diff)
	}
}

// TestStreamThroughTheAPI runs the real event stream behind the middleware: flushing and deadlines must reach
// the connection.
func TestStreamThroughTheAPI(t *testing.T) {
	top := topic.NewMemory(topic.MemoryConfig{})
	events := publish.NewEvents(publish.EventsConfig{Topic: top, Settle: func(context.Context) error { return errors.New("stuck") },
		Logger: slog.New(slog.DiscardHandler)})
	cfg := config()
	cfg.Events = events
	web := httptest.NewUnstartedServer(mustNew(t, cfg))
	web.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	web.Start()
	defer http.DefaultClient.CloseIdleConnections()
	defer web.Close()
	defer events.Close()

	resp, err := http.Get(web.URL + "/v1/events?format=ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	m := feed.Match{Later: feed.Occurrence{Post: "p"}}
	if err := top.Append(t.Context(), []topic.Record{{Data: m.AppendEvent(nil, "d")}}); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len(m.AppendEvent(nil, "d"))+1)
	if _, err := io.ReadFull(resp.Body, line); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(m.AppendEvent(nil, "d"))+"\n", string(line)); diff != "" {
		t.Error(diff)
	}

	whole, err := http.Get(web.URL + "/v1/events?from=start&until=now")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Body.Close()
	if _, err := io.ReadAll(whole.Body); err == nil {
		t.Error("a stream cut short looks whole to the client")
	}
}

func TestWebhooks(t *testing.T) {
	cfg, h := config(), new(hooks)
	cfg.Webhooks = h
	api := mustNew(t, cfg)
	if w := ask(api, "GET", "/v1/webhooks", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `{"webhooks":[{"name":"desk"}]}`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if w := ask(api, "POST", "/v1/webhooks/desk/enable", ""); w.Code != 204 || !slices.Equal(h.enabled, []string{"desk"}) {
		t.Errorf("status %d, enabled %q", w.Code, h.enabled)
	}
	if got := detail(t, ask(api, "POST", "/v1/webhooks/other/enable", ""), 404); !strings.Contains(got, `"other"`) {
		t.Errorf("detail %q", got)
	}
	detail(t, ask(api, "POST", "/v1/webhooks/broken/enable", ""), 500)
}

func TestModels(t *testing.T) {
	cfg, l := config(), new(learners)
	cfg.Models = l
	api := mustNew(t, cfg)
	if w := ask(api, "GET", "/v1/models", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `{"current":7}`) {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	for _, test := range []struct {
		path string
		want int
	}{{"learn", 202}, {"7/use", 202}, {"4/use", 404}, {"x/use", 404}, {"-7/use", 404}} {
		if w := ask(api, "POST", "/v1/models/"+test.path, ""); w.Code != test.want {
			t.Errorf("POST %s: status %d, want %d", test.path, w.Code, test.want)
		}
	}
	if want := []string{"learn", "use 7"}; !slices.Equal(l.asked, want) {
		t.Errorf("asked for %q, want %q", l.asked, want)
	}
	if got, want := detail(t, ask(api, "POST", "/v1/models/5/use", ""), 422), "it cannot be used: 5.model: checksum mismatch"; !strings.Contains(got, want) {
		t.Errorf("detail %q, want %q", got, want)
	}
	l.busy = true
	detail(t, ask(api, "POST", "/v1/models/learn", ""), 409)
	detail(t, ask(api, "POST", "/v1/models/7/use", ""), 409)
}

// TestTailOfAPackedTopic: events that came one by one lie 32 positions apart, and the page shows as many of them.
func TestTailOfAPackedTopic(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	server, err := jetstream.Start(jetstream.Config{Dir: t.TempDir(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	top, err := server.OpenTopic(t.Context(), jetstream.TopicConfig{Name: "events", Packed: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		m := feed.Match{Later: feed.Occurrence{Post: fmt.Sprint(i)}}
		if err := top.Append(t.Context(), []topic.Record{{Data: m.AppendEvent(nil, "d")}}); err != nil {
			t.Fatal(err)
		}
	}
	tail := lookup.NewTail(top, 20)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- tail.Run(ctx) }()
	deadline := time.Now().Add(10 * time.Second)
	for n := 0; n < 20; n = len(tail.Latest(100)) {
		if time.Now().After(deadline) {
			t.Errorf("%d events on the page, want 20", n)
			break
		}
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
