package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestLongValuesAreCut: whatever a client sends, a line of the log stays a line.
func TestLongValuesAreCut(t *testing.T) {
	long := strings.Repeat("é", 450_000)
	for _, format := range []string{"text", "json"} {
		for name, value := range map[string]any{
			"string": long, "error": errors.New(long), "bytes": []byte(long), "list": []string{long, long},
			"group": slog.GroupValue(slog.String("in", long)),
		} {
			var out bytes.Buffer
			c := Default()
			c.LogFormat, c.LogOutput = format, &out
			logger, err := newLogger(c)
			if err != nil {
				t.Fatal(err)
			}
			logger.LogAttrs(context.Background(), slog.LevelInfo, "event", slog.Any("value", value))
			if n := out.Len(); n > 6*maxValue {
				t.Errorf("%s, %s: a line of %d bytes", format, name, n)
			}
			if !strings.Contains(out.String(), "(cut: ") || !strings.Contains(out.String(), " bytes)") {
				t.Errorf("%s, %s: the line does not say that it was cut", format, name)
			}
		}
	}
}

func TestShortValuesStay(t *testing.T) {
	var out bytes.Buffer
	c := Default()
	c.LogFormat, c.LogOutput = "json", &out
	logger, err := newLogger(c)
	if err != nil {
		t.Fatal(err)
	}
	logger.Info("event", "n", 3, "list", []string{"a", "b"}, "error", errors.New("oh"), "s", strings.Repeat("a", maxValue))
	for _, want := range []string{`"n":3`, `"list":["a","b"]`, `"error":"oh"`, strings.Repeat("a", maxValue) + `"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %.40s in %.200s", want, out.String())
		}
	}
}

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// TestAValueThatPanics: a mistake in what is logged does not end the program.
func TestAValueThatPanics(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		c := Default()
		c.LogFormat, c.LogOutput = format, &out
		logger, err := newLogger(c)
		if err != nil {
			t.Fatal(err)
		}
		logger.Info("event", "error", (*nilError)(nil))
		if !strings.Contains(out.String(), "event") {
			t.Errorf("%s: logged %q", format, out.String())
		}
	}
}
