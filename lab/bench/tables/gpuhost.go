package tables

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"refrain/internal/units"
	"refrain/lab/report"
)

// HostOptions are what GPUHost asks besides.
type HostOptions struct {
	Binary string // the tests of sigstore/gpu, built with go test -c
	Rows   []int
}

// DefaultHost is the table's.
func DefaultHost() HostOptions { return HostOptions{Rows: []int{100_000, 1_000_000}} }

// QuickHost is a quick run's.
func QuickHost() HostOptions { return HostOptions{Rows: []int{20_000}} }

// HostFigure is what a query takes of the processor.
type HostFigure struct {
	Rows      int     `json:"rows"`
	Threshold string  `json:"threshold"`
	Batch     int     `json:"batch"`
	Micros    float64 `json:"micros"`
}

const (
	gpuTests     = "gputest"
	gpuTestsFrom = "sigstore/gpu"
)

// hostLine is a line of BenchmarkHostPath.
var hostLine = regexp.MustCompile(`(?m)^BenchmarkHostPath/rows=(\d+)/threshold=([0-9.]+)/batch=(\d+)\S* .*?([0-9.]+) µs/query`)

// GPUHost measures what a search on a device takes of this machine's processor, with a driver that does nothing.
func GPUHost(ctx context.Context, c *Config, o HostOptions) (*report.Report, error) {
	if err := wantPositive("rows", o.Rows...); err != nil {
		return nil, err
	}
	binary, err := c.binary(o.Binary, gpuTests, gpuTestsFrom)
	if err != nil {
		return nil, err
	}
	g := report.Grid{Head: []string{"rows", "θ", "batch of", "µs of processor time a query"}}
	var all []HostFigure
	for _, rows := range o.Rows {
		c.status("host path, %s rows", units.Thousands(rows))
		figures, err := c.hostPath(ctx, binary, rows)
		if err != nil {
			return nil, err
		}
		for _, f := range figures {
			c.step("gpu-host: %s rows, θ %s, batches of %d: %s µs a query", units.Thousands(f.Rows), f.Threshold, f.Batch,
				units.Three(f.Micros))
			g.Add(units.Thousands(f.Rows), f.Threshold, f.Batch, units.Three(f.Micros))
		}
		all = append(all, figures...)
	}
	r := c.report("gpu-host", "What a search on a GPU takes of the processor: kernels do nothing, and find nothing.",
		"sizes of ira and Weibo, random signatures of 64 bits, 16 blocks")
	r.Grids, r.Figures = []report.Grid{g}, all
	r.Note("`go test ./sigstore/gpu -run - -bench HostPath`; the driver is the one of the tests, which only copies")
	return r, nil
}

func (c *Config) hostPath(ctx context.Context, binary string, rows int) (figures []HostFigure, err error) {
	p := exec.CommandContext(ctx, binary, "-test.run", "-", "-test.bench", "HostPath", "-test.benchtime", size(c, "1s", "1x"))
	p.Env = append(os.Environ(), "REFRAIN_ROWS="+strconv.Itoa(rows), "REFRAIN_DATA="+c.Data)
	p.WaitDelay = 10 * time.Second
	output, err := p.CombinedOutput()
	if stopped := interrupted(ctx); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", binary, err, complaintsOf(string(output)))
	}
	for _, m := range hostLine.FindAllStringSubmatch(string(output), -1) {
		f := HostFigure{Threshold: m[2]}
		if _, err := fmt.Sscan(m[1]+" "+m[3]+" "+m[4], &f.Rows, &f.Batch, &f.Micros); err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	if len(figures) == 0 {
		return nil, fmt.Errorf("%s measured nothing: %s", binary, lastLines(string(output), 5))
	}
	return figures, nil
}
