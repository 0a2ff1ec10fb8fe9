package telemetry

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// scrapeEvery is how often Prometheus asks by default in its own examples.
const scrapeEvery = 15 * time.Second

// TestIdleAndBusy: what a server exports to a collector and shows to Prometheus while it has nothing to do, and while posts come
// by HTTP and Kafka, each of an author, a source and a language of its own. An idle server exports no span; the number of
// series does not grow with what is in posts and paths; promtool has nothing against the page.
func TestIdleAndBusy(t *testing.T) {
	period, every := 4*time.Second, time.Second
	if *e2e.Full {
		period, every = 10*time.Minute, scrapeEvery
	}
	promtool, r := devservers.Promtool(t), start(t)
	idle := r.watch(t, "idle", period, every, func(context.Context) {})
	if idle.spans > 0 {
		t.Errorf("%d spans of an idle server: %v", idle.spans, idle.names)
	}
	r.follow(t)
	warm := r.warmUp(t, every)
	busy := r.watch(t, "busy", period, every, r.load)
	if more := busy.more(warm); busy.spans == 0 || busy.events == 0 || len(more) > 0 {
		t.Errorf("%d spans, %d events; %d series after the first posts, %d at the end: %q", busy.spans, busy.events, warm.series,
			busy.series, more)
	}
	for _, p := range []*watched{idle, busy} {
		t.Logf("%s", p)
		p.lint(t, promtool)
	}
}

// follow has a client follow the events until the test ends: to one that only reads what there is an event comes live now and then,
// and its delay has series.
func (r *rig) follow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL("/v1/events"), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, resp.Body) // until cancel
	}()
	t.Cleanup(func() {
		cancel()
		<-read
		resp.Body.Close()
	})
}

// warmUp loads the server until it has every series that a busy one has: on a slow machine some come late.
func (r *rig) warmUp(t *testing.T, period time.Duration) *watched {
	t.Helper()
	warm := r.watch(t, "warming up", period, period, r.load)
	for range 5 {
		next := r.watch(t, "warming up", period, period, r.load)
		if len(next.more(warm)) == 0 {
			break
		}
		warm = next
	}
	return warm
}

// watched is what came in a period.
type watched struct {
	name                  string
	period                time.Duration
	posts, events, spans  int
	names                 map[string]int // of spans
	page                  string         // of metrics, at the end
	series, families      int
	attributes, maxValues int // of spans: how many names there are, and the most values of one
}

// watch runs work for a period, and scrapes meanwhile.
func (r *rig) watch(t *testing.T, name string, period, every time.Duration, work func(context.Context)) *watched {
	t.Helper()
	before, spans := r.Counters(), len(r.spans.Spans())
	ctx, cancel := context.WithTimeout(t.Context(), period)
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); work(ctx) }()
	for tick := time.NewTicker(every); ctx.Err() == nil; {
		select {
		case <-tick.C:
			r.scrape(t)
		case <-ctx.Done():
			tick.Stop()
		}
	}
	<-done
	r.Events() // all is through
	w := &watched{name: name, period: period, names: map[string]int{}, page: r.scrape(t)}
	after := r.Counters()
	w.posts = int(after["refrain_ingest_posts_total/accepted"] - before["refrain_ingest_posts_total/accepted"])
	w.events = int(after["refrain_detector_events_total"] - before["refrain_detector_events_total"])
	w.countSpans(r, spans)
	w.countSeries()
	return w
}

// scrape is the page as Prometheus gets it.
func (r *rig) scrape(t *testing.T) string {
	t.Helper()
	status, page := r.Get("/metrics")
	if status != http.StatusOK {
		t.Fatalf("metrics: status %d", status)
	}
	return page
}

func (w *watched) countSpans(r *rig, from int) {
	values := map[string]map[string]bool{}
	for _, s := range r.spans.Spans()[from:] {
		w.spans++
		w.names[s.Kind.String()[len("SPAN_KIND_"):]+" "+strings.ReplaceAll(strings.ReplaceAll(s.Name, r.in, "TOPIC"), r.out, "TOPIC")]++
		for _, a := range s.Attributes {
			if values[a.Key] == nil {
				values[a.Key] = map[string]bool{}
			}
			values[a.Key][a.Value.String()] = true
		}
	}
	w.attributes = len(values)
	for _, v := range values {
		w.maxValues = max(w.maxValues, len(v))
	}
}

