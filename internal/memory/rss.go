package memory

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
)

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
