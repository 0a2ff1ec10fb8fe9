package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"refrain/ingest"
	"refrain/internal/config"
	"refrain/internal/memory"
	"refrain/internal/telemetry"
	"refrain/internal/units"
	"refrain/lookup"
)

func (m *Main) serve() *cobra.Command {
	var file string
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: "Take posts in over HTTP and from the sources of the configuration, and give out reuse events. Everything\n" +
			"is in this one process; its topics are kept in the data directory. Settings come from --config, then from\n" +
			"REFRAIN_* variables (window.span is REFRAIN_WINDOW_SPAN), then from flags. Among those without a flag are\n" +
			"window.engine (auto, prefix, scan or cuda), window.texts, window.max_matches, where posts come from (ingest)\n" +
			"and where events go to (publish); deploy/refrain.yaml shows them all.",
		Example: "  refrain serve\n" +
			"  refrain serve --config refrain.yaml --data /var/lib/refrain --http 127.0.0.1:9000\n" +
			"  curl -d '{\"id\":\"1\",\"text\":\"The quick brown fox jumps.\"}' http://127.0.0.1:8080/v1/posts\n" +
			"  curl -N http://127.0.0.1:8080/v1/events",
		Args: atMost(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file, os.Environ())
			if err != nil {
				return usage("%w", err)
			}
			if err := flags.override(cmd, &cfg); err != nil {
				return usage("%w", err)
			}
			if err := cfg.Validate(); err != nil {
				return usage("%w", err)
			}
			return m.runServe(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file; deploy/refrain.yaml shows all of it")
	flags.add(cmd)
	return cmd
}

// serveFlags are the settings that have flags.
type serveFlags struct {
	data, http, threshold, span, budget string
	minTokens, partitions               int
	bluesky                             bool
}

func (f *serveFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.data, "data", "", "data directory (default ./refrain-data)")
	cmd.Flags().StringVar(&f.http, "http", "", "address of the HTTP API (default 127.0.0.1:8080)")
	cmd.Flags().StringVar(&f.threshold, "threshold", "", "least Jaccard similarity (default 0.8)")
	cmd.Flags().StringVar(&f.span, "span", "", "how far back a repeat may lie (default 24h)")
	cmd.Flags().IntVar(&f.minTokens, "min-tokens", 0, "least number of words of a sentence that is compared (default 4)")
	cmd.Flags().IntVar(&f.partitions, "partitions", 0, "partitions of the sentence topic, fixed once it exists (default 4)")
	cmd.Flags().StringVar(&f.budget, "budget", "", "bytes the window may hold, as in 512MB (default half the memory)")
	cmd.Flags().BoolVar(&f.bluesky, "bluesky", false, "also read the Bluesky firehose")
}

func (f *serveFlags) override(cmd *cobra.Command, cfg *config.Config) error {
	if cmd.Flags().Changed("data") {
		cfg.DataDir = f.data
	}
	if cmd.Flags().Changed("http") {
		cfg.HTTP = f.http
	}
	if cmd.Flags().Changed("bluesky") {
		cfg.Ingest.Bluesky.Enabled = f.bluesky
	}
	if cmd.Flags().Changed("partitions") {
		cfg.Topics.Partitions = f.partitions
	}
	return f.overrideWindow(cmd, &cfg.Window)
}

func (f *serveFlags) overrideWindow(cmd *cobra.Command, w *config.Window) error {
	if cmd.Flags().Changed("threshold") {
		w.Threshold = f.threshold
	}
	if cmd.Flags().Changed("min-tokens") {
		w.MinTokens = f.minTokens
	}
	if cmd.Flags().Changed("span") {
		if err := w.Span.UnmarshalText([]byte(f.span)); err != nil {
			return fmt.Errorf("--span: %w", err)
		}
	}
	if cmd.Flags().Changed("budget") {
		if err := w.Budget.UnmarshalText([]byte(f.budget)); err != nil {
			return fmt.Errorf("--budget: %w", err)
		}
		if err := units.CheckBudget(int64(w.Budget)); err != nil {
			return fmt.Errorf("--budget %q is %w; 0 is half the memory", f.budget, err)
		}
	}
	return nil
}

