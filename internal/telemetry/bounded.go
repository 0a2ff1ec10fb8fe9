package telemetry

import (
	"fmt"
	"log/slog"
	"unicode/utf8"
)

// maxValue bounds a value in the log, in bytes: clients and other servers choose what some of them hold.
const maxValue = 4 << 10

// bounded cuts long values, whoever logs them, and says how long they were.
func bounded(groups []string, a slog.Attr) slog.Attr {
	a = readable(groups, a)
	if a.Key == "stack" && len(groups) == 0 { // of our own making
		return a
	}
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(truncate(a.Value.String()))
	case slog.KindAny:
		a.Value = boundedAny(a.Value)
	}
	return a
}

// boundedAny cuts what is logged as its text. Other values are left as they are as long as they are short.
func boundedAny(v slog.Value) slog.Value {
	var s string
	switch x := v.Any().(type) {
	case *slog.Source:
		return v
	case []byte:
		s = string(x)
	default:
		s = fmt.Sprint(x) // of an error or a Stringer what it says of itself, also if it panics
	}
	if len(s) <= maxValue {
		return v
	}
	return slog.StringValue(truncate(s))
}

func truncate(s string) string {
	if len(s) <= maxValue {
		return s
	}
	end := maxValue
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (cut: %d bytes)", s[:end], len(s))
}
