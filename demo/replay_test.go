package demo

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
)

func at(times ...feed.Time) iter.Seq2[feed.Post, error] {
	return func(yield func(feed.Post, error) bool) {
		for _, t := range times {
			if !yield(feed.Post{Time: t}, nil) {
				return
			}
		}
	}
}

// arrivals returns after how many seconds each post came.
func arrivals(ctx context.Context, p Pacer, posts iter.Seq2[feed.Post, error]) (seconds []float64, last error) {
	start := time.Now()
	for _, err := range Replay(ctx, p, posts) {
		seconds = append(seconds, time.Since(start).Seconds())
		last = err
	}
	return seconds, last
}

func TestReplayPaces(t *testing.T) {
	hour := feed.Time(3_600_000)
	tests := []struct {
		name  string
		pacer Pacer
		times []feed.Time
		want  []float64
	}{
		{"as it was", Pacer{Speed: 1}, []feed.Time{5000, 6000, 6000, 9500}, []float64{0, 1, 1, 4.5}},
		{"60 times as fast", Pacer{Speed: 60}, []feed.Time{0, hour, 2 * hour}, []float64{0, 60, 120}},
		{"older posts do not wait", Pacer{Speed: 1}, []feed.Time{5000, 1000, 6000}, []float64{0, 0, 1}},
		{"long gaps are cut", Pacer{Speed: 60, Longest: time.Second}, []feed.Time{0, 9 * hour, 9*hour + 30_000},
			[]float64{0, 1, 1.5}},
		{"speed 0 does not wait", Pacer{}, []feed.Time{0, 9 * hour}, []float64{0, 0}},
		{"a long life", Pacer{Speed: 1e-9, Longest: time.Minute}, []feed.Time{0, 4e12}, []float64{0, 60}},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			got, err := arrivals(t.Context(), tt.pacer, at(tt.times...))
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%s: error %v, arrivals (-want +got):\n%s", tt.name, err, diff)
			}
		})
	}
}

func TestReplayCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var got []float64
		for p, err := range Replay(t.Context(), Pacer{Speed: 1}, at(0, 1000, 2000, 3000, 4000)) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, time.Since(start).Seconds())
			if p.Time == 0 {
				<-time.After(2500 * time.Millisecond) // a slow reader
			}
		}
		if diff := cmp.Diff([]float64{0, 2.5, 2.5, 3, 4}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestReplayEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		got, err := arrivals(ctx, Pacer{Speed: 1}, at(0, 2000, 9000, 9001))
		if diff := cmp.Diff([]float64{0, 2, 3}, got); diff != "" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, arrivals (-want +got):\n%s", err, diff)
		}
	})
}

func TestReplayPassesErrorsOn(t *testing.T) {
	broken := errors.New("line 2: no JSON")
	posts := func(yield func(feed.Post, error) bool) {
		_ = yield(feed.Post{Time: 1}, nil) && yield(feed.Post{}, broken) && yield(feed.Post{Time: 2}, nil)
	}
	var errs []error
	for _, err := range Replay(t.Context(), Pacer{}, posts) {
		errs = append(errs, err)
	}
	if len(errs) != 3 || errs[0] != nil || errs[1] != broken || errs[2] != nil {
		t.Errorf("got %v, want only the second to be %v", errs, broken)
	}
}
