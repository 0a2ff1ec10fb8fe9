// Package cpu tells the processor time of this process. It is what programs are timed by beside other work: a thread
// that waits for a processor costs nothing.
package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// Time is what the process has had of all processors.
func Time() time.Duration { return read(unix.CLOCK_PROCESS_CPUTIME_ID) }

// Thread is what the calling thread has had.
func Thread() time.Duration { return read(unix.CLOCK_THREAD_CPUTIME_ID) }

func read(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err) // it needs no right and no resource
	}
	return time.Duration(t.Nano())
}
