package main

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestSummary reads a recorded run: a package whose tests pass or are skipped, one whose tests fail, one that does
// not compile, one that exits in the middle of a test and one without tests.
func TestSummary(t *testing.T) {
	in, err := os.Open("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var got bytes.Buffer
	r := newReport()
	r.leftOut = []string{"lint: no network"}
	r.fail("gofmt")
	err = r.read(in, &got)
	if err != nil {
		t.Fatal(err)
	}
	r.print(&got)
	const golden = "testdata/summary.txt"
	if *update {
		err := os.WriteFile(golden, got.Bytes(), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if r.passed != 4 || r.failed != 5 || r.skipped != 3 {
		t.Errorf("%d passed, %d failed, %d skipped, want 4, 5, 3", r.passed, r.failed, r.skipped)
	}
}

func TestForeignLinesAreShown(t *testing.T) {
	var got bytes.Buffer
	err := newReport().read(strings.NewReader("go: no module\n{\"Action\":\"start\",\"Package\":\"p\"}\nno newline"), &got)
	if err != nil {
		t.Fatal(err)
	}
	if want := "go: no module\nno newline"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}
