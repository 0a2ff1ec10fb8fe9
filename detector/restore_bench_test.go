//go:build unix

package detector

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/atomicfile"
	"refrain/text"
)

var restoreSentences = flag.Int("restore.sentences", 100_000, "sentences of the windows of BenchmarkRestore")

// restorePartitions are the partitions of the window that is restored, side by side on all cores.
const restorePartitions = 4

// BenchmarkRestore brings a window back: by insertion, as a replay does once the sentences are read and decoded, and from a
// snapshot in files. Three in ten of the sentences, which are made up, repeat one of before.
func BenchmarkRestore(b *testing.B) {
	for _, texts := range []bool{true, false} {
		cfg := Default()
		cfg.OmitTexts = !texts
		parts := newParts(b, cfg)
		name := fmt.Sprintf("texts=%v/", texts)
		b.Run(name+"make", func(b *testing.B) { // what the next one does besides
			measured(b, func() { eachPart(func(q int) { insertMade(nil, q) }) })
		})
		b.Run(name+"insert", func(b *testing.B) {
			measured(b, func() {
				parts = newParts(b, cfg)
				eachPart(func(q int) { insertMade(parts[q], q) })
			})
		})
		folder := b.TempDir()
		b.Run(name+"write", func(b *testing.B) {
			measured(b, func() { writeParts(b, folder, parts) })
		})
		parts = nil
		runtime.GC()
		b.Run(name+"restore", func(b *testing.B) {
			measured(b, func() { readParts(b, folder, newParts(b, cfg)) })
		})
	}
}

// measured reports time and processor time, a sentence.
func measured(b *testing.B, f func()) {
	before := processorTime(b)
	for b.Loop() {
		f()
	}
	n := float64(b.N * *restoreSentences)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/sentence")
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/n, "cpu-ns/sentence")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func newParts(b *testing.B, cfg Config) (all []*Partition) {
	for range restorePartitions {
		p, err := NewPartition(cfg)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func eachPart(f func(q int)) {
	var wg sync.WaitGroup
	for q := range restorePartitions {
		wg.Go(func() { f(q) })
	}
	wg.Wait()
}

// insertMade inserts the sentences of a partition; nil: it only makes them.
func insertMade(p *Partition, q int) {
	r := rand.New(rand.NewPCG(uint64(q), 1))
	words := rand.NewZipf(r, 1.1, 8, 1<<22)
	n := *restoreSentences / restorePartitions
	var before [1 << 12]feed.Sentence
	for i := range n {
		x := madeSentence(words, i, q)
		if old := &before[r.IntN(len(before))]; len(old.Tokens) > 0 && r.IntN(10) < 3 {
			x.Tokens, x.Group, x.Text = old.Tokens, old.Group, old.Text
		}
		before[r.IntN(len(before))] = x
		if p == nil {
			continue
		}
		p.Insert(&x)
		if i%1000 == 0 {
			p.Advance(x.Time)
		}
	}
}

// madeSentence is one of 12 words and some 80 bytes. A day has 10⁷ of them.
func madeSentence(words *rand.Zipf, i, q int) feed.Sentence {
	var ids []uint64
	var said strings.Builder
	for range 12 {
		n := words.Uint64()
		ids = append(ids, text.ID(fmt.Sprint(n)))
		fmt.Fprintf(&said, "%05x ", n)
	}
	ids = text.Set(ids)
	at := feed.Time(1_700_000_000_000 + int64(i)*86_400_000/max(1, int64(*restoreSentences/restorePartitions)))
	return feed.Sentence{Source: "s", Post: fmt.Sprint(1_000_000_000 + i*restorePartitions + q), Author: fmt.Sprint("author ", i%50_000),
		Time: at, Tokens: ids, Group: feed.GroupHash(ids), Text: said.String(), Version: uint64(i), End: said.Len(), Coverage: 1}
}

// writeParts writes a snapshot of each partition, and reports how long the captures took, which is when nothing else can happen,
// and what was written.
func writeParts(b *testing.B, folder string, parts []*Partition) {
	var pause time.Duration
	for q, p := range parts {
		begin := time.Now()
		c := p.Capture()
		pause = max(pause, time.Since(begin))
		for i, piece := range c.Pieces {
			if piece.Name == "" {
				name := fmt.Sprintf("%d-%d", q, i)
				writeFile(b, filepath.Join(folder, name), piece.Write)
				piece.Name = name
			}
		}
		writeFile(b, filepath.Join(folder, fmt.Sprint(q)), c.Write)
	}
	b.ReportMetric(float64(pause.Microseconds())/1000, "pause-ms")
	var all, heads int64
	entries, err := os.ReadDir(folder)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			b.Fatal(err)
		}
		all += info.Size()
		if !strings.Contains(e.Name(), "-") {
			heads += info.Size()
		}
	}
	b.ReportMetric(float64(all)/float64(*restoreSentences), "B/sentence")
	b.ReportMetric(float64(heads)/(1<<20), "MiB-heads")
}

func writeFile(b *testing.B, path string, write func(io.Writer) error) {
	if err := atomicfile.Write(path, 0o600, write); err != nil {
		b.Fatal(err)
	}
}

func readParts(b *testing.B, folder string, parts []*Partition) {
	eachPart(func(q int) {
		head, err := os.ReadFile(filepath.Join(folder, fmt.Sprint(q)))
		if err == nil {
			_, err = parts[q].Restore(bytes.NewReader(head), func(name string) (io.ReadCloser, error) {
				return os.Open(filepath.Join(folder, name))
			}, nil)
		}
		if err != nil {
			b.Error(err)
		}
	})
}
