package e2e

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"refrain/internal/config"
	"refrain/internal/memory"
	"refrain/internal/telemetry"
	"refrain/server"
)

// asServer makes a test binary behave as a server; configFile is what that reads, clockAhead how far its clock is ahead.
const (
	asServer   = "RUN_REFRAIN_SERVER"
	configFile = "RUN_REFRAIN_CONFIG"
	clockAhead = "RUN_REFRAIN_CLOCK"
)

// WithClock is the setting that makes the clock of a server differ from that of the machine: programs of Go ask the kernel for
// the time, so that nothing between the two can tell them another one.
func WithClock(ahead time.Duration) string { return clockAhead + "=" + ahead.String() }

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
	cfg.Logger, cfg.Metrics, cfg.Version = t.Logger, t.Metrics(), "test"
	if ahead, err := time.ParseDuration(os.Getenv(clockAhead)); err == nil {
		cfg.Now = func() time.Time { return time.Now().Add(ahead) }
	}
	s, err := server.New(cfg)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}
