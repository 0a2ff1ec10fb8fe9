package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// TestStoppedWhileNothingComes: commands that read posts or a text end when they are told to, whoever holds their
// input open.
func TestStoppedWhileNothingComes(t *testing.T) {
	for _, args := range [][]string{{"sentences"}, {"train", "--out", t.TempDir() + "/x.model"}, {"match", "-"}} {
		in, feed := io.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			_, _ = io.WriteString(feed, wordy(1))
			stop() // it was read, and nothing more comes
		}()
		var out, stderr bytes.Buffer
		m := Main{Stdin: in, Stdout: &out, Stderr: &stderr}
		if status := m.Run(ctx, args); status != exitFailure || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%v: status %d, %s", args, status, &stderr)
		}
	}
}
