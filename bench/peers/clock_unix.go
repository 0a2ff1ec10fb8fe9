//go:build unix

package main

import (
	"syscall"
	"time"
)

// busy is the processor time that this process has used. It is what peers are timed by: beside other work a
// thread waits, and the time by the wall says little.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Since(started)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
