// Package cpu tells the processor time of this process. It is what programs are timed by beside other work: a thread
// that waits for a processor costs nothing.
package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// Time is what the process has had of all processors.
func Time() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // it needs no right and no resource
	}
	return time.Duration(t.Nano())
}
