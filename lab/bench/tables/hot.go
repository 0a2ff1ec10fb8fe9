package tables

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"refrain/internal/units"
	"refrain/lab/report"
)

// HotOptions are what Hot asks besides.
type HotOptions struct {
	Broker     string        // kafka or nats
	Workers    int           // processes for look-ups
	Partitions int           // of the window
	Rate       int           // other posts a second
	Around     time.Duration // how long others come alone, before and after
	Lasting    time.Duration // how long the text comes
	Times      int           // it comes in that time
}

// DefaultHot is the table's.
func DefaultHot() HotOptions {
	return HotOptions{Broker: "kafka", Workers: 4, Partitions: 16, Rate: 500, Around: 20 * time.Second, Lasting: time.Minute, Times: 100_000}
}

// QuickHot is a quick run's.
func QuickHot() HotOptions {
	return HotOptions{Broker: "kafka", Workers: 2, Partitions: 4, Rate: 200, Around: time.Second, Lasting: 2 * time.Second, Times: 500}
}

func (o *HotOptions) validate() error {
	if o.Broker != "kafka" && o.Broker != "nats" {
		return optionError("broker: %q, want kafka or nats", o.Broker)
	}
	return errors.Join(wantPositive("workers", o.Workers), wantPositive("rate", o.Rate), wantPositive("around", o.Around),
		wantPositive("lasting", o.Lasting), wantPositive("times", o.Times), wantPositive("partitions", o.Partitions-o.Workers+1))
}

// HotFigure is what was measured.
type HotFigure struct {
	Phases    []HotPhase `json:"phases"`
	Expected  int        `json:"expected"` // events of the others, by detect
	Events    int        `json:"events"`   // those that came
	Refused   int        `json:"refused"`  // requests, answered by 429 and sent again
	HotEvents int        `json:"hotEvents"`
	HotPosts  int        `json:"hotPosts"` // of the text, that have events
	Flagged   int        `json:"flagged"`  // of these, with an event that says that there are more
}

// HotPhase is a stretch of it.
type HotPhase struct {
	Name     string             `json:"name"`
	Sent     float64            `json:"sent"`   // posts a second, all
	Events   int                `json:"events"` // of others that were due in it
	P50      float64            `json:"p50"`    // ms, from due to the event at a client
	P99      float64            `json:"p99"`
	Max      float64            `json:"max"`
	CPU      map[string]float64 `json:"cpu"`    // cores, by process
	Memory   map[string]int64   `json:"memory"` // bytes at its end, by process
	lasting  time.Duration
	hot      int // how often the text comes
	observed []time.Duration
}

// hotRun is a deployment that gets others, and for a while one text among them.
type hotRun struct {
	*Config
	options HotOptions
	d       *deployment
	load    *load // others
	phases  []HotPhase

	mu  sync.Mutex
	err error // the first of a request
}

// Hot measures what one text that comes again and again does to the other posts, where the window is spread over processes.
func Hot(ctx context.Context, c *Config, o HotOptions) (*report.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	file, err := c.file(size(c, Ira, smallFile))
	if err != nil {
		return nil, err
	}
	texts, err := readTexts(ctx, file, int((2*o.Around+o.Lasting).Seconds()*float64(o.Rate)))
	if err != nil {
		return nil, err
	}
	c.status("hot: starting %s", o.Broker)
	broker, err := startBroker(ctx, o.Broker)
	if err != nil {
		return nil, err
	}
	defer broker.end()
	config := fmt.Sprintf("workers: 1\nlookup: {store: none}\ntopics: {partitions: %d, name: hot-%d, %s}\n", o.Partitions, os.Getpid(), broker.yaml())
	d, err := c.deploy(ctx, broker, o.Workers, o.Partitions, config)
	if err != nil {
		return nil, err
	}
	h := &hotRun{Config: c, options: o, d: d, load: &load{address: d.withRole("split").address, posts: texts, rate: o.Rate}}
	f, err := h.run(ctx)
	if err := errors.Join(err, d.end()); err != nil {
		return nil, errors.Join(interrupted(ctx), err)
	}
	return h.report(file, f), nil
}

