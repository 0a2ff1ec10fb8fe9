package e2e

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"refrain/internal/config"
	"refrain/internal/memory"
	"refrain/internal/telemetry"
	"refrain/server"
)

// asServer makes a test binary behave as a server; configFile is what that reads, the others are what no file says.
const (
	asServer   = "RUN_REFRAIN_SERVER"
	configFile = "RUN_REFRAIN_CONFIG"
	ahead      = "RUN_REFRAIN_AHEAD"
	silence    = "RUN_REFRAIN_SILENCE"
	snapshots  = "RUN_REFRAIN_SNAPSHOTS"
)

// WithClock is the setting of a server whose clock is ahead of everybody's, or behind: programs of Go ask the kernel for the time, so that
// nothing between the two can tell them another one.
func WithClock(by time.Duration) string { return ahead + "=" + by.String() }

// WithSilence is the setting of a server for which a writer counts as dead that has been silent for so long.
func WithSilence(d time.Duration) string { return silence + "=" + d.String() }

// WithConfig is the setting that names a configuration file.
func WithConfig(path string) string { return configFile + "=" + path }

// WithYAML writes a configuration file, and is the setting that names it.
func WithYAML(tb testing.TB, config string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "refrain.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	return WithConfig(path)
}

// WithSnapshots is the setting of a server that captures a partition's window after so many sentences, once a second at most.
func WithSnapshots(sentences int) string { return fmt.Sprintf("%s=%d", snapshots, sentences) }

// Main runs the tests of a package, or a server where Start has asked for it.
func Main(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	memory.Frugal()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs a server as the program does.
func serve(ctx context.Context) error {
	cfg, err := config.Load(os.Getenv(configFile), os.Environ())
	if err != nil {
		return err
	}
	tc := telemetry.Default()
	tc.LogLevel = cfg.Log.Level
	t, err := telemetry.Start(ctx, tc)
	if err != nil {
		return err
	}
	if err := setHidden(&cfg); err != nil {
		return err
	}
	cfg.Logger, cfg.Metrics, cfg.Version = t.Logger, t.Metrics(), "test"
	return server.Run(ctx, cfg)
}

func setHidden(cfg *server.Config) (err error) {
	if s := os.Getenv(ahead); s != "" {
		by, err := time.ParseDuration(s)
		if err != nil {
			return err
		}
		cfg.Now = func() time.Time { return time.Now().Add(by) }
	}
	if s := os.Getenv(snapshots); s != "" {
		cfg.SnapshotPause = time.Second
		if cfg.SnapshotSentences, err = strconv.Atoi(s); err != nil {
			return err
		}
	}
	if s := os.Getenv(silence); s != "" {
		cfg.Silence, err = time.ParseDuration(s)
	}
	return err
}