func (w *watched) countSeries() {
	for line := range strings.Lines(w.page) {
		switch {
		case strings.HasPrefix(line, "# TYPE "):
			w.families++
		case !strings.HasPrefix(line, "#"):
			w.series++
		}
	}
}

// comesAndGoes is a family of one series at most: which source holds the window's clock, while one does.
const comesAndGoes = "refrain_shard_held_by_seconds"

// more are the series that w has and an earlier period had not.
func (w *watched) more(than *watched) (names []string) {
	for line := range strings.Lines(w.page) {
		name := line[:strings.LastIndex(line, " ")]
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, comesAndGoes) && !strings.Contains(than.page, "\n"+name+" ") {
			names = append(names, name)
		}
	}
	return names
}

func (w *watched) String() string {
	out := fmt.Sprintf("%s for %v: %d posts, %d events, %d spans (%.2f a second), %d attributes of at most %d values; %d series in %d families, "+
		"a page of %d bytes", w.name, w.period, w.posts, w.events, w.spans, float64(w.spans)/w.period.Seconds(), w.attributes, w.maxValues,
		w.series, w.families, len(w.page))
	for _, name := range slices.Sorted(maps.Keys(w.names)) {
		out += fmt.Sprintf("\n  %6d %s", w.names[name], name)
	}
	return out
}

// inHours is the one family that promtool would have in seconds: a name that is out stays.
var inHours = regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?refrain_topic_hours_to_full.*\n`)

// lint has promtool look at the page, and logs the families with the most series.
func (w *watched) lint(t *testing.T, promtool string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics", "--extended")
	cmd.Stdin = strings.NewReader(inHours.ReplaceAllString(w.page, ""))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: promtool check metrics: %v\n%s", w.name, err, stderr.String())
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for n := 0; n < 8 && lines.Scan(); n++ {
		t.Log(lines.Text())
	}
}

// load sends posts until ctx ends, and then waits for the last answers: a request that is broken off has a status of its own. Five times
// a second there are 20 by HTTP in one trace, and 20 by Kafka in as many; one in three repeats others of its round. It also
// asks about posts, and for what is not there.
func (r *rig) load(ctx context.Context) {
	whole := context.WithoutCancel(ctx)
	pace := time.NewTicker(200 * time.Millisecond)
	defer pace.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		r.loadHTTP(whole, n)
		r.loadKafka(whole, n)
		for _, path := range []string{"/v1/posts/" + word() + "/reuse", "/nowhere/" + word()} {
			if resp, err := http.Get(r.URL(path)); err == nil {
				resp.Body.Close()
			}
		}
	}
}

const batch = 20

// loadHTTP sends a request. Whether all is well the counts tell.
func (r *rig) loadHTTP(ctx context.Context, n int) {
	var body bytes.Buffer
	for range batch {
		body.Write(madeUp(n))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL("/v1/posts"), &body)
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("traceparent", newTrace())
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

func (r *rig) loadKafka(ctx context.Context, n int) {
	var records []kafka.Message
	for range batch {
		records = append(records, kafka.Message{Value: madeUp(n), Headers: []kafka.Header{{Key: "traceparent", Value: []byte(newTrace())}}})
	}
	_ = r.writer.WriteMessages(ctx, records...) // the counts tell
}

func newTrace() string {
	return fmt.Sprintf("00-%016x%016x-%016x-01", rand.Uint64()|1, rand.Uint64(), rand.Uint64()|1)
}

func word() string { return fmt.Sprintf("w%07d", rand.IntN(10_000_000)) }

// madeUp is a post of its own, but for one in three, whose text is that of its round.
func madeUp(round int) []byte {
	words := make([]string, 12)
	for i := range words {
		words[i] = word()
	}
	if rand.IntN(3) == 0 {
		for i := range words {
			words[i] = fmt.Sprintf("again%dx%d", round, i)
		}
	}
	return fmt.Appendf(nil, `{"id":%q,"source":%q,"author":%q,"lang":"x-%.5s","text":%q}`+"\n", word()+word(), word(), word(), word(), strings.Join(words, " "))
}