// run sends the phases one after the other, and waits for the events.
func (h *hotRun) run(ctx context.Context) (*HotFigure, error) {
	f := &HotFigure{}
	var err error
	if f.Expected, err = h.expected(ctx); err != nil {
		return nil, err
	}
	o := h.options
	h.phases = []HotPhase{{Name: "before", lasting: o.Around}, {Name: "the text comes", lasting: o.Lasting, hot: o.Times},
		{Name: "after", lasting: o.Around}}
	listening, done := context.WithCancel(ctx)
	defer done()
	listener := &load{address: h.d.withRole("api").address, rate: o.Rate, posts: h.load.posts}
	stream, err := listener.listen(listening)
	if err != nil {
		return nil, err
	}
	h.load.begin = time.Now().Add(every)
	listener.begin, listener.watch = h.load.begin, h.observe
	streamDone := make(chan error, 1)
	go func() { streamDone <- listener.observeEvents(stream) }()
	if err := h.sendAll(ctx); err != nil {
		return nil, err
	}
	if err := h.await(ctx, listener, f.Expected); err != nil {
		return nil, err
	}
	done()
	if err := <-streamDone; err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	h.summarise(f, listener)
	return f, nil
}

// patience is how long no event may come before the rest is not waited for.
const patience = 20 * time.Second

// await waits for the events of the others.
func (h *hotRun) await(ctx context.Context, l *load, expected int) error {
	last, observed := time.Now(), int64(0)
	for int(l.observed.Load()) < expected && time.Since(last) < patience {
		if n := l.observed.Load(); n > observed {
			last, observed = time.Now(), n
		}
		if err := sleep(ctx, every); err != nil {
			return err
		}
	}
	return nil
}

// expected is how many events the others have among themselves.
func (h *hotRun) expected(ctx context.Context) (int, error) {
	folder, err := os.MkdirTemp("", "refrain-bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	others := load{posts: h.load.posts, rate: h.options.Rate, begin: time.Now()}
	path := filepath.Join(folder, "posts.jsonl")
	var all []byte
	for i := range others.requests() {
		all = append(all, others.body(i)...)
	}
	if err := os.WriteFile(path, all, 0o600); err != nil {
		return 0, err
	}
	p, err := h.Config.run(ctx, "detect", path)
	if err != nil {
		return 0, err
	}
	var f DetectFigure
	if err := f.read(p.stderr.String()); err != nil {
		return 0, err
	}
	return f.Events, nil
}

// observe takes an event of others down, in the phase in which its post was due.
func (h *hotRun) observe(_ []byte, due time.Time, took time.Duration) {
	at := due.Sub(h.load.begin)
	for i := range h.phases {
		if at -= h.phases[i].lasting; at < 0 || i == len(h.phases)-1 {
			h.phases[i].observed = append(h.phases[i].observed, took)
			return
		}
	}
}

// sendAll sends others all the time, and the text in its phase, in requests of their own.
func (h *hotRun) sendAll(ctx context.Context) error {
	var all sync.WaitGroup
	request := 0
	for i := range h.phases {
		p := &h.phases[i]
		before, err := h.d.usage(ctx)
		if err != nil {
			return err
		}
		n := int(p.lasting / every)
		h.status("hot: %s, %v", p.Name, p.lasting)
		for k := range n {
			if err := sleep(ctx, time.Until(h.load.due(request*h.load.each()))); err != nil {
				return err
			}
			if request < h.load.requests() {
				others := h.load.body(request)
				all.Go(func() { h.post(ctx, others) })
			}
			if from, to := k*p.hot/n, (k+1)*p.hot/n; to > from {
				hot := h.hotPosts(from, to)
				all.Go(func() { h.post(ctx, hot) })
			}
			request++
		}
		after, err := h.d.usage(ctx)
		if err != nil {
			return err
		}
		p.recordUsage(h.d, after.since(before), after.at.Sub(before.at))
		p.Sent = (float64(h.options.Rate)*p.lasting.Seconds() + float64(p.hot)) / p.lasting.Seconds()
	}
	all.Wait()
	return h.err
}

// hotPosts is the text so many times, each as a post of its own.
func (h *hotRun) hotPosts(from, to int) (body []byte) {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	for i := from; i < to; i++ {
		body = fmt.Appendf(body, `{"id":"%s%d","author":"a%d","created_at":"%s","text":%s}`+"\n", floodPrefix, i, i, now, hotText)
	}
	return body
}

// hotText is what everybody posts.
var hotText = func() []byte {
	text, err := json.Marshal("everybody say the same thing now and see how far these words will go today")
	if err != nil {
		panic(err) // a string
	}
	return text
}()

// post sends a request, and again what is refused of it, as a client does.
func (h *hotRun) post(ctx context.Context, body []byte) {
	if err := h.d.postOne(ctx, body); err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.err = cmp.Or(h.err, err)
	}
}

