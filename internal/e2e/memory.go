package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// RSSAnon is the memory of a process that no file backs, in bytes; 0 where it has ended, or there is no /proc.
func RSSAnon(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			kb, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kb << 10
		}
	}
	return 0
}
