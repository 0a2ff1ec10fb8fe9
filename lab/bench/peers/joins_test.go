package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJoins runs all joins on a small collection, with no library installed: our own algorithms find the same pairs,
// and each other peer is named with the reason why it is not there.
func TestJoins(t *testing.T) {
	t.Setenv("REFRAIN_PEERS", t.TempDir())
	folder := writeSets(t, "few")
	figures := filepath.Join(t.TempDir(), "figures.json")
	var out bytes.Buffer
	err := run(t.Context(), []string{"joins", "--data", folder, "--collections", "few", "--thresholds", "0.5,0.8",
		"--json", figures}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var results []joined
	if content, err := os.ReadFile(figures); err != nil {
		t.Fatal(err)
	} else if err := json.Unmarshal(content, &results); err != nil {
		t.Fatal(err)
	}
	if want := len(joiners()) * 4; len(results) != want {
		t.Fatalf("%d results, want %d", len(results), want)
	}
	for _, r := range results {
		if !strings.HasPrefix(r.What, "Refrain") {
			said := strings.Contains(out.String(), r.What+" | skipped: ")
			if !said || !strings.Contains(r.Skipped, "lab/bench/peers/install") {
				t.Errorf("%s: skipped %q, want it to say what to do, and the table to say so", r.What, r.Skipped)
			}
			continue
		}
		if r.Skipped != "" || r.Pairs == 0 || r.Missing != 0 || r.Wrong != 0 || r.PeakBytes == 0 {
			t.Errorf("%+v: want all pairs found", r)
		}
	}
}

// TestJoinsCompares: what is missing is told from what is wrong.
func TestJoinsCompares(t *testing.T) {
	j := joined{}
	j.compare([]pair{1, 2, 3}, []pair{2, 3, 4, 5})
	if j.Pairs != 4 || j.Missing != 1 || j.Wrong != 2 {
		t.Errorf("%+v", j)
	}
}

// writeSets writes a collection of 400 sets, many of which have most of their tokens from another.
func writeSets(t *testing.T, name string) (folder string) {
	t.Helper()
	random := rand.New(rand.NewPCG(19, 2))
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for range 400 {
		first, without := random.IntN(40), random.IntN(12)
		for token := range 12 {
			if token != without {
				fmt.Fprint(w, first*5+token, " ")
			}
		}
		fmt.Fprintln(w)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name+".sets.txt.gz"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}
