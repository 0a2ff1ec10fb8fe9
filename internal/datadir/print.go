package datadir

import (
	"fmt"
	"io"
	"time"

	"refrain/internal/terminal"
	"refrain/internal/units"
)

// drawEvery is how often progress is drawn.
const drawEvery = 100 * time.Millisecond

// Print makes a Config whose findings go to out, a line each, the summaries of parts to summary, and progress to a status
// line on the same screen.
func Print(dir string, out, summary io.Writer, status *terminal.Status) Config {
	line := func(w io.Writer, v any) {
		status.Clear()
		fmt.Fprintln(w, v)
	}
	var drawn time.Time
	progress := func(done, of int64, at string) {
		if now := time.Now(); now.Sub(drawn) > drawEvery {
			drawn = now
			status.Set(fmt.Sprintf("%s · %s of %s", at, units.Bytes(done), units.Bytes(of)))
		}
	}
	return Config{
		Dir: dir, Found: func(f Finding) { line(out, f) }, Part: func(s string) { line(summary, s) }, Progress: progress,
	}
}
