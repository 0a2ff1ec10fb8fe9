package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestManualPages: a page for each command, with its flags and examples.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	m := Main{Stdout: os.Stdout, Stderr: os.Stderr}
	if status := m.Run(t.Context(), []string{"man", dir}); status != 0 {
		t.Fatal(status)
	}
	page := string(mustReadFile(t, filepath.Join(dir, "refrain-detect.1")))
	for _, want := range []string{".TH", "--span", "--threshold", "refrain detect posts.jsonl"} {
		if !strings.Contains(strings.ReplaceAll(page, `\-`, "-"), want) {
			t.Errorf("no %q in the page of detect", want)
		}
	}
	for _, c := range m.command().Commands() {
		if _, err := os.Stat(filepath.Join(dir, "refrain-"+c.Name()+".1")); err != nil {
			t.Error(err)
		}
	}
}
