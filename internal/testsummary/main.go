// Testsummary reads the output of "go test -json" and prints it for a reader.
//
// It shows the usual line of every package and all output of what failed; then every test that was skipped, with
// its reason; then one line, "N passed, N failed, N skipped". Tests that only hold subtests are not counted, the
// subtests are. A package that fails without a failing test, as one that does not compile, counts as one failure.
// Checks that ran before the tests are named to it: -failed CHECK counts as a failure, -left-out WHY is listed.
// Its exit status is 1 when something failed or nothing was run.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	r := newReport()
	flag.Func("failed", "a `check` that failed", func(check string) error { r.fail(check); return nil })
	flag.Func("left-out", "`why` something was left out", func(why string) error {
		r.leftOut = append(r.leftOut, why)
		return nil
	})
	flag.Parse()
	err := r.read(os.Stdin, os.Stdout)
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
func (r *report) read(in io.Reader, w io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(line, w)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
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
