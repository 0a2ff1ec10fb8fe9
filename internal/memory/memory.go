// Package memory tells how much memory there is for this process, and keeps what it has small.
package memory

import (
	"os"
	"strconv"
	"strings"
)

// fallback is assumed where nothing tells: 4 GiB.
const fallback = 4 << 30

// Total is the memory of the machine, or the limit of the process's control group where that is less, in bytes.
func Total() int64 {
	total := machine()
	if limit := group(); limit > 0 && limit < total {
		return limit
	}
	return total
}

func machine() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return fallback
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == "MemTotal:" {
			if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return kb << 10
			}
		}
	}
	return fallback
}

// group is the limit of version 2 control groups; 0 if there is none.
func group() int64 {
	data, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil { // "max"
		return 0
	}
	return limit
}
