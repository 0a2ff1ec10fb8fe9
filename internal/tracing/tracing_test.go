package tracing_test

import (
	"context"
	"strings"
	"testing"

	"refrain/internal/tracing"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestATraceGoesThroughAContext(t *testing.T) {
	for _, trace := range []string{"", parent, parent + " congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"} {
		if got := tracing.Of(tracing.Context(context.Background(), trace)); got != trace {
			t.Errorf("%q came out as %q", trace, got)
		}
	}
}

func TestWhatIsNoTrace(t *testing.T) {
	for _, bad := range []string{"x", " a=b", parent + "0", strings.Repeat("f", 1<<20)} {
		if got := tracing.Of(tracing.Context(context.Background(), bad)); got != "" {
			t.Errorf("%.80q came out as %.80q", bad, got)
		}
	}
	if got := tracing.Of(tracing.Context(context.Background(), parent+" = no list")); got != parent {
		t.Errorf("a trace with a broken tracestate came out as %q", got)
	}
}

// TestALongStateLosesItsLastMembers: it travels with every event.
func TestALongStateLosesItsLastMembers(t *testing.T) {
	member := strings.Repeat("v", 98)
	state := strings.TrimSuffix(strings.Repeat("k="+member+",", 7), ",")
	_, got := tracing.Split(tracing.Join(parent, state))
	if want := state[:5*101-1]; got != want {
		t.Errorf("%d bytes of state, want %d: %q", len(got), len(want), got)
	}
	if got := tracing.Join(parent, strings.Repeat("v", 2000)); got != parent {
		t.Errorf("a member that is too long: %d bytes", len(got))
	}
}

func TestLinksAreToDifferentTraces(t *testing.T) {
	other := strings.Replace(parent, "4bf9", "aaaa", 1)
	all := func(yield func(string) bool) {
		for _, trace := range []string{"", parent, parent, other, parent, other} {
			if !yield(trace) {
				return
			}
		}
	}
	if n := len(tracing.Links(all, 10)); n != 2 {
		t.Errorf("%d links, want 2", n)
	}
	if n := len(tracing.Links(all, 1)); n != 1 {
		t.Errorf("%d links, want 1", n)
	}
}
