package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"refrain/internal/config"
	"refrain/internal/telemetry"
	"refrain/internal/units"
	"refrain/server"
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

func (f *serveFlags) override(cmd *cobra.Command, cfg *server.Config) error {
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

func (f *serveFlags) overrideWindow(cmd *cobra.Command, w *server.Window) error {
	if cmd.Flags().Changed("threshold") {
		w.Threshold = f.threshold
	}
	if cmd.Flags().Changed("min-tokens") {
		w.MinTokens = f.minTokens
	}
	var err error
	if cmd.Flags().Changed("span") {
		if w.Span, err = units.ParseDuration(f.span); err != nil {
			return fmt.Errorf("--span: %w", err)
		}
	}
	if cmd.Flags().Changed("budget") {
		if w.Budget, err = parseBudget(f.budget); err != nil {
			return err
		}
	}
	return nil
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
	cfg.Logger, cfg.Metrics, cfg.Version = t.Logger, t.Metrics(), buildVersion()
	s, err := server.New(cfg)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}
