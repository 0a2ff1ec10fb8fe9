package tables

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/units"
	"refrain/lab/cpu"
	"refrain/lab/report"
	"refrain/text"
)

// FloodOptions are what Flood asks besides.
type FloodOptions struct {
	Flood      int           // variants
	Rate       int           // other posts a second
	Lasting    time.Duration // in which all are sent
	Others     int           // other posts where they are sent as fast as they are taken
	Patience   time.Duration // how long events of the others are waited for
	MaxMatches []int         // caps
	Alone      int           // variants whose verifications are counted, with a cap and without
}

// DefaultFlood is the table's: the caps are that of serve, and a tenth of it.
func DefaultFlood() FloodOptions {
	return FloodOptions{
		Flood: 100_000, Rate: 2000, Lasting: time.Minute, Others: 200_000, Patience: 15 * time.Second,
		MaxMatches: []int{1000, 100}, Alone: 10_000,
	}
}

// QuickFlood is a quick run's.
func QuickFlood() FloodOptions {
	return FloodOptions{Flood: 300, Rate: 500, Lasting: time.Second, Others: 1000, Patience: 10 * time.Second,
		MaxMatches: []int{20}, Alone: 1000}
}

func (o *FloodOptions) validate() error {
	return errors.Join(wantPositive("flood", o.Flood), wantPositive("rate", o.Rate), wantPositive("lasting", o.Lasting),
		wantPositive("others", o.Others),
		wantPositive("patience", o.Patience), wantPositive("alone", o.Alone), wantPositive("max matches", o.MaxMatches...))
}

// reported is how many matches of too many are reported: flood_matches of serve.
const reported = 10

// FloodFigure is a service that gets other posts, with a flood or alone.
type FloodFigure struct {
	Flood      int `json:"flood"` // posts of it; 0: the others alone
	MaxMatches int `json:"maxMatches"`

	// At a fixed rate of others.
	Others      int     `json:"others"`
	Expected    int     `json:"expected"` // events of the others when they are alone
	Events      int     `json:"events"`   // those that came
	P50         float64 `json:"p50"`      // ms, over the expected ones
	P99         float64 `json:"p99"`
	FloodEvents int     `json:"floodEvents"` // that came
	FloodPosts  int     `json:"floodPosts"`  // that have them
	Flagged     int     `json:"flagged"`     // of these, with an event that says that there are more
	Truncated   int64   `json:"truncated"`   // look-ups, one of a sentence in a partition, as the service counts them
	Peak        int64   `json:"peak"`        // bytes, RSS

	// As fast as they are taken.
	Accepted float64 `json:"accepted"` // posts a second
	Through  float64 `json:"through"`  // of the others, a second, whose events are out
	All      float64 `json:"all"`      // with the flood's, which are sent evenly among them
}

// CapFigure is a flood alone in a window, looked up with a cap.
type CapFigure struct {
	MaxMatches    int     `json:"maxMatches"` // 0: none
	Lookups       int64   `json:"lookups"`
	Verifications int64   `json:"verifications"`
	Events        int64   `json:"events"`
	Truncated     int64   `json:"truncated"`
	CPU           float64 `json:"cpu"` // µs a look-up
}

// Flood measures what variants of one template do to a service and to the other posts in it.
func Flood(ctx context.Context, c *Config, o FloodOptions) (*report.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	file, err := c.file(size(c, Ira, smallFile))
	if err != nil {
		return nil, err
	}
	texts, err := readTexts(ctx, file, max(o.Others, int(o.Lasting.Seconds()*float64(o.Rate))))
	if err != nil {
		return nil, err
	}
	r := c.report("flood", fmt.Sprintf("A flood through `serve` over HTTP: %s variants of one template, nine fixed "+
		"words and one that is random, in %v among other posts.", units.Thousands(o.Flood), o.Lasting),
		fmt.Sprintf("the others: the first posts of %s, in their order, dated now", filepath.Base(file)))
	x := floods{config: c, options: o, texts: texts}
	all, err := x.all(ctx)
	if err != nil {
		return nil, err
	}
	caps, err := c.floodCaps(ctx, o)
	if err != nil {
		return nil, err
	}
	r.Figures = struct {
		Serve []FloodFigure `json:"serve"`
		Caps  []CapFigure   `json:"caps"`
	}{all, caps}
	r.Grids = append(floodGrids(all, o), capGrid(caps, o))
	floodNotes(r, o)
	return r, nil
}

