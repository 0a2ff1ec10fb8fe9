package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

func newLogger(c Config) (*slog.Logger, error) {
	level, err := parseLevel(c.LogLevel)
	if err != nil {
		return nil, err
	}
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: bounded}
	switch format := c.LogFormat; {
	case format == "text", format == "auto" && isTerminal(c.LogOutput):
		return slog.New(slog.NewTextHandler(c.LogOutput, o)), nil
	case format == "json", format == "auto":
		return slog.New(slog.NewJSONHandler(c.LogOutput, o)), nil
	}
	return nil, fmt.Errorf("log format %q: want text, json or auto", c.LogFormat)
}

// readable writes durations with their unit also in JSON, which would have bare nanoseconds.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func parseLevel(s string) (slog.Level, error) {
	switch s {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("log level %q: want debug, info, warn or error", s)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
