package tables

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"refrain/internal/units"
	"refrain/lab/report"
	"refrain/models"
)

// SwapOptions are what Swap asks besides.
type SwapOptions struct {
	Rate    int           // posts a second
	Lasting time.Duration // how long they are sent
	Bits    int           // of the codes
}

// DefaultSwap is the table's.
func DefaultSwap() SwapOptions { return SwapOptions{Rate: 20_000, Lasting: 40 * time.Second, Bits: 32} }

// QuickSwap is a quick run's.
func QuickSwap() SwapOptions { return SwapOptions{Rate: 4000, Lasting: 6 * time.Second, Bits: 32} }

// SwapFigure is one run of a service.
type SwapFigure struct {
	Changes  bool        `json:"changes"` // of the codes, while posts came
	Posts    int         `json:"posts"`
	Phases   []SwapPhase `json:"phases"`
	Lost     int         `json:"lost"`     // events that only the run without changes had
	Invented int         `json:"invented"` // and only this one
}

// SwapPhase is one kind of moments of a run.
type SwapPhase struct {
	Name   string  `json:"name"`
	Lasted float64 `json:"lasted"` // seconds
	Events int     `json:"events"` // of posts that were due then
	P50    float64 `json:"p50"`    // ms from due to observed
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
	Peak   int64   `json:"peak"` // of the memory, as looked at every 50 ms
}

// What a service does with its models, in the order of a run.
const (
	phaseBefore   = "before"
	phaseLearning = "learning"
	phaseChanging = "changing"
	phaseAfter    = "after"
)

var phases = []string{phaseBefore, phaseLearning, phaseChanging, phaseAfter}

// Swap measures what a change of codes under load does to latency, memory and events: a model is learned from the
// window, taken on, taken back and taken on again while posts come.
func Swap(ctx context.Context, c *Config, o SwapOptions) (*report.Report, error) {
	if err := errors.Join(wantPositive("rate", o.Rate), wantPositive("lasting", o.Lasting)); err != nil {
		return nil, err
	}
	file, err := c.file(size(c, Ira, smallFile))
	if err != nil {
		return nil, err
	}
	posts, err := readTexts(ctx, file, int(o.Lasting.Seconds()*float64(o.Rate)))
	if err != nil {
		return nil, err
	}
	r := c.report("swap", fmt.Sprintf("A model learned from the window and taken on by `serve` while %s posts/s "+
		"come: what that does to latency, memory and events.", units.Thousands(o.Rate)),
		fmt.Sprintf("the first posts of %s, in their order, dated now", filepath.Base(file)))
	var figures []SwapFigure
	var ids map[string]bool
	for _, changes := range []bool{false, true} {
		c.status("swap: codes change: %v", changes)
		s := swap{config: c, options: o, changes: changes, load: load{posts: posts, rate: o.Rate}}
		if err := c.serve(ctx, fmt.Sprintf("window: {bits: %d}\n", o.Bits),
			func(address string, p *child) error { return s.run(ctx, address, p) }); err != nil {
			return nil, err
		}
		f := s.figure(ids)
		c.step("swap: codes change: %v: %d events lost, %d invented", changes, f.Lost, f.Invented)
		ids, figures = s.ids, append(figures, f)
	}
	r.Grids, r.Figures = []report.Grid{swapGrid(figures)}, figures
	r.Note("%s posts each; codes of %d bits, hashed at first; the model is learned after a third of the time (one "+
		"core learns, the posts have both), then taken on, back and on again", units.Thousands(len(posts)), o.Bits)
	r.Note("events that the run without changes has and the other one has not: %d; the other way round: %d; ids compared",
		figures[1].Lost, figures[1].Invented)
	r.Note("latency counts from the moment the request was due to the event at a client of `GET /v1/events`; " +
		"client and service share the machine; one run of each")
	return r, nil
}

func swapGrid(figures []SwapFigure) report.Grid {
	g := report.Grid{Head: []string{"codes", "posts due while", "s", "events", "p50, ms", "p99, ms",
		"greatest, ms", "peak RSS"}}
	for _, f := range figures {
		name := map[bool]string{false: "stay", true: "change"}[f.Changes]
		for _, p := range f.Phases {
			g.Add(name, p.Name, units.Three(p.Lasted), units.Thousands(p.Events), units.Three(p.P50), units.Three(p.P99),
				units.Three(p.Max), units.Bytes(p.Peak))
		}
	}
	return g
}

// swap is one run of a service.
type swap struct {
	config  *Config
	options SwapOptions
	changes bool
	load    load
	moments []moment
	ids     map[string]bool // of the events
	events  []observedEvent
}