// floods are the runs of a service.
type floods struct {
	config  *Config
	options FloodOptions
	texts   [][]byte // of the other posts
}

// all is the others alone, which tells what events they have, and with a flood at every cap.
func (x *floods) all(ctx context.Context) (all []FloodFigure, err error) {
	alone := FloodFigure{MaxMatches: x.options.MaxMatches[0]}
	var events [2]int // at the fixed rate, and as fast as they are taken
	if err := x.measure(ctx, &alone, &events); err != nil {
		return nil, err
	}
	all = append(all, alone)
	for _, maxMatches := range x.options.MaxMatches {
		f := FloodFigure{Flood: x.options.Flood, MaxMatches: maxMatches}
		if err := x.measure(ctx, &f, &events); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// measure runs two services. The number of events to expect is set by the others alone.
func (x *floods) measure(ctx context.Context, f *FloodFigure, events *[2]int) error {
	c, o := x.config, x.options
	steady := &load{posts: x.texts[:min(len(x.texts), int(o.Lasting.Seconds()*float64(o.Rate)))], rate: o.Rate}
	// A thousand others a request.
	fast := &load{posts: x.texts[:min(len(x.texts), o.Others)], rate: 1000 * int(time.Second/every)}
	if f.Flood > 0 {
		variants := variants(f.Flood)
		steady.flood, fast.flood = variants, variants
	}
	c.status("flood: %s variants, max_matches %d, %d other posts/s", units.Thousands(f.Flood), f.MaxMatches, o.Rate)
	if err := x.run(ctx, f, steady, &events[0], (*load).send, f.steady); err != nil {
		return err
	}
	c.step("flood: %s variants, max_matches %d: %d of %d events of the others, p99 %s ms, %d of the flood",
		units.Thousands(f.Flood), f.MaxMatches, f.Events, f.Expected, units.Three(f.P99), f.FloodEvents)
	c.status("flood: %s variants, max_matches %d, as fast as they are taken", units.Thousands(f.Flood), f.MaxMatches)
	if err := x.run(ctx, f, fast, &events[1], (*load).sendAll, f.fast); err != nil {
		return err
	}
	c.step("flood: %s variants, max_matches %d: accepted %s posts/s, the others through %s posts/s",
		units.Thousands(f.Flood), f.MaxMatches, units.Three(f.Accepted), units.Three(f.Through))
	return nil
}

// run is one service and what is sent to it. One that a flood keeps busy is killed: it would finish that first.
func (x *floods) run(ctx context.Context, f *FloodFigure, l *load, events *int, send func(*load, context.Context) error,
	note func(*load, int, time.Duration)) error {
	var service *child
	err := x.config.serve(ctx, fmt.Sprintf("window: {max_matches: %d}\n", f.MaxMatches), func(address string, p *child) error {
		l.address, service = address, p
		took, err := l.floodRun(ctx, p, events, send, x.options.Patience)
		if err == nil {
			err = l.countTruncated(ctx)
		}
		if f.Flood > 0 {
			_ = p.cmd.Process.Kill() // it may have ended
		}
		if err == nil {
			note(l, *events, took)
		}
		return err
	})
	if err == nil {
		f.Peak = max(f.Peak, service.peak)
	}
	return err
}

// floodRun sends all, and waits for as many events of the others as there are when they are alone, or finds out how many
// that is.
func (l *load) floodRun(ctx context.Context, p *child, events *int, send func(*load, context.Context) error,
	patience time.Duration) (took time.Duration, err error) {
	l.client.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	defer l.client.CloseIdleConnections()
	if err := l.ready(ctx, p); err != nil {
		return 0, err
	}
	listening, done := context.WithCancel(ctx)
	defer done()
	stream, err := l.listen(listening)
	if err != nil {
		return 0, err
	}
	streamDone := make(chan error, 1)
	l.begin = time.Now().Add(every)
	go func() { streamDone <- l.observeEvents(stream) }()
	err = send(l, ctx)
	took = time.Since(l.begin)
	switch {
	case err != nil:
	case *events == 0:
		err = l.awaitEvents(ctx)
		*events = int(l.observed.Load())
	default:
		err = l.await(ctx, *events, patience)
	}
	done()
	if broken := <-streamDone; err == nil && ctx.Err() == nil && !errors.Is(broken, context.Canceled) {
		err = broken
	}
	if len(l.events) < *events {
		l.last = time.Now() // the last has not come yet
	}
	return took, errors.Join(interrupted(ctx), err)
}

// sendAll sends a request when the one before is answered.
func (l *load) sendAll(ctx context.Context) error {
	for i := range l.requests() {
		if err := l.post(ctx, l.body(i)); err != nil {
			return err
		}
	}
	return nil
}

// countTruncated reads the service's counter.
func (l *load) countTruncated(ctx context.Context) error {
	body, err := l.get(ctx, "/metrics")
	if err != nil {
		return err
	}
	defer body.Close()
	for in := bufio.NewScanner(body); in.Scan(); {
		if !strings.HasPrefix(in.Text(), "refrain_detector_truncated_total") {
			continue
		}
		fields := strings.Fields(in.Text())
		n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		l.flooded.truncated += int64(n)
		return err
	}
	return errors.New("GET /metrics: no refrain_detector_truncated_total")
}

// await waits for so many events of the others, but not for ever.
func (l *load) await(ctx context.Context, events int, patience time.Duration) error {
	for begin := time.Now(); int(l.observed.Load()) < events && time.Since(begin) < patience; {
		select {
		case <-ctx.Done():
			return interrupted(ctx)
		case <-time.After(every):
		}
	}
	return nil
}

// steady reads what a run at the fixed rate has observed. An event that did not come counts as the greatest of all.
func (f *FloodFigure) steady(l *load, expected int, _ time.Duration) {
	slices.Sort(l.events)
	f.Others, f.Expected, f.Events = len(l.posts), expected, min(expected, len(l.events))
	missing := make([]time.Duration, expected-f.Events)
	for i := range missing {
		missing[i] = neverCame
	}
	waits := append(slices.Clone(l.events[:f.Events]), missing...)
	f.P50, f.P99 = quantile(waits, 0.5), quantile(waits, 0.99)
	f.FloodEvents, f.FloodPosts, f.Truncated = l.flooded.events, len(l.flooded.posts), l.flooded.truncated
	for _, flagged := range l.flooded.posts {
		if flagged {
			f.Flagged++
		}
	}
}

// neverCame stands for an event that did not come while it was waited for.
const neverCame = 1000 * time.Hour

// fast reads what a run without pauses has observed.
func (f *FloodFigure) fast(l *load, expected int, took time.Duration) {
	f.Accepted = float64(len(l.posts)+len(l.flood)) / took.Seconds()
	if len(l.events) == 0 {
		return
	}
	share := float64(min(expected, len(l.events))) / float64(expected)
	f.Through = share * float64(len(l.posts)) / l.last.Sub(l.begin).Seconds()
	f.All = f.Through * (float64(len(l.posts)+len(l.flood)) / float64(len(l.posts)))
}

// variants are texts of nine fixed words and one that is random, as JSON.
func variants(n int) (texts [][]byte) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		word := make([]byte, 12)
		for i := range word {
			word[i] = 'a' + byte(random.IntN(26))
		}
		text, err := json.Marshal("hurry up and claim your free golden tickets today " + string(word))
		if err != nil {
			panic(err) // a string
		}
		texts = append(texts, text)
	}
	return texts
}

