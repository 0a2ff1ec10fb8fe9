package tables

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"refrain/ingest/file"
	"refrain/internal/units"
	"refrain/lab/report"
)

// LatencyOptions are what Latency asks besides.
type LatencyOptions struct {
	Rates   []int         // posts a second
	Lasting time.Duration // of each
}

// DefaultLatency is the table's.
func DefaultLatency() LatencyOptions {
	return LatencyOptions{Rates: []int{1000, 20_000}, Lasting: 20 * time.Second}
}

// QuickLatency is a quick run's.
func QuickLatency() LatencyOptions { return LatencyOptions{Rates: []int{1000}, Lasting: time.Second} }

// LatencyFigure is how long events take at one rate.
type LatencyFigure struct {
	Rate     int     `json:"rate"`     // posts a second that were due
	Accepted float64 `json:"accepted"` // posts a second, until the last answer
	Posts    int     `json:"posts"`
	Events   int     `json:"events"`
	P50      float64 `json:"p50"` // ms
	P99      float64 `json:"p99"`
	Max      float64 `json:"max"`
	Answer99 float64 `json:"answer99"` // ms until the request was answered, p99
}

// every is the time between two requests of a client.
const every = 10 * time.Millisecond

// Latency measures the time from a post to its event through `serve`, over HTTP.
func Latency(ctx context.Context, c *Config, o LatencyOptions) (*report.Report, error) {
	if err := errors.Join(wantPositive("rates", o.Rates...), wantPositive("lasting", o.Lasting)); err != nil {
		return nil, err
	}
	file, err := c.file(size(c, Ira, smallFile))
	if err != nil {
		return nil, err
	}
	posts, err := readTexts(ctx, file, int(o.Lasting.Seconds()*float64(slices.Max(o.Rates))))
	if err != nil {
		return nil, err
	}
	r := c.report("latency", "From post to event through `serve` on loopback, θ 0.8, span 24 h: milliseconds from "+
		"the moment the request was due to the event at a client of `GET /v1/events`.",
		fmt.Sprintf("the first posts of %s, in their order, dated now", filepath.Base(file)))
	g := report.Grid{Head: []string{"posts/s due", "posts/s accepted", "posts", "events", "p50", "p99",
		"greatest", "answer p99"}}
	var all []LatencyFigure
	for _, rate := range o.Rates {
		f, err := c.latency(ctx, posts, rate, o.Lasting)
		if err != nil {
			return nil, err
		}
		c.step("latency: %d posts/s: p50 %s ms, p99 %s ms of %d events", rate, units.Three(f.P50), units.Three(f.P99), f.Events)
		g.Add(units.Thousands(rate), units.Three(f.Accepted), units.Thousands(f.Posts), units.Thousands(f.Events),
			units.Three(f.P50), units.Three(f.P99), units.Three(f.Max), units.Three(f.Answer99))
		all = append(all, *f)
	}
	r.Grids, r.Figures = []report.Grid{g}, all
	r.Note("%s of %v, each with a service of its own and an empty window; a request every %v with all posts due in "+
		"it, without waiting for answers", c.medians(), o.Lasting, every)
	r.Note("client and service share the machine; all defaults, lookup store none")
	return r, nil
}

