package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v5"
)

func TestPausesDoubleUpToTheirLongest(t *testing.T) {
	for _, test := range []struct {
		name    string
		pauses  *backoff.ExponentialBackOff
		longest time.Duration
	}{
		{"quick", Quick(), 2 * time.Second}, {"steady", Steady(), 5 * time.Second}, {"patient", Patient(), 10 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 2 {
				want := 100 * time.Millisecond
				for range 20 {
					if got := test.pauses.NextBackOff(); got < want*8/10 || got > want*12/10+1 {
						t.Fatalf("got %v, want %v give or take a fifth", got, want)
					}
					want = min(2*want, test.longest)
				}
				test.pauses.Reset()
			}
		})
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("slept for %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began = time.Now()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("slept for %v: %v", time.Since(began), err)
		}
	})
}
