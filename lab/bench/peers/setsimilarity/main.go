// Command setsimilarity is the peer github.com/ekzhu/go-set-similarity-search: all pairs of a collection, in Go.
//
// It is a module of its own, so that the product does not depend on its peers.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	SetSimilaritySearch "github.com/ekzhu/go-set-similarity-search"
)

func main() {
	sets := flag.String("sets", "", "file of sets, integers a line")
	measure := flag.String("measure", "jaccard", "jaccard or cosine")
	threshold := flag.String("threshold", "4/5", "as a fraction")
	out := flag.String("out", "", "file for the pairs found")
	flag.Parse()
	if err := run(*sets, *measure, *threshold, *out); err != nil {
		fmt.Fprintln(os.Stderr, "setsimilarity:", err)
		os.Exit(1)
	}
}

func run(path, measure, threshold, out string) error {
	var num, den int
	if _, err := fmt.Sscanf(threshold, "%d/%d", &num, &den); err != nil {
		return fmt.Errorf("threshold %q: %w", threshold, err)
	}
	sets, err := read(path)
	if err != nil {
		return err
	}
	begin := busy()
	ordered, _ := SetSimilaritySearch.FrequencyOrderTransform(sets)
	found, err := SetSimilaritySearch.AllPairs(ordered, measure, float64(num)/float64(den))
	if err != nil {
		return err
	}
	var pairs []uint32
	for p := range found {
		pairs = append(pairs, uint32(max(p.X, p.Y)), uint32(min(p.X, p.Y)))
	}
	seconds := (busy() - begin).Seconds()
	if err := write(out, pairs); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"seconds": seconds, "peakBytes": peak()})
}

// read reads the sets as the library wants them: its tokens are strings.
func read(path string) (sets [][]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		sets = append(sets, strings.Fields(lines.Text()))
	}
	return sets, lines.Err()
}

func write(path string, pairs []uint32) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err := binary.Write(w, binary.LittleEndian, pairs); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// busy is the processor time that this process has used.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the greatest memory of this program so far, in bytes; 0 where the system does not tell.
func peak() int64 {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer status.Close()
	text, _ := io.ReadAll(status)
	for line := range strings.Lines(string(text)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			return kb << 10
		}
	}
	return 0
}