// readTexts reads the texts of the first posts.
func readTexts(ctx context.Context, path string, n int) (texts [][]byte, err error) {
	f, err := file.Open(file.Default(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for len(texts) < n {
		batch, err := f.Next(ctx)
		for i := range batch.Posts {
			text, err := json.Marshal(batch.Posts[i].Text)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no posts", path)
	}
	return texts[:min(n, len(texts))], nil
}

func (c *Config) latency(ctx context.Context, posts [][]byte, rate int, lasting time.Duration) (*LatencyFigure, error) {
	var runs []LatencyFigure
	for run := range c.Runs {
		c.status("latency: %d posts/s, run %d of %d", rate, run+1, c.Runs)
		l := &load{posts: posts[:min(len(posts), int(lasting.Seconds()*float64(rate)))], rate: rate}
		f, err := c.latencyRun(ctx, l)
		if err != nil {
			return nil, err
		}
		runs = append(runs, *f)
	}
	f := runs[0]
	for _, of := range []func(*LatencyFigure) *float64{
		func(f *LatencyFigure) *float64 { return &f.Accepted }, func(f *LatencyFigure) *float64 { return &f.P50 },
		func(f *LatencyFigure) *float64 { return &f.P99 }, func(f *LatencyFigure) *float64 { return &f.Max },
		func(f *LatencyFigure) *float64 { return &f.Answer99 },
	} {
		var values []float64
		for i := range runs {
			values = append(values, *of(&runs[i]))
		}
		*of(&f) = median(values)
	}
	return &f, nil
}

// latencyRun starts a service, loads it, and stops it.
func (c *Config) latencyRun(ctx context.Context, l *load) (f *LatencyFigure, err error) {
	err = c.serve(ctx, "", func(address string, p *child) error {
		l.address = address
		f, err = l.run(ctx, p)
		return err
	})
	return f, err
}

// serve starts a service with an empty window and no store for look-ups, lets it be used, and stops it.
func (c *Config) serve(ctx context.Context, config string, use func(address string, p *child) error) error {
	folder, err := os.MkdirTemp("", "refrain-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "refrain.yaml")
	if err := os.WriteFile(path, []byte("lookup: {store: none}\n"+config), 0o600); err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	stopping, stop := context.WithCancel(ctx)
	defer stop()
	p, err := start(stopping, nil, c.Refrain, "serve", "--config", path, "--data", filepath.Join(folder, "data"),
		"--http", address)
	if err != nil {
		return err
	}
	err = use(address, p)
	stop()
	<-p.ended
	<-p.watched
	return err
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// load is what is sent to a service at a fixed rate, whether answers come or not.
type load struct {
	address string
	posts   [][]byte // texts, as JSON
	rate    int
	flood   [][]byte // texts of posts that are sent with these, evenly

	begin    time.Time
	client   http.Client
	answers  []time.Duration // of the requests, each counted from when it was due
	errs     []error
	events   []time.Duration                                       // from when the request of the later post was due
	observed atomic.Int64                                          // posts whose events are in, at least
	last     time.Time                                             // when the last of these came
	flooded  flooded                                               // events of the flood
	watch    func(event []byte, due time.Time, took time.Duration) // told of each of the others; may be nil
}

// flooded is what was observed of a flood.
type flooded struct {
	events    int
	posts     map[string]bool // that have events, and whether one says that there are more
	truncated int64           // look-ups that the service has counted
}

func (l *load) url(path string) string { return "http://" + l.address + path }

func (l *load) run(ctx context.Context, p *child) (*LatencyFigure, error) {
	l.client.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	defer l.client.CloseIdleConnections()
	if err := l.ready(ctx, p); err != nil {
		return nil, err
	}
	listening, done := context.WithCancel(ctx)
	defer done()
	stream, err := l.listen(listening)
	if err != nil {
		return nil, err
	}
	streamDone := make(chan error, 1)
	l.begin = time.Now().Add(every)
	go func() { streamDone <- l.observeEvents(stream) }()
	sent := l.send(ctx)
	took := time.Since(l.begin)
	if sent == nil {
		sent = l.awaitEvents(ctx)
	}
	done()
	if err := <-streamDone; sent == nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		sent = err
	}
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	if sent != nil {
		return nil, sent
	}
	return l.figure(took), nil
}

// ready waits until the service is.
func (l *load) ready(ctx context.Context, p *child) error {
	for {
		resp, err := l.client.Get(l.url("/readyz"))
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the service has ended: %w", p.wait())
		case <-ctx.Done():
			return interrupted(ctx)
		case <-time.After(every):
		}
	}
}

// listen opens the stream of events.
func (l *load) listen(ctx context.Context) (io.ReadCloser, error) { return l.get(ctx, "/v1/events") }

// observeEvents notes when events come, each once: a broker may hand one out twice.
func (l *load) observeEvents(stream io.ReadCloser) error {
	defer stream.Close()
	in := bufio.NewScanner(stream)
	in.Buffer(nil, 16<<20)
	known := map[string]bool{}
	for in.Scan() && in.Err() == nil { // with an error comes a part of a line
		data, ok := bytes.CutPrefix(in.Bytes(), []byte("data: "))
		if !ok || bytes.HasPrefix(data, []byte(`{"position":`)) {
			continue
		}
		id, ok := eventID(data)
		if !ok {
			return fmt.Errorf("an event without an id: %s", data[:min(len(data), 400)])
		}
		if known[id] {
			continue
		}
		known[id] = true
		if err := l.observe(data, time.Now()); err != nil {
			return err
		}
	}
	return in.Err()
}

// observe notes an event that came now. Its post is its subject, and the post's number tells when it was due.
func (l *load) observe(event []byte, now time.Time) error {
	_, rest, _ := strings.Cut(string(event[:min(len(event), 400)]), `"subject":"`)
	subject, _, _ := strings.Cut(rest, `"`)
	if strings.HasPrefix(subject, floodPrefix) {
		l.flooded.add(subject, event)
		return nil
	}
	n, err := strconv.Atoi(subject)
	if err != nil {
		return fmt.Errorf("an event without the number of a post: %s", event[:min(len(event), 400)])
	}
	l.events, l.last = append(l.events, now.Sub(l.due(n))), now
	if l.watch != nil {
		l.watch(event, l.due(n), now.Sub(l.due(n)))
	}
	l.observed.Add(1)
	return nil
}

// floodPrefix begins the ids of a flood's posts; the others' are numbers.
const floodPrefix = "f"

func (f *flooded) add(subject string, event []byte) {
	if f.posts == nil {
		f.posts = map[string]bool{}
	}
	f.events++
	f.posts[subject] = f.posts[subject] || bytes.Contains(event, []byte(`"truncated":true`))
}

// due is when post n is to be sent, with all of its request.
func (l *load) due(n int) time.Time { return l.begin.Add(time.Duration(n/l.each()) * every) }

// each is the number of posts of a request.
func (l *load) each() int { return max(1, int(int64(l.rate)*int64(every)/int64(time.Second))) }

// send sends all posts when they are due.
func (l *load) send(ctx context.Context) error {
	requests := l.requests()
	l.answers, l.errs = make([]time.Duration, requests), make([]error, requests)
	var all sync.WaitGroup
	defer all.Wait()
	for i := range requests {
		due := l.due(i * l.each())
		select {
		case <-ctx.Done():
			return interrupted(ctx)
		case <-time.After(time.Until(due)):
		}
		body := l.body(i)
		all.Go(func() {
			l.errs[i] = l.post(ctx, body)
			l.answers[i] = time.Since(due)
		})
	}
	all.Wait()
	return errors.Join(l.errs...)
}

func (l *load) requests() int { return (len(l.posts) + l.each() - 1) / l.each() }

// body is that of a request: its posts, and its part of the flood.
func (l *load) body(request int) []byte {
	var b []byte
	// The time that is due makes the order of two posts the same in every run.
	now := l.due(request * l.each()).UTC().Format("2006-01-02T15:04:05.000Z")
	for i := request * l.each(); i < min((request+1)*l.each(), len(l.posts)); i++ {
		b = fmt.Appendf(b, `{"id":"%d","created_at":"%s","text":%s}`+"\n", i, now, l.posts[i])
	}
	for i := request * len(l.flood) / l.requests(); i < (request+1)*len(l.flood)/l.requests(); i++ {
		b = fmt.Appendf(b, `{"id":"%s%d","created_at":"%s","text":%s}`+"\n", floodPrefix, i, now, l.flood[i])
	}
	return b
}

func (l *load) post(ctx context.Context, body []byte) error {
	status, answer, err := postLines(ctx, &l.client, l.url("/v1/posts"), bytes.NewReader(body))
	if err == nil && status != http.StatusOK {
		err = postError(status, answer)
	}
	return err
}

// get is the body of an answer.
func (l *load) get(ctx context.Context, path string) (io.ReadCloser, error) {
	return openURL(ctx, &l.client, l.url(path))
}

// awaitEvents waits until all events are out: as many as a reader from the start gets to the end of what there is.
func (l *load) awaitEvents(ctx context.Context) error {
	body, err := l.get(ctx, "/v1/events?from=start&until=now&format=ndjson")
	if err != nil {
		return err
	}
	defer body.Close()
	in := bufio.NewScanner(body)
	in.Buffer(nil, 16<<20)
	n := int64(0)
	for in.Scan() {
		n++
	}
	for begin := time.Now(); in.Err() == nil && l.observed.Load() < n; {
		if time.Since(begin) > 10*time.Second {
			return fmt.Errorf("%d events of %d have come", l.observed.Load(), n)
		}
		select {
		case <-ctx.Done():
			return interrupted(ctx)
		case <-time.After(every):
		}
	}
	return in.Err()
}

func (l *load) figure(took time.Duration) *LatencyFigure {
	slices.Sort(l.events)
	slices.Sort(l.answers)
	return &LatencyFigure{
		Rate: l.rate, Accepted: float64(len(l.posts)) / took.Seconds(), Posts: len(l.posts), Events: len(l.events),
		P50: quantile(l.events, 0.5), P99: quantile(l.events, 0.99), Max: quantile(l.events, 1),
		Answer99: quantile(l.answers, 0.99),
	}
}

// quantile in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]) / 1e6
}
