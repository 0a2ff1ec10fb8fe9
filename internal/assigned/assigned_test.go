package assigned

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestClearTellsOnlyWhoHadSome: a process that waits for its first parts is not told that it has none.
func TestClearTellsOnlyWhoHadSome(t *testing.T) {
	l := New()
	l.Clear()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if parts, err := l.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before any were dealt Next returns %v, %v; want that it waits", parts, err)
	}
	for _, step := range []struct {
		change func()
		want   []int
	}{
		{func() { l.Set([]int{2, 1}) }, []int{1, 2}},
		{l.Clear, nil},
		{func() { l.Set([]int{3}) }, []int{3}},
		{func() { l.Set(nil) }, nil},
	} {
		step.change()
		if got, err := l.Next(t.Context()); err != nil || !slices.Equal(got, step.want) {
			t.Errorf("got %v, %v; want %v", got, err, step.want)
		}
	}
}