// moment is when the service was seen doing something, and how much memory it had.
type moment struct {
	at    time.Time
	phase string
	rss   int64
}

// observedEvent is an event: when its post was due, and how long it took.
type observedEvent struct {
	due     time.Time
	elapsed time.Duration
}

func (s *swap) run(ctx context.Context, address string, p *child) error {
	s.load.address, s.ids = address, map[string]bool{}
	s.load.watch = s.observeEvent
	sent, watched := make(chan struct{}), make(chan error, 1)
	go func() { watched <- s.follow(ctx, p, sent) }()
	_, err := s.load.run(ctx, p)
	close(sent)
	return errors.Join(err, <-watched)
}

// observeEvent notes an event.
func (s *swap) observeEvent(event []byte, due time.Time, took time.Duration) {
	_, rest, _ := bytes.Cut(event, []byte(`"id":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	s.ids[string(id)] = true
	s.events = append(s.events, observedEvent{due, took})
}

// orders are what the service is asked for while posts come.
var orders = []string{"learn", "0/use", "1/use"}

// follow has the service learn a model after a third of the time, and take it back and on again; it notes what the service
// is doing until all posts are through and all is done.
func (s *swap) follow(ctx context.Context, p *child, sent <-chan struct{}) error {
	if err := s.load.ready(ctx, p); err != nil {
		return err
	}
	begin, left := time.Now(), orders
	if !s.changes {
		left = nil
	}
	for through := false; ; {
		select {
		case <-ctx.Done():
			return nil // the load says so
		case <-p.ended:
			return nil
		case <-time.After(5 * every):
		}
		status, err := s.status(ctx)
		if err != nil {
			return err
		}
		s.note(status, inStatus(p.cmd.Process.Pid, "VmRSS"), len(left))
		idle := status.Doing == "nothing"
		switch {
		case !idle:
		case len(left) == len(orders)-1 && status.Current == 0:
			return fmt.Errorf("swap: no model was taken on: %s", status.Detail)
		case len(left) > 0 && time.Since(begin) > s.options.Lasting/3:
			if err := s.post(ctx, left[0]); err != nil {
				return err
			}
			left = left[1:]
		case through:
			return nil
		}
		select {
		case <-sent:
			through = true
		default:
		}
	}
}

func (s *swap) note(status models.Status, rss int64, left int) {
	phase := status.Doing
	switch {
	case phase != "nothing":
	case s.changes && left < len(orders):
		phase = phaseAfter
	default:
		phase = phaseBefore
	}
	s.moments = append(s.moments, moment{time.Now(), phase, rss})
}

func (s *swap) status(ctx context.Context) (status models.Status, err error) {
	body, err := s.load.get(ctx, "/v1/models")
	if err != nil {
		return status, err
	}
	defer body.Close()
	return status, json.NewDecoder(body).Decode(&status)
}

func (s *swap) post(ctx context.Context, what string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.load.url("/v1/models/"+what), strings.NewReader(""))
	if err != nil {
		return err
	}
	resp, err := s.load.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return fmt.Errorf("POST /v1/models/%s: %s: %s", what, resp.Status, answer)
	}
	return nil
}

// figure sorts what was observed by what the service was doing when a post was due, and compares the ids with those of the
// run before.
func (s *swap) figure(before map[string]bool) SwapFigure {
	f := SwapFigure{Changes: s.changes, Posts: len(s.load.posts)}
	took := map[string][]time.Duration{}
	for _, h := range s.events {
		phase := s.phaseAt(h.due)
		took[phase] = append(took[phase], h.elapsed)
	}
	for _, name := range phases {
		if p := s.phase(name, took[name]); p.Lasted > 0 {
			f.Phases = append(f.Phases, p)
		}
	}
	if before == nil {
		return f
	}
	for id := range maps.Keys(before) {
		if !s.ids[id] {
			f.Lost++
		}
	}
	f.Invented = len(s.ids) - (len(before) - f.Lost)
	return f
}

func (s *swap) phaseAt(t time.Time) string {
	i, _ := slices.BinarySearchFunc(s.moments, t, func(m moment, t time.Time) int { return m.at.Compare(t) })
	return s.moments[min(i, len(s.moments)-1)].phase
}

func (s *swap) phase(name string, took []time.Duration) SwapPhase {
	p := SwapPhase{Name: name, Events: len(took)}
	for i := 1; i < len(s.moments); i++ {
		if m := s.moments[i]; m.phase == name {
			p.Lasted += m.at.Sub(s.moments[i-1].at).Seconds()
			p.Peak = max(p.Peak, m.rss)
		}
	}
	slices.Sort(took)
	p.P50, p.P99, p.Max = quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1)
	return p
}