// floodCaps looks a flood up that is alone in a window, and counts what was verified, with caps and without.
func (c *Config) floodCaps(ctx context.Context, o FloodOptions) (all []CapFigure, err error) {
	sentences, err := floodSentences(o.Alone)
	if err != nil {
		return nil, err
	}
	e, err := c.engine("prefix")
	if err != nil {
		return nil, err
	}
	for _, maxMatches := range append(slices.Clone(o.MaxMatches), 0) {
		c.status("flood: %s variants alone, max_matches %d", units.Thousands(o.Alone), maxMatches)
		f, err := floodCap(ctx, sentences, e, maxMatches)
		if err != nil {
			return nil, err
		}
		c.step("flood: %s variants alone, max_matches %d: %d verifications, %s µs a look-up", units.Thousands(o.Alone),
			maxMatches, f.Verifications, units.Three(f.CPU))
		all = append(all, *f)
	}
	return all, nil
}

func floodCap(ctx context.Context, sentences []feed.Sentence, e detector.Engine, maxMatches int) (*CapFigure, error) {
	m, err := model()
	if err != nil {
		return nil, err
	}
	cfg := detector.Default()
	cfg.Span, cfg.Lateness, cfg.MaxMatches, cfg.Flood, cfg.Model, cfg.Engine = long, time.Minute, maxMatches,
		min(maxMatches, reported), m, e
	d, err := detector.NewPartition(cfg)
	if err != nil {
		return nil, err
	}
	var matches []feed.Match
	begin := cpu.Time()
	for i := range sentences {
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		matches = d.LookupNew(matches[:0], &sentences[i])
		d.Insert(&sentences[i])
	}
	took, n := cpu.Time()-begin, d.Counts()
	return &CapFigure{maxMatches, n.Lookups, n.Candidates, n.Matches, n.Truncated,
		float64(took) / 1e3 / float64(max(1, n.Lookups))}, nil
}

