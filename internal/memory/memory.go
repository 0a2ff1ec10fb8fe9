// Package memory tells how much memory there is for this process, and keeps what it has small.
package memory

import (
	"os"
	"path"
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

// group is the limit of the process's version 2 control group, the lowest of its own and of those above it; 0 if there
// is none.
func group() int64 {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	return minLimit("/sys/fs/cgroup", groupPath(string(data)))
}

// groupPath is the place of the control group below root. In a container that is "/"; of a service of systemd it is
// "/system.slice/refrain.service", and only there is what MemoryMax sets.
func groupPath(groups string) string {
	for line := range strings.Lines(groups) {
		if place, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path.Clean("/" + place)
		}
	}
	return "/"
}

func minLimit(root, place string) int64 {
	var lowest int64
	for ; ; place = path.Dir(place) {
		if limit := limitIn(path.Join(root, place, "memory.max")); limit > 0 && (lowest == 0 || limit < lowest) {
			lowest = limit
		}
		if place == "/" {
			return lowest
		}
	}
}

func limitIn(file string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil { // "max"
		return 0
	}
	return limit
}
