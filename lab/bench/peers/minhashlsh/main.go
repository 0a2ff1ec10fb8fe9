// Command minhashlsh is the peer github.com/ekzhu/minhash-lsh: MinHash LSH in Go, then verification by Jaccard.
//
// It is a module of its own, so that the product does not depend on its peers. The package makes what was added
// searchable only by sorting all of its tables, so this is no stream: all rows go in, then each is looked up, and what
// is later than the row is left out.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	minhashlsh "github.com/ekzhu/minhash-lsh"
)

func main() {
	var p peer
	data := flag.String("data", "", "folder that the driver wrote")
	threshold := flag.String("threshold", "4/5", "as a fraction")
	flag.IntVar(&p.rows, "rows", 0, "rows to take, from the first")
	flag.IntVar(&p.every, "every", 1, "look only every so-many-th row up")
	flag.Float64Var(&p.limit, "limit", 1e9, "seconds of processor time after which to stop")
	flag.IntVar(&p.hashes, "hashes", 128, "hash functions")
	out := flag.String("out", "", "file for the pairs found")
	flag.Parse()
	if err := p.run(*data, *threshold, *out); err != nil {
		fmt.Fprintln(os.Stderr, "minhashlsh:", err)
		os.Exit(1)
	}
}

type peer struct {
	rows, every, hashes int
	limit               float64
	num, den            int
	ends                []uint64
	numbers             []uint32 // tokens of each set, ascending
	pairs               []uint32 // later row, earlier row, and so on
	candidates          int
}

// report is the line of JSON that the driver reads; its seconds are of processor time.
type report struct {
	Rows           int     `json:"rows"`
	Looked         int     `json:"looked"`
	Candidates     int     `json:"candidates"`
	Note           string  `json:"note"`
	SecondsAdding  float64 `json:"secondsAdding"`
	SecondsLooking float64 `json:"secondsLooking"`
	PeakBytes      int64   `json:"peakBytes"`
}

func (p *peer) run(data, threshold, out string) (err error) {
	if _, err := fmt.Sscanf(threshold, "%d/%d", &p.num, &p.den); err != nil {
		return fmt.Errorf("threshold %q: %w", threshold, err)
	}
	if p.ends, err = read[uint64](filepath.Join(data, "ends.u64"), p.rows); err != nil {
		return err
	}
	if p.numbers, err = read[uint32](filepath.Join(data, "numbers.u32"), int(p.ends[p.rows-1])); err != nil {
		return err
	}
	r := p.match()
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	if err := binary.Write(w, binary.LittleEndian, p.pairs); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// read reads the first n numbers of a file.
func read[T uint32 | uint64](path string, n int) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	values := make([]T, n)
	return values, binary.Read(bufio.NewReaderSize(f, 1<<20), binary.LittleEndian, values)
}

func (p *peer) match() report {
	begin := busy()
	lsh := minhashlsh.NewMinhashLSH(p.hashes, float64(p.num)/float64(p.den))
	signatures := make([][]uint64, p.rows)
	for row := range signatures {
		signatures[row] = p.sign(row)
		lsh.Add(uint32(row), signatures[row])
	}
	lsh.Index()
	k, l := lsh.Params()
	r := report{Rows: p.rows, SecondsAdding: (busy() - begin).Seconds(),
		Note: fmt.Sprintf("%d hashes, %d bands of %d, a batch", p.hashes, l, k)}
	looking := busy()
	for row := 0; row < p.rows; row += p.every {
		if r.Looked%1000 == 0 && (busy()-begin).Seconds() > p.limit {
			r.Rows = row
			break
		}
		r.Looked++
		for _, key := range lsh.Query(signatures[row]) {
			p.verify(row, int(key.(uint32)))
		}
	}
	r.SecondsLooking = (busy() - looking).Seconds()
	r.SecondsAdding *= float64(r.Rows) / float64(p.rows) // so that it is of the rows reported
	r.Candidates, r.PeakBytes = p.candidates, peak()
	return r
}

// busy is the processor time that this process has used.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (p *peer) sign(row int) []uint64 {
	m := minhashlsh.NewMinhash(1, p.hashes)
	var b [4]byte
	for _, n := range p.set(row) {
		binary.LittleEndian.PutUint32(b[:], n)
		m.Push(b[:])
	}
	return m.Signature()
}

func (p *peer) set(row int) []uint32 {
	var begin uint64
	if row > 0 {
		begin = p.ends[row-1]
	}
	return p.numbers[begin:p.ends[row]]
}

func (p *peer) verify(later, earlier int) {
	if earlier >= later {
		return
	}
	p.candidates++
	x, y := p.set(later), p.set(earlier)
	common := 0
	for i, k := 0, 0; i < len(x) && k < len(y); {
		switch {
		case x[i] == y[k]:
			common++
			i++
			k++
		case x[i] < y[k]:
			i++
		default:
			k++
		}
	}
	if common*p.den >= p.num*(len(x)+len(y)-common) {
		p.pairs = append(p.pairs, uint32(later), uint32(earlier))
	}
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
