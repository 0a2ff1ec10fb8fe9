package terminal

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// Statistics are the figures of the line under a running program.
type Statistics struct {
	PostsPerSecond float64
	Posts          int64
	Sentences      int64 // in the window
	Events         int64
	RSS            int64 // bytes; 0: not known
}

// String is the line.
func (s Statistics) String() string {
	line := fmt.Sprintf("%s posts/s · %s posts · %s sentences in the window · %s events",
		Thousands(int64(s.PostsPerSecond)), Thousands(s.Posts), Thousands(s.Sentences), Thousands(s.Events))
	if s.RSS > 0 {
		line += " · " + Bytes(s.RSS)
	}
	return line
}

// RSS is the memory of this process that is in the machine, in bytes. Where the system does not say (other
// than Linux), it is what the Go runtime has taken from the system.
func RSS() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if fields := bytes.Fields(data); err == nil && len(fields) > 1 {
		if pages, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
			return pages * int64(os.Getpagesize())
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