// recordUsage notes what the processes took in a phase.
func (p *HotPhase) recordUsage(d *deployment, u *usage, took time.Duration) {
	p.CPU, p.Memory = map[string]float64{}, map[string]int64{}
	for name, t := range u.cpu {
		p.CPU[name] = t.Seconds() / took.Seconds()
	}
	for _, process := range d.processes {
		p.Memory[process.name] = inStatus(process.cmd.Process.Pid, "VmRSS")
	}
}

func (h *hotRun) summarise(f *HotFigure, l *load) {
	for i := range h.phases {
		p := &h.phases[i]
		slices.Sort(p.observed)
		p.Events, p.P50, p.P99, p.Max = len(p.observed), quantile(p.observed, 0.5), quantile(p.observed, 0.99), quantile(p.observed, 1)
		f.Events += p.Events
	}
	f.Phases, f.Refused, f.HotEvents, f.HotPosts = h.phases, int(h.d.refused.Load()), l.flooded.events, len(l.flooded.posts)
	for _, flagged := range l.flooded.posts {
		if flagged {
			f.Flagged++
		}
	}
}

func (h *hotRun) report(file string, f *HotFigure) *report.Report {
	o := h.options
	r := h.Config.report("hot", fmt.Sprintf("One text posted %s times in %v by as many authors, beside %s other posts/s: %d processes for look-ups, "+
		"%d partitions, on %s.", units.Thousands(o.Times), o.Lasting, units.Thousands(o.Rate), o.Workers, o.Partitions, o.Broker),
		fmt.Sprintf("the others: the first posts of %s, in their order, dated now", filepath.Base(file)))
	delays := report.Grid{Head: []string{"", "posts/s", "events of others", "p50, ms", "p99, ms", "greatest, ms"}}
	used := report.Grid{Caption: "**Cores busy, and RSS at the end of the phase**", Head: []string{"", "split", "match, the busiest", "match, the others",
		"publish and api", "broker"}}
	for i := range f.Phases {
		p := &f.Phases[i]
		delays.Add(p.Name, units.Thousands(int(p.Sent)), units.Thousands(p.Events), units.Three(p.P50), units.Three(p.P99), units.Three(p.Max))
		hottest, rest := p.busiest()
		used.Add(p.Name, p.cell("split"), p.cell(hottest), p.cells(rest), p.cell("rest"), fmt.Sprintf("%.2f", p.CPU["broker"]))
	}
	r.Grids, r.Figures = []report.Grid{delays, used}, f
	r.Note("events of others: %s of the %s that `refrain detect` finds among them; %d requests were refused, and sent again", units.Thousands(f.Events),
		units.Thousands(f.Expected), f.Refused)
	r.Note("the text has %s events, at %s of its posts, of which %s are flagged as truncated", units.Thousands(f.HotEvents),
		units.Thousands(f.HotPosts), units.Thousands(f.Flagged))
	r.Note("one run, all defaults, no index; from the moment a post was due to the event at a client of GET /v1/events, by the phase in which it was "+
		"due; a request with others and one with the text every %v; client, processes and broker share the machine", every)
	return r
}

// busiest is the process for look-ups that has worked most, and the others.
func (p *HotPhase) busiest() (name string, rest []string) {
	for other := range p.CPU {
		if strings.HasPrefix(other, "match") && (name == "" || p.CPU[other] > p.CPU[name]) {
			name = other
		}
	}
	for other := range p.CPU {
		if strings.HasPrefix(other, "match") && other != name {
			rest = append(rest, other)
		}
	}
	slices.Sort(rest)
	return name, rest
}

func (p *HotPhase) cell(name string) string {
	return fmt.Sprintf("%.2f, %s", p.CPU[name], units.Bytes(p.Memory[name]))
}

// cells are the mean time and the greatest memory of several.
func (p *HotPhase) cells(names []string) string {
	cores, bytes := 0.0, int64(0)
	for _, name := range names {
		cores += p.CPU[name] / float64(len(names))
		bytes = max(bytes, p.Memory[name])
	}
	return fmt.Sprintf("%.2f, %s", cores, units.Bytes(bytes))
}
