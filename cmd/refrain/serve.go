package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/internal/config"
	"refrain/internal/telemetry"
	"refrain/internal/units"
	"refrain/server"
	"refrain/text"
	"refrain/topic"
)

func (m *Main) serve() *cobra.Command {
	var file string
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: "Take posts in over HTTP and from the sources of the configuration, and give out reuse events. Everything\n" +
			"is in this one process, and its topics are kept in the data directory, unless the configuration names a broker\n" +
			"for the topics: then several processes share them, each with some --roles (docs/cluster.md). Settings come from --config, then from\n" +
			"REFRAIN_* variables (window.span is REFRAIN_WINDOW_SPAN), then from flags. Among those without a flag are\n" +
			"window.engine (auto, prefix, scan or cuda), window.cuda, window.texts, window.max_matches, where posts come from (ingest)\n" +
			"and where events go to (publish); deploy/refrain.yaml shows them all.",
		Example: "  refrain serve\n" +
			"  refrain serve --config refrain.yaml --data /var/lib/refrain --http 127.0.0.1:9000\n" +
			"  refrain serve --config cluster.yaml --roles match --worker match-1\n" +
			"  curl -d '{\"id\":\"1\",\"text\":\"The quick brown fox jumps.\"}' http://127.0.0.1:8080/v1/posts\n" +
			"  curl -N http://127.0.0.1:8080/v1/events",
		Args: atMost(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(file, os.Environ())
			if err != nil {
				return usage("%w", err)
			}
			if err := flags.override(cmd.Flags(), &cfg); err != nil {
				return usage("%w", err)
			}
			if err := cfg.Validate(); err != nil {
				return usage("%w", err)
			}
			return m.runServe(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file; deploy/refrain.yaml shows all of it")
	flags.add(cmd.Flags())
	return cmd
}

// serveFlags are the settings that have flags.
type serveFlags struct {
	server.Config // but for the two below
	span, budget  string
}

func (f *serveFlags) add(to *pflag.FlagSet) {
	f.Config = server.Default()
	w := &f.Window
	to.StringVar(&f.DataDir, "data", f.DataDir, "data directory")
	to.StringVar(&f.HTTP, "http", f.HTTP, "address of the HTTP API")
	to.StringSliceVar(&f.Roles, "roles", f.Roles, "what this process does, where several share topics on a broker (docs/cluster.md)")
	to.StringVar(&f.Worker, "worker", f.Worker, "its stable name there (default the host's)")
	to.StringVar(&w.Measure, "measure", w.Measure, "similarity: "+strings.Join(text.Similarities, ", "))
	to.StringVar(&w.Threshold, "threshold", w.Threshold, "least similarity")
	to.StringVar(&f.span, "span", units.FormatDuration(w.Span), "how far back a repeat may lie")
	to.IntVar(&w.MinTokens, "min-tokens", w.MinTokens, "least number of words of a sentence that is compared")
	to.IntVar(&f.Topics.Partitions, "partitions", f.Topics.Partitions, "partitions of the sentence topic, fixed once it exists")
	to.StringVar(&f.budget, "budget", fmt.Sprint(w.Budget), "bytes the window may hold, as in 512MB; 0: half the memory")
	to.BoolVar(&f.Ingest.Bluesky.Enabled, "bluesky", f.Ingest.Bluesky.Enabled, "also read the Bluesky firehose")
}

// override puts what the flags say in the place of what the file and the environment do.
func (f *serveFlags) override(flags *pflag.FlagSet, cfg *server.Config) (err error) {
	override(flags, "data", &cfg.DataDir, f.DataDir)
	override(flags, "http", &cfg.HTTP, f.HTTP)
	override(flags, "roles", &cfg.Roles, f.Roles)
	override(flags, "worker", &cfg.Worker, f.Worker)
	override(flags, "measure", &cfg.Window.Measure, f.Window.Measure)
	override(flags, "threshold", &cfg.Window.Threshold, f.Window.Threshold)
	override(flags, "min-tokens", &cfg.Window.MinTokens, f.Window.MinTokens)
	override(flags, "partitions", &cfg.Topics.Partitions, f.Topics.Partitions)
	override(flags, "bluesky", &cfg.Ingest.Bluesky.Enabled, f.Ingest.Bluesky.Enabled)
	if flags.Changed("span") {
		if cfg.Window.Span, err = units.ParseDuration(f.span); err != nil {
			return fmt.Errorf("--span: %w", err)
		}
	}
	if flags.Changed("budget") {
		cfg.Window.Budget, err = parseBudget(f.budget)
	}
	return err
}

func override[T any](flags *pflag.FlagSet, name string, setting *T, value T) {
	if flags.Changed(name) {
		*setting = value
	}
}

func parseBudget(flag string) (server.Bytes, error) {
	budget, err := units.ParseBytes(flag)
	if err != nil {
		return 0, fmt.Errorf("--budget: %w", err)
	}
	if err := units.CheckBudget(budget); err != nil {
		return 0, fmt.Errorf("--budget %q is %w; 0 is half the memory", flag, err)
	}
	return server.Bytes(budget), nil
}

func (m *Main) runServe(ctx context.Context, cfg server.Config) error {
	t, err := telemetry.Start(ctx, m.telemetry(cfg.Log.Level, cfg.Log.Format))
	if err != nil {
		return usage("%w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = t.Shutdown(ctx) // what is not sent by now is a few spans
	}()
	cfg.Logger, cfg.Metrics, cfg.Version = t.Logger, t.Metrics(), buildVersion()
	if dir := os.Getenv("REFRAIN_DATA"); dir != "" {
		t.Logger.Warn("REFRAIN_DATA is where the tests find their posts: the data directory is --data or REFRAIN_DATA_DIR",
			"ignored", dir)
	}
	err = server.Run(ctx, cfg)
	if fixed := (*topic.FixedError)(nil); errors.As(err, &fixed) {
		return usage("%w", err) // a setting that its topics were not made with: another start mends nothing
	}
	return err
}

// telemetry is how the service speaks: on stderr.
func (m *Main) telemetry(level, format string) telemetry.Config {
	c := telemetry.Default()
	c.Version, c.LogLevel, c.LogFormat, c.LogOutput = buildVersion(), level, format, m.Stderr
	return c
}
