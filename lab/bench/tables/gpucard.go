package tables

import (
	"context"
	"os/exec"
	"strconv"
	"strings"

	"refrain/lab/report"
)

// GPUDocument is where the tables of a GPU stand.
const GPUDocument = "docs/measurements/gpu.md"

// noteCard adds what nvidia-smi knows of the card; where there is none it says so.
func noteCard(ctx context.Context, r *report.Report, device int) {
	output, err := exec.CommandContext(ctx, "nvidia-smi", "-i", strconv.Itoa(device), "--format=csv,noheader",
		"--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit").Output()
	if err != nil {
		r.Note("driver and clocks: nvidia-smi tells nothing (%v)", err)
		return
	}
	fields := strings.Split(strings.TrimSpace(string(output)), ", ")
	if len(fields) != 6 {
		r.Note("driver and clocks: nvidia-smi says %q", strings.TrimSpace(string(output)))
		return
	}
	r.Note("%s, driver %s, %s of memory; multiprocessors at %s now, %s at most; power up to %s", fields[0], fields[1],
		fields[2], fields[3], fields[4], fields[5])
}
