package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"refrain/internal/cli"
	"refrain/lab/report"
)

// cancelAt ends a context when a line about so much is written.
type cancelAt struct {
	bytes.Buffer
	about  string
	cancel func()
}

func (c *cancelAt) Write(b []byte) (int, error) {
	if strings.Contains(string(b), c.about) {
		c.cancel()
	}
	return c.Buffer.Write(b)
}

// TestBenchGrowthInterrupted: what was measured is printed, and replaces no table.
func TestBenchGrowthInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.md")
	before := report.Bench.Wrap("growth", "old\n")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	errs := cancelAt{about: " 3,000 rows: ", cancel: cancel}
	m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	status := m.Run(ctx, []string{"bench", "growth", "--rows", "3000,9000", "--engines", "prefix", "--write", path})
	if status != cli.ExitFailure || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	if !strings.Contains(out.String(), "| 3,000 | prefix |") || strings.Contains(out.String(), "| 9,000 | prefix |") {
		t.Errorf("printed: %s", out.String())
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != before {
		t.Errorf("the document is %q now: %v", after, err)
	}
}
