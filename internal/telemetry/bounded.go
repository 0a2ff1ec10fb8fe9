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
		a.Value = slog.StringValue(cut(a.Value.String()))
	case slog.KindAny:
		a.Value = boundedAny(a.Value)
	}
	return a
}

// boundedAny cuts what is logged as its text. Other values are left as they are as long as they are short.
func boundedAny(v slog.Value) slog.Value {
	var s string
	switch x := v.Any().(type) {
	case error:
		s = x.Error()
	case fmt.Stringer:
		s = x.String()
	case []byte:
		s = string(x[:min(len(x), maxValue+utf8.UTFMax)])
		if len(x) <= maxValue {
			return v
		}
		return slog.StringValue(cutTo(s, len(x)))
	case *slog.Source:
		return v
	default:
		if s = fmt.Sprint(x); len(s) <= maxValue {
			return v
		}
	}
	if len(s) <= maxValue {
		return v
	}
	return slog.StringValue(cut(s))
}

func cut(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return cutTo(s, len(s))
}

// cutTo is the beginning of s, which stands for a value of so many bytes.
func cutTo(s string, length int) string {
	end := maxValue
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (cut: %d bytes)", s[:end], length)
}
