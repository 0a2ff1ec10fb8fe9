package main

import (
	"fmt"
	"io"
	"strings"
)

// test names a test of a package; the name of a subtest holds those of its parents before a slash.
type test struct{ pkg, name string }

// progress is what is known of a test or package that has not ended.
type progress struct {
	output  []string
	parent  bool // it has subtests
	failing bool // one of its tests has failed
}

// report counts the ends of tests.
type report struct {
	tests                   map[test]*progress
	packages                map[string]*progress
	passed, failed, skipped int
	skips, failures         []string
	leftOut                 []string
}

func newReport() *report {
	return &report{tests: map[test]*progress{}, packages: map[string]*progress{}}
}

// fail counts a failure.
func (r *report) fail(what string) {
	r.failed++
	r.failures = append(r.failures, what)
}

func (r *report) add(e event, w io.Writer) {
	switch {
	case e.Action == "build-output":
		fmt.Fprint(w, e.Output)
	case e.Test != "":
		r.addTest(test{e.Package, e.Test}, e, w)
	case e.Package != "":
		r.addPackage(e, w)
	}
}

func (r *report) addTest(t test, e event, w io.Writer) {
	switch e.Action {
	case "run":
		r.tests[t] = &progress{}
		if parent := r.parent(t); parent != nil {
			parent.parent = true
		}
	case "output":
		p := r.of(t)
		p.output = append(p.output, e.Output)
	case "pass", "fail", "skip":
		r.endTest(t, e.Action, w)
		delete(r.tests, t)
	}
}

// of is the progress of a test, also of one that was never announced.
func (r *report) of(t test) *progress {
	p := r.tests[t]
	if p == nil {
		p = &progress{}
		r.tests[t] = p
	}
	return p
}

func (r *report) parent(t test) *progress {
	i := strings.LastIndexByte(t.name, '/')
	if i < 0 {
		return nil
	}
	return r.tests[test{t.pkg, t.name[:i]}]
}

func (r *report) endTest(t test, action string, w io.Writer) {
	p := r.of(t)
	switch {
	case action == "skip":
		r.skipped++
		r.skips = append(r.skips, fmt.Sprintf("%s %s: %s", t.pkg, t.name, reason(p.output)))
	case action == "pass" && !p.parent:
		r.passed++
	case action == "fail":
		r.failTest(t, p, w)
	}
}

// failTest shows what a failed test printed. A parent fails with its subtests and is counted only without them.
func (r *report) failTest(t test, p *progress, w io.Writer) {
	if !p.failing {
		r.fail(t.pkg + " " + t.name)
	}
	if parent := r.parent(t); parent != nil {
		parent.failing = true
	}
	r.inPackage(t.pkg).failing = true
	for _, line := range p.output {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(w, line)
		}
	}
}

// reason is what a skipped test said, without the lines that testing adds and the place in the source.
func reason(output []string) string {
	var lines []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		if place, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(place, ".go:") {
			line = rest
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return "no reason given"
	}
	return strings.Join(lines, " ")
}

// inPackage is the progress of a package.
func (r *report) inPackage(name string) *progress {
	p := r.packages[name]
	if p == nil {
		p = &progress{}
		r.packages[name] = p
	}
	return p
}

func (r *report) addPackage(e event, w io.Writer) {
	p := r.inPackage(e.Package)
	switch e.Action {
	case "output":
		if e.Output != "PASS\n" {
			fmt.Fprint(w, e.Output)
		}
	case "fail":
		if !p.failing {
			r.fail(e.Package)
		}
		r.showUnfinished(e.Package, w)
	}
}

// showUnfinished shows the output of tests that never ended: of a package that panicked or ran out of time.
func (r *report) showUnfinished(pkg string, w io.Writer) {
	for t, p := range r.tests {
		if t.pkg != pkg {
			continue
		}
		for _, line := range p.output {
			fmt.Fprint(w, line)
		}
		delete(r.tests, t)
	}
}

func (r *report) print(w io.Writer) {
	printList(w, "Left out:", r.leftOut)
	printList(w, "Skipped, with the reason:", r.skips)
	printList(w, "Failed:", r.failures)
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}

func printList(w io.Writer, title string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, s := range list {
		fmt.Fprintf(w, "  %s\n", s)
	}
}
