package tables

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"refrain/internal/units"
	"refrain/lab/report"
)

// SuiteOptions are what GPUSuite and GPUSanitize ask besides.
type SuiteOptions struct {
	Binary    string // the tests of cuda/devicetest, built with go test -c
	Sanitizer string // NVIDIA's compute-sanitizer
	Tools     []string
}

// DefaultSuite looks for the tests beside this program, and for the sanitizer on PATH. Without initcheck: the kernels read
// rows behind the last, which nothing has written, and drop what they make of them.
func DefaultSuite() SuiteOptions {
	return SuiteOptions{Sanitizer: "compute-sanitizer", Tools: []string{"memcheck", "racecheck", "synccheck"}}
}

// binary is the file of a test binary: the one that is named, or the one beside this program.
func (c *Config) binary(named, name, pkg string) (string, error) {
	if named == "" {
		named = filepath.Join(filepath.Dir(c.Self), name)
	}
	if _, err := os.Stat(named); err != nil {
		return "", fmt.Errorf("the tests of %s: %w: go test -c -o FILE ./%s makes them, and --binary names them", pkg, err, pkg)
	}
	return filepath.Abs(named)
}

const (
	deviceTests     = "devicetest"
	deviceTestsFrom = "cuda/devicetest"
)

// SuiteFigure is one test.
type SuiteFigure struct {
	Test    string  `json:"test"`
	Passed  int     `json:"passed"` // it, or the tests that it is made of
	Skipped int     `json:"skipped"`
	Seconds float64 `json:"seconds"`
}

// GPUSuite runs the tests of a device, which fail where there is none.
func GPUSuite(ctx context.Context, c *Config, o SuiteOptions) (*report.Report, error) {
	binary, err := c.binary(o.Binary, deviceTests, deviceTestsFrom)
	if err != nil {
		return nil, err
	}
	output, err := c.test(ctx, binary)
	if err != nil {
		return nil, err
	}
	figures, device := readTests(output)
	if len(figures) == 0 {
		return nil, fmt.Errorf("%s ran no test: %s", binary, lastLines(output, 5))
	}
	r := c.report("gpu-suite", "The tests of `cuda/devicetest` on "+device+".", "random signatures")
	g := report.Grid{Head: []string{"test", "passed", "skipped", "s"}}
	for _, f := range figures {
		if f.Skipped > 0 && !c.Quick {
			return nil, fmt.Errorf("test %s was skipped, so nothing is known: %s", f.Test, lastLines(output, 10))
		}
		g.Add(f.Test, f.Passed, f.Skipped, units.Three(f.Seconds))
	}
	r.Grids, r.Figures = []report.Grid{g}, figures
	r.Note("hits compared with those of plain Go, by every kernel that the device can run")
	noteCard(ctx, r, 0)
	return r, nil
}

// test runs the tests of a device; those that a sanitizer slows down are the small ones.
func (c *Config) test(ctx context.Context, command ...string) (string, error) {
	command = append(command, "-test.v")
	if c.Quick || len(command) > 2 {
		command = append(command, "-small")
	}
	c.status("%s", strings.Join(command, " "))
	p := exec.CommandContext(ctx, command[0], command[1:]...)
	p.Env = append(os.Environ(), "REFRAIN_REQUIRE_GPU=1")
	p.WaitDelay = 10 * time.Second
	output, err := p.CombinedOutput()
	if stopped := interrupted(ctx); stopped != nil {
		return "", stopped
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, complaintsOf(string(output)))
	}
	return string(output), nil
}

// complaintsOf is what a reader wants of the output of tests that failed.
func complaintsOf(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		if trimmed := strings.TrimSpace(line); !strings.HasPrefix(trimmed, "=== ") && !strings.HasPrefix(trimmed, "--- PASS") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	const head = 40 // the first faults say most
	if len(lines) > head {
		lines = append(lines[:head], fmt.Sprintf("... and %d lines more", len(lines)-head))
	}
	return strings.Join(lines, "\n")
}

var (
	testLine   = regexp.MustCompile(`(?m)^( *)--- (PASS|SKIP|FAIL): (\S+) \(([0-9.]+)s\)`)
	deviceLine = regexp.MustCompile(`device_test.go:\d+: (.+, \d+ multiprocessors, kernels .*)`)
)

// readTests reads the output of go test -v: tests with how many they are made of, and what TestOpen says of the device.
func readTests(output string) (figures []SuiteFigure, device string) {
	device = "a device"
	if m := deviceLine.FindStringSubmatch(output); m != nil {
		device = m[1]
	}
	for _, m := range testLine.FindAllStringSubmatch(output, -1) {
		if m[1] == "" {
			var seconds float64
			if _, err := fmt.Sscan(m[4], &seconds); err != nil {
				continue
			}
			figures = append(figures, SuiteFigure{Test: m[3], Seconds: seconds})
		}
		if last := len(figures) - 1; last >= 0 {
			figures[last].count(m[2])
		}
	}
	return figures, device
}

func (f *SuiteFigure) count(result string) {
	switch result {
	case "PASS":
		f.Passed++
	case "SKIP":
		f.Skipped++
	}
}

// sanitized are the tests that run under a sanitizer: every kernel and width, floods, scans beside each other.
const sanitized = "-test.run=^(TestJobs|TestFlood|TestTogether)$"

// SanitizeFigure is a run under one of the sanitizer's tools.
type SanitizeFigure struct {
	Tool    string  `json:"tool"`
	Summary string  `json:"summary"`
	Seconds float64 `json:"seconds"`
}

// summaryLine is how a tool ends.
var summaryLine = regexp.MustCompile(`(?m)^=+ ((?:RACECHECK |ERROR )SUMMARY: .*)$`)

// GPUSanitize runs the tests under compute-sanitizer, which reports what the hardware lets pass.
func GPUSanitize(ctx context.Context, c *Config, o SuiteOptions) (*report.Report, error) {
	if err := wantSome("tools", o.Tools); err != nil {
		return nil, err
	}
	binary, err := c.binary(o.Binary, deviceTests, deviceTestsFrom)
	if err != nil {
		return nil, err
	}
	var figures []SanitizeFigure
	g := report.Grid{Head: []string{"tool", "it says", "s"}}
	var errs []error
	for _, tool := range o.Tools {
		f, err := c.sanitize(ctx, o.Sanitizer, tool, binary)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.step("%s: %s", tool, f.Summary)
		g.Add(f.Tool, f.Summary, units.Three(f.Seconds))
		figures = append(figures, *f)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r := c.report("gpu-sanitize", "The tests of `cuda/devicetest -small` under NVIDIA's compute-sanitizer.", "random signatures")
	r.Grids, r.Figures = []report.Grid{g}, figures
	noteCard(ctx, r, 0)
	return r, nil
}

func (c *Config) sanitize(ctx context.Context, sanitizer, tool, binary string) (*SanitizeFigure, error) {
	begin := time.Now()
	output, err := c.test(ctx, sanitizer, "--tool", tool, "--error-exitcode", "9", "--print-limit", "20", binary, sanitized)
	if err != nil {
		return nil, err
	}
	summary := summaryLine.FindStringSubmatch(output)
	if summary == nil {
		return nil, fmt.Errorf("%s --tool %s says nothing that can be read: %s", sanitizer, tool, lastLines(output, 5))
	}
	if figures, _ := readTests(output); len(figures) == 0 {
		return nil, fmt.Errorf("%s --tool %s ran no test: %s", sanitizer, tool, lastLines(output, 5))
	}
	return &SanitizeFigure{Tool: tool, Summary: summary[1], Seconds: time.Since(begin).Seconds()}, nil
}
