package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/memory"
	"refrain/internal/units"
	"refrain/lab/report"
	"refrain/sigstore"
	"refrain/text"
)

// MemoryFigure is what a window of all languages takes, in bytes.
type MemoryFigure struct {
	Texts       bool  `json:"texts"`
	Distinct    int   `json:"distinct"`
	Occurrences int   `json:"occurrences"`
	Index       int64 `json:"index"`  // counted by the engine
	Window      int64 `json:"window"` // counted by the window, the index included
	Heap        int64 `json:"heap"`   // live objects
	RSS         int64 `json:"rss"`    // once garbage is given back
	File        int64 `json:"file"`   // of that, pages of the program's file
	Peak        int64 `json:"peak"`   // RSS, at most
}

// MemoryInner is the name of the hidden command that fills a window and says what it takes.
const MemoryInner = "memory-inner"

// How many sentences Memory takes: all, and those of a quick run.
const (
	DefaultMemory = 0
	QuickMemory   = 20_000
)

// Memory measures bytes a distinct sentence, of so many at most, 0: all, by processes of their own.
func Memory(ctx context.Context, c *Config, sentences int) (*report.Report, error) {
	if sentences == 0 {
		sentences = math.MaxInt32
	}
	paths, err := c.streams()
	if err != nil {
		return nil, err
	}
	var all []MemoryFigure
	for _, texts := range []bool{true, false} {
		c.status("memory: texts %v", texts)
		f, err := c.memory(ctx, sentences, texts)
		if err != nil {
			return nil, err
		}
		c.step("memory: texts %v: %s bytes a distinct sentence", texts, units.Thousands(int(f.RSS)/max(1, f.Distinct)))
		all = append(all, *f)
	}
	names := make([]string, len(paths))
	for i := range paths {
		names[i] = filepath.Base(paths[i])
	}
	r := c.report("memory", "Memory of a window that lets nothing go: bytes a distinct sentence, post ids and all "+
		"occurrences included.",
		fmt.Sprintf("%s distinct sentences, %s occurrences, the files one after the other: %s",
			units.Thousands(all[0].Distinct), units.Thousands(all[0].Occurrences), strings.Join(names, ", ")))
	r.Grids, r.Figures = []report.Grid{memoryGrid(all)}, all
	r.Note("one run each, a process each, θ 0.8, engine auto; RSS after a collection that gives memory back, and at most")
	r.Note("texts: the difference between the two; other: what the collector and the allocator keep, stacks")
	return r, nil
}

func memoryGrid(all []MemoryFigure) report.Grid {
	with, without := &all[0], &all[1]
	g := report.Grid{Head: []string{"part", "with texts", "without"}}
	row := func(name string, part func(f *MemoryFigure) int64) {
		each := func(f *MemoryFigure) string { return fmt.Sprintf("%.1f", float64(part(f))/float64(max(1, f.Distinct))) }
		g.Add(name, each(with), each(without))
	}
	row("index", func(f *MemoryFigure) int64 { return f.Index })
	row("groups, token sets, occurrences, dictionary", func(*MemoryFigure) int64 { return without.Window - without.Index })
	row("texts", func(f *MemoryFigure) int64 { return f.Window - f.Index - (without.Window - without.Index) })
	row("**counted by the window**", func(f *MemoryFigure) int64 { return f.Window })
	row("heap beside that", func(f *MemoryFigure) int64 { return f.Heap - f.Window })
	row("the program's file", func(f *MemoryFigure) int64 { return f.File })
	row("other", func(f *MemoryFigure) int64 { return f.RSS - f.Heap - f.File })
	row("**RSS**", func(f *MemoryFigure) int64 { return f.RSS })
	row("RSS at most, reading included", func(f *MemoryFigure) int64 { return f.Peak })
	g.Add("RSS in all", units.Bytes(with.RSS), units.Bytes(without.RSS))
	return g
}

func (c *Config) memory(ctx context.Context, sentences int, texts bool) (*MemoryFigure, error) {
	out, err := os.CreateTemp("", "refrain-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	p, err := start(ctx, out, c.Self, "bench", MemoryInner, "--data", c.Data, "--sentences", strconv.Itoa(sentences),
		"--texts="+strconv.FormatBool(texts))
	if err != nil {
		return nil, err
	}
	err = p.wait()
	if stopped := interrupted(ctx); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, err
	}
	var f MemoryFigure
	answer, err := os.ReadFile(out.Name())
	if err == nil {
		err = json.Unmarshal(answer, &f)
	}
	f.Peak = max(f.Peak, p.peak)
	return &f, err
}

// FillMemory fills a window of this process with so many distinct sentences, and writes a MemoryFigure as JSON.
func FillMemory(ctx context.Context, c *Config, sentences int, texts bool, out io.Writer) error {
	w, index, err := c.fillWindow(ctx, sentences, texts)
	if err != nil {
		return err
	}
	f := MemoryFigure{Texts: texts, Peak: inStatus(os.Getpid(), "VmHWM")}
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what the first one finalised
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := w.Stats()
	f.Distinct, f.Occurrences, f.Window, f.Index = s.Groups, s.Occurrences, s.Bytes, index.Bytes()
	f.Heap, f.RSS, f.File = int64(m.HeapAlloc), memory.RSS(), inStatus(os.Getpid(), "RssFile")
	runtime.KeepAlive(w)
	return json.NewEncoder(out).Encode(f)
}

// fillWindow takes the sentences of all files, each read to its end before the next.
func (c *Config) fillWindow(ctx context.Context, sentences int, texts bool) (*sigstore.Window, sigstore.Index, error) {
	m, err := model()
	if err != nil {
		return nil, nil, err
	}
	engine, err := c.engine(automatic)
	if err != nil {
		return nil, nil, err
	}
	paths, err := c.streams()
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(paths)
	bounds := hashcodes.NewBounds(text.Jaccard.At(text.DefaultThreshold), m.Ones())
	var index sigstore.Index
	w := sigstore.New(sigstore.Config{
		Span: long, Lateness: time.Minute, Model: m, Bounds: bounds, OmitTexts: !texts,
		Engine: func(rows sigstore.Rows) sigstore.Index { index = engine(bounds, m)(rows); return index },
	})
	var release memory.Keeper
	for _, path := range paths {
		err := eachBatch(ctx, path, func(batch []feed.Sentence, _ int) bool {
			for i := range batch {
				if w.Len() < sentences {
					w.Insert(&batch[i])
				}
			}
			release.Holds(w.Bytes())
			return w.Len() < sentences
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return w, index, nil
}
