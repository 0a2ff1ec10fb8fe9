package memory

import (
	"os"
	"runtime/debug"
)

// Frugal lets garbage grow to half of what is alive instead of as much again. It costs some 3 % of the speed;
// memory is what users meet first. GOGC, if set, wins.
func Frugal() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// least is how much less the program must hold before it is worth a collection to give memory back: 8 MiB.
const least = 8 << 20

// Releaser gives memory back to the system when the program holds much less than it did. The Go runtime does so
// by itself, but over minutes. Not safe for concurrent use.
type Releaser struct{ peak int64 }

// Holds is told how many bytes the program holds now.
func (r *Releaser) Holds(bytes int64) {
	r.peak = max(r.peak, bytes)
	if r.peak-bytes < max(least, r.peak/8) {
		return
	}
	debug.FreeOSMemory()
	r.peak = bytes
}