func (m *Main) runServe(ctx context.Context, cfg config.Config) error {
	t, err := telemetry.Start(ctx, telemetry.Config{
		Version: buildVersion(), LogLevel: cfg.Log.Level, LogFormat: strings.TrimPrefix(cfg.Log.Format, "auto"), LogOutput: m.Stderr,
	})
	if err != nil {
		return usage("%w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = t.Shutdown(ctx) // what is not sent by now is a few spans
	}()
	s, err := openService(ctx, cfg, t)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { t.Logger.Info("stopping: what was accepted is finished first") })()
	t.Logger.Info("serving", "http", s.address(), "data", cfg.DataDir, "threshold", cfg.Window.Threshold, "span", time.Duration(cfg.Window.Span).String(),
		"engine", cfg.Window.Engine, "model", s.models.Model().Name())
	err = s.run(ctx)
	t.Logger.Info("stopped")
	return err
}

// service is a node with its sources and its HTTP server.
type service struct {
	*node
	http     *ingest.HTTP
	sources  []*pump
	sinks    []func(context.Context) error // what follows the event topic
	closers  []io.Closer                   // to be closed when all of that has ended
	api      *api
	listener net.Listener
	dead     *ingest.DeadLetters

	deadEvents deadEvents
	webhooks   webhooks
	index      *lookup.Index // nil: there is none
}

func openService(ctx context.Context, cfg config.Config, t *telemetry.Telemetry) (*service, error) {
	// The address first: a port that is taken is the commonest mistake, and the quickest to find.
	listener, err := net.Listen("tcp", cfg.HTTP)
	if err != nil {
		return nil, fmt.Errorf("http %s: %w", cfg.HTTP, err)
	}
	n, err := openNode(ctx, cfg, t.Logger)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &service{node: n, listener: listener}
	if err := s.open(ctx, t); err != nil {
		for _, p := range s.sources { // else run closes them
			if c, ok := p.src.(io.Closer); ok {
				err = errors.Join(err, c.Close())
			}
		}
		return nil, errors.Join(err, listener.Close(), s.closeEdges(), n.close())
	}
	return s, nil
}

func (s *service) open(ctx context.Context, t *telemetry.Telemetry) (err error) {
	if s.dead, err = ingest.OpenDeadLetters(s.deadLetters()); err != nil {
		return err
	}
	s.closers = append(s.closers, s.dead)
	if err := s.openSources(ctx); err != nil {
		return err
	}
	if err := s.openSinks(ctx); err != nil {
		return err
	}
	s.api, err = newAPI(s, t.Metrics())
	return err
}

func (s *service) address() string { return "http://" + s.listener.Addr().String() }

// run serves until ctx ends, and then in the order of the route: the sources stop, what they handed on becomes
// durable, the workers store where they are, the topics close.
func (s *service) run(ctx context.Context) error {
	workers, stopWorkers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorkers()
	var match, rest errgroup.Group
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for _, w := range s.workers {
		match.Go(func() error { return failing(fail, w.Run(workers)) })
	}
	rest.Go(func() error { return failing(fail, s.api.serve(failed, s.listener)) })
	rest.Go(func() error { return s.api.recent.Run(failed) })
	rest.Go(func() error { s.tick(failed); return nil })
	rest.Go(func() error { return s.models.Run(failed) })
	for _, p := range s.sources {
		rest.Go(func() error { return failing(fail, p.run(failed)) })
	}
	for _, to := range s.sinks {
		rest.Go(func() error { return failing(fail, to(failed)) })
	}
	err := rest.Wait()
	stopWorkers()
	return errors.Join(err, match.Wait(), s.closeEdges(), s.close())
}

func (s *service) closeEdges() error {
	var errs []error
	for _, c := range slices.Backward(s.closers) {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// failing ends the whole service when one of its parts fails.
func failing(fail context.CancelCauseFunc, err error) error {
	if err != nil {
		fail(err)
	}
	return err
}

// tick does what is due every second: marks, and memory back to the system.
func (s *service) tick(ctx context.Context) {
	// A service makes more garbage than detect, and all its goroutines wait for each collection a little: with 6 MiB
	// between two of them posts went through a fifth more slowly.
	release := memory.Keeper{Garbage: 32 << 20}
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			s.keepWaiting(now)
			s.split.Tick(context.WithoutCancel(ctx), now)
			release.Holds(windowTotals(s.detectors).bytes)
		}
	}
}

// newServer sets the limits that keep strangers from holding connections for ever; streams of events have
// deadlines of their own.
func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
}
