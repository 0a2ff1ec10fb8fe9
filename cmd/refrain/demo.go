package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"refrain/demo"
	"refrain/feed"
	"refrain/ingest"
	"refrain/ingest/file"
	"refrain/internal/memory"
	"refrain/internal/telemetry"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/publish"
	"refrain/server"
)

// demoFlags say what the demonstration shows.
type demoFlags struct {
	http        string
	measure     string
	threshold   string
	rate, speed float64
	seed        uint64
	bluesky     bool
	duration    string
	in          inputFlags
}

// maxRate is the highest rate of the made-up feed, in posts a second, and maxSynthetic how many posts of it one batch has.
const (
	maxRate      = 1_000_000
	maxSynthetic = 1000
)

func (m *Main) demo() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo [FILE]",
		Short: "Watch the service at work on a made-up feed, a file or Bluesky",
		Long: "Start the service on a temporary directory and feed it: with a synthetic feed in which people repost, edit,\n" +
			"quote and misspell each other, with the posts of FILE at --speed times the pace they were written at, or\n" +
			"with the Bluesky firehose. Events are printed as they come, the differing words marked. End it with Ctrl-C.",
		Example: "  refrain demo\n" +
			"  refrain demo --rate 2000 --duration 30s\n" +
			"  refrain demo --speed 86400 posts.jsonl      a day a second\n" +
			"  refrain demo --bluesky",
		Args: atMost(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error { return m.runDemo(cmd.Context(), &f, args) },
	}
	to, usual := cmd.Flags(), server.Default()
	to.StringVar(&f.http, "http", usual.HTTP, "address of the HTTP API")
	addMeasure(to, &f.measure)
	addThreshold(to, &f.threshold)
	to.Float64Var(&f.rate, "rate", demo.Default().Rate, "posts a second of the made-up feed")
	to.Float64Var(&f.speed, "speed", 3600, "how many times faster than life a FILE is replayed; 0: as fast as it goes")
	to.Uint64Var(&f.seed, "seed", 0, "seed of the made-up feed: the same seed gives the same posts; 0: another each time")
	to.BoolVar(&f.bluesky, "bluesky", false, "feed it with the Bluesky firehose")
	to.StringVar(&f.duration, "duration", "0", "end after so long, as in 30s; 0: at Ctrl-C")
	f.in.add(to)
	f.in.addMeta(to)
	return cmd
}

func (m *Main) runDemo(ctx context.Context, f *demoFlags, args []string) error {
	duration, err := f.check()
	if err != nil {
		return err
	}
	if duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, duration)
		defer cancel()
	}
	dir, err := os.MkdirTemp("", "refrain-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	src, err := m.demoSource(f, args)
	if err != nil {
		return err
	}
	cfg, err := f.config(dir, args)
	if err != nil {
		return err
	}
	t, err := telemetry.Start(ctx, m.telemetry("warn", "auto"))
	if err != nil {
		return err
	}
	defer func() { _ = t.Shutdown(context.WithoutCancel(ctx)) }() // nothing to be done about it at the end
	cfg.Logger, cfg.Metrics, cfg.Version = t.Logger, t.Metrics(), buildVersion()
	s, err := server.New(cfg)
	if err != nil {
		return err
	}
	if src.Source != nil {
		s.AddSource("demo", src)
	}
	return m.showDemo(ctx, s, src)
}

// check returns how long to run; 0: without end.
func (f *demoFlags) check() (time.Duration, error) {
	if !(f.rate > 0 && f.rate <= maxRate && f.speed >= 0) { // not NaN either
		return 0, usage("--rate wants more than 0 and at most %d, --speed 0 or more", maxRate)
	}
	d, err := units.ParseDuration(f.duration)
	if err != nil || d < 0 {
		return 0, usage("--duration %q: want something like 30s, 90m or 7d; 0: until Ctrl-C", f.duration)
	}
	return d, nil
}

// config is that of a service nobody depends on.
func (f *demoFlags) config(dir string, args []string) (server.Config, error) {
	cfg := server.Default()
	if _, err := parseMeasure(f.measure, f.threshold); err != nil {
		return cfg, err
	}
	cfg.DataDir, cfg.HTTP, cfg.Name = dir, f.http, "refrain-demo"
	cfg.Window.Measure, cfg.Window.Threshold = f.measure, f.threshold
	cfg.Ingest.Bluesky.Enabled = f.bluesky
	if f.bluesky && len(args) > 0 {
		return cfg, usage("--bluesky and a FILE exclude each other")
	}
	return cfg, cfg.Validate()
}

