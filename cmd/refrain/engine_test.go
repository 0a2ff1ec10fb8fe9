package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"refrain/cuda"
)

// TestNoGPU: one sentence says why there is none and what to do, by the name that the setting has where it was given.
func TestNoGPU(t *testing.T) {
	d, why := cuda.Open(cuda.Default())
	if why == nil {
		t.Skip("there is a GPU:", d.Name(), d.Close())
	}
	if !errors.Is(why, cuda.ErrUnavailable) {
		t.Fatal(why)
	}
	stderr, status := runDetect(t, strings.NewReader(""), io.Discard, "--engine", "cuda")
	if want := "refrain: --engine cuda: " + why.Error() + "; auto needs no GPU\n"; stderr != want || status != exitFailure {
		t.Errorf("status %d, got %q, want %q", status, stderr, want)
	}
}
