// Testsummary reads the output of "go test -json" and prints it for a reader.
//
// It shows the usual line of every package and all output of what failed; then every test that was skipped, with
// its reason; then one line, "N passed, N failed, N skipped". Tests that only hold subtests are not counted, the
// subtests are. A package that fails without a failing test, as one that does not compile, counts as one failure.
// Its exit status is 1 when something failed or nothing was run.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	r, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(2)
	}
	r.print(os.Stdout)
	if r.failed > 0 || r.passed == 0 {
		os.Exit(1)
	}
}

// event is one line of "go test -json" (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of build output
}

// read passes the lines of packages and of failures on to w as they come, and counts.
func read(in io.Reader, w io.Writer) (*report, error) {
	r := &report{tests: map[test]*progress{}, packages: map[string]*progress{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line, w)
		}
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
	}
}

// line takes one line. What is not JSON comes from the go command itself and is shown as it is.
func (r *report) line(line []byte, w io.Writer) {
	var e event
	err := json.Unmarshal(line, &e)
	if err != nil || e.Action == "" {
		fmt.Fprint(w, string(line))
		return
	}
	r.add(e, w)
}