// showDemo runs the service with the source and prints its events.
func (m *Main) showDemo(ctx context.Context, s *server.Server, src *countedSource) error {
	status := terminal.NewStatus(m.Stderr, terminal.Detect(m.Stderr))
	show := &eventPrinter{printer: terminal.NewPrinter(m.Stdout, terminal.Detect(m.Stdout), status)}
	stats := statistics{s: s, src: src, show: show, begin: time.Now()}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	if err := s.Ready(ctx); err != nil {
		return g.Wait()
	}
	fmt.Fprintf(m.Stderr, "Refrain is watching a feed. Events appear below; the page is http://%[1]s/, the events "+
		"are at http://%[1]s/v1/events. Ctrl-C ends it.\n\n", s.Addr())
	g.Go(func() error { return s.Follow(ctx, "terminal", show) })
	g.Go(func() error { stats.run(ctx, status); return nil })
	err := g.Wait()
	status.Clear()
	fmt.Fprintf(m.Stderr, "\n%s\n", stats.now())
	return err
}

// eventPrinter is the sink that shows events to a person.
type eventPrinter struct {
	printer *terminal.Printer
	events  atomic.Int64
}

func (p *eventPrinter) Publish(_ context.Context, events []publish.Event) error {
	p.events.Add(int64(len(events)))
	for i := range events {
		m, err := feed.DecodeEvent(events[i].Data)
		if err != nil {
			continue // another type of event: a retraction
		}
		if err := p.printer.Event(&m); err != nil {
			return err
		}
	}
	return nil
}

var _ publish.Sink = (*eventPrinter)(nil)

// demoSource is the made-up feed or the file; neither for Bluesky, which the service reads itself.
func (m *Main) demoSource(f *demoFlags, args []string) (*countedSource, error) {
	switch {
	case f.bluesky:
		return &countedSource{}, nil
	case len(args) > 0:
		src, err := m.open(&f.in, args)
		if err != nil {
			return nil, err
		}
		return &countedSource{Source: &replay{Source: src, pacer: demo.Pacer{Speed: f.speed, Longest: 2 * time.Second}}}, nil
	}
	if f.seed == 0 {
		f.seed = uint64(time.Now().UnixNano()) % 1e6
	}
	fmt.Fprintf(m.Stderr, "A made-up feed with --seed %d.\n", f.seed)
	cfg := demo.Default()
	cfg.Seed, cfg.Start, cfg.Rate = f.seed, feed.FromTime(time.Now()), f.rate
	g, err := demo.New(cfg)
	if err != nil {
		return nil, err
	}
	return &countedSource{Source: &synthetic{g: g, pacer: demo.Pacer{Speed: 1},
		batch: max(1, min(int(f.rate/20), maxSynthetic))}}, nil
}

// replay hands the posts of a file on when they are due.
type replay struct {
	*file.Source
	pacer demo.Pacer
}

func (r *replay) Next(ctx context.Context) (ingest.Batch, error) {
	b, err := r.Source.Next(ctx)
	if n := len(b.Posts); n > 0 {
		if err := r.pacer.Wait(ctx, b.Posts[n-1].Time); err != nil {
			return ingest.Batch{}, err
		}
	}
	return b, err
}

// synthetic is the synthetic feed as a source.
type synthetic struct {
	g     *demo.Generator
	pacer demo.Pacer
	batch int
}

func (s *synthetic) Next(ctx context.Context) (ingest.Batch, error) {
	b := ingest.Batch{Partition: "demo"}
	for range s.batch {
		p, _ := s.g.Next()
		b.Posts = append(b.Posts, p)
	}
	if err := s.pacer.Wait(ctx, b.Posts[len(b.Posts)-1].Time); err != nil {
		return ingest.Batch{}, err
	}
	ingest.Count(ctx, &b)
	return b, nil
}

// countedSource counts what passes.
type countedSource struct {
	ingest.Source
	posts atomic.Int64
}

func (c *countedSource) Next(ctx context.Context) (ingest.Batch, error) {
	b, err := c.Source.Next(ctx)
	c.posts.Add(int64(len(b.Posts)))
	return b, err
}

// statistics is the line below the events.
type statistics struct {
	s     *server.Server
	src   *countedSource
	show  *eventPrinter
	begin time.Time
}

func (st *statistics) run(ctx context.Context, status *terminal.Status) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			status.Set(st.now())
		}
	}
}

func (st *statistics) now() string {
	posts := st.src.posts.Load()
	return terminal.Statistics{
		PostsPerSecond: float64(posts) / time.Since(st.begin).Seconds(), Posts: posts,
		Sentences: st.s.Texts(), Events: st.show.events.Load(), RSS: memory.RSS(),
	}.String()
}