// floodSentences are a flood within a minute.
func floodSentences(n int) (all []feed.Sentence, err error) {
	var splitter text.Splitter
	for i, quoted := range variants(n) {
		p := feed.Post{ID: fmt.Sprint(floodPrefix, i), Time: firstTime + feed.Time(i*60_000/n)}
		if err := json.Unmarshal(quoted, &p.Text); err != nil {
			return nil, err
		}
		all, _ = splitter.Sentences(all, &p, text.DefaultMinTokens)
	}
	return all, nil
}

func floodGrids(all []FloodFigure, o FloodOptions) []report.Grid {
	steady := report.Grid{Caption: fmt.Sprintf("**%s other posts/s for %v, and the flood evenly among them**: from "+
		"post to event of the others", units.Thousands(o.Rate), o.Lasting),
		Head: []string{"", "max_matches", "p50, ms", "p99, ms", "events of the others that came",
			"events of the flood that came", "flood posts they are of", "of these flagged truncated",
			"truncated look-ups counted", "peak RSS of both services"}}
	fast := report.Grid{Caption: fmt.Sprintf("**%s other posts as fast as they are taken**, posts/s",
		units.Thousands(o.Others)),
		Head: []string{"", "max_matches", "accepted, with the flood", "of the others, through", "of all, through"}}
	for _, f := range all {
		name := "others alone"
		if f.Flood > 0 {
			name = "with the flood"
		}
		steady.Add(name, units.Thousands(f.MaxMatches), wait(f.P50), wait(f.P99),
			fmt.Sprintf("%s of %s", units.Thousands(f.Events), units.Thousands(f.Expected)),
			units.Thousands(f.FloodEvents), units.Thousands(f.FloodPosts), units.Thousands(f.Flagged),
			units.Thousands(int(f.Truncated)), units.Bytes(f.Peak))
		fast.Add(name, units.Thousands(f.MaxMatches), units.Three(f.Accepted), units.Three(f.Through), units.Three(f.All))
	}
	return []report.Grid{steady, fast}
}

func wait(ms float64) string {
	if ms >= float64(neverCame)/1e6 {
		return "did not come"
	}
	return units.Three(ms)
}

func capGrid(caps []CapFigure, o FloodOptions) report.Grid {
	g := report.Grid{Caption: fmt.Sprintf("**What the cap saves**: %s variants alone in one window, looked up and "+
		"inserted one by one", units.Thousands(o.Alone)),
		Head: []string{"max_matches", "verifications", "against none", "events", "truncated look-ups", "CPU, µs a look-up"}}
	none := caps[len(caps)-1]
	for _, f := range caps {
		name := units.Thousands(f.MaxMatches)
		if f.MaxMatches == 0 {
			name = "none"
		}
		g.Add(name, units.Thousands(int(f.Verifications)),
			units.Times(float64(none.Verifications)/float64(max(1, f.Verifications))), units.Thousands(int(f.Events)),
			units.Thousands(int(f.Truncated)), units.Three(f.CPU))
	}
	return g
}

func floodNotes(r *report.Report, o FloodOptions) {
	r.Note("one run; every line of serve is two services with empty windows, all defaults but max_matches; a " +
		"look-up that finds more reports flood_matches of them, 10, of which each of the 4 partitions of the window " +
		"has its share, 3")
	r.Note("latency counts from the moment the request was due to the event at a client of `GET /v1/events`, which "+
		"gets those of the flood too; client and service share the machine; events of the others are waited for at "+
		"most %v after the last post, and one that did not come counts as the greatest; then the service is killed, "+
		"which would finish the flood first", o.Patience)
	r.Note("through: other posts times the share of their events that came, by the time until the last of these, " +
		"or until the waiting ended when some did not come; of all: with the posts of the flood, which stand evenly among them")
	r.Note("truncated look-ups: `refrain_detector_truncated_total` when the waiting ended, which is counted at the " +
		"end of a turn of the match worker")
	r.Note("a verification is a pair of token sets that was compared (detector.Counts.Candidates)")
}
