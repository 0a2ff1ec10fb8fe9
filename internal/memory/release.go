package memory

import (
	"os"
	"runtime/debug"
)

// Garbage may grow to a share of what is alive before it is collected: half, and less where much is alive, since
// collecting is cheap there: nearly all of it is the windows', which have no pointers to follow.
const (
	usualGarbage      = 50       // percent
	minGarbagePercent = 2        // percent
	defaultGarbage    = 6 << 20  // bytes that are enough between two collections, where Keeper says nothing else
	otherAlive        = 10 << 20 // bytes alive that no window holds, about
)

// Frugal lets garbage grow to half of what is alive instead of as much again. It costs some 3 % of the speed;
// memory is what users meet first. GOGC, if set, wins.
func Frugal() { collectAt(usualGarbage) }

func collectAt(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// minReduction is how much less the program must hold before it is worth a collection to give memory back: 8 MiB.
const minReduction = 8 << 20

// Keeper keeps the process small: its garbage in proportion to what the windows hold, and what they held no longer
// than they do. The Go runtime gives memory back by itself, but over minutes. Not safe for concurrent use.
type Keeper struct {
	Garbage int64 // bytes that are enough between two collections, and never too many; 0: 6 MiB, and less at first
	Budget  int64 // what the windows may hold; with room for all else it is the limit that the collector works for; 0: none

	limited bool
	peak    int64
	percent int
}

// Holds is told how many bytes the windows hold now.
func (k *Keeper) Holds(bytes int64) {
	k.limit()
	if p := k.garbage(bytes); p != k.percent {
		collectAt(p)
		k.percent = p
	}
	k.peak = max(k.peak, bytes)
	if k.peak-bytes < max(minReduction, k.peak/8) {
		return
	}
	debug.FreeOSMemory()
	k.peak = bytes
}

// budgetHeadroom is what a program with a budget may hold besides its windows before garbage is collected however often that
// takes: what is promised is 300 MB, and the runtime counts what it has not given back yet.
const budgetHeadroom = 200 << 20

// limit sets the memory limit of the collector, once. What others hold beside the windows
// comes and goes within a second, and a share of what the windows hold says nothing about it.
func (k *Keeper) limit() {
	if k.limited || k.Budget == 0 {
		return
	}
	k.limited = true
	Limit(k.Budget)
}

// Limit has the collector work for a process whose windows may hold so many bytes: none where it has none. GOMEMLIMIT, if set,
// wins.
func Limit(budget int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(budget + budgetHeadroom)
	}
}

func (k *Keeper) garbage(bytes int64) (percent int) {
	alive := bytes + otherAlive
	if k.Garbage > 0 {
		return int(max(minGarbagePercent, 100*k.Garbage/alive))
	}
	return int(min(usualGarbage, max(minGarbagePercent, 100*defaultGarbage/alive)))
}
