package tables

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"refrain/internal/units"
	"refrain/lab/report"
)

// GPUDetectOptions are what GPUDetect asks besides.
type GPUDetectOptions struct {
	Files      []string // below the data set
	Posts      int      // of each file, at most; 0: all
	Thresholds []string
	Engines    []string // the first is what the others have to agree with
}

// DefaultGPUDetect is the table's.
func DefaultGPUDetect() GPUDetectOptions {
	return GPUDetectOptions{Files: []string{Ira, "stream/weibo_ced_2010-2012.jsonl.zst"}, Posts: 200_000,
		Thresholds: []string{"0.8", "0.6", "0.5"}, Engines: []string{"prefix", "cuda"}}
}

// QuickGPUDetect is a quick run's.
func QuickGPUDetect() GPUDetectOptions {
	o := DefaultGPUDetect()
	o.Files, o.Posts, o.Thresholds = []string{smallFile}, 2000, []string{"0.6"}
	return o
}

// GPUDetectFigure is one run of detect.
type GPUDetectFigure struct {
	File      string  `json:"file"`
	Threshold string  `json:"threshold"`
	Engine    string  `json:"engine"`
	Posts     int     `json:"posts"`
	Events    int     `json:"events"`
	Seconds   float64 `json:"seconds"` // of the process
	CPU       float64 `json:"cpu"`     // seconds
	Log       string  `json:"log"`     // what it says of the device, such as that it has no room
}

// GPUDetect compares the events of real posts by the engine on the device with those by another: the same ids, and how long
// it takes.
func GPUDetect(ctx context.Context, c *Config, o GPUDetectOptions) (*report.Report, error) {
	if engines := slices.Compact(slices.Sorted(slices.Values(o.Engines))); len(engines) < 2 || len(engines) < len(o.Engines) {
		return nil, optionError("engines %q: want two or more, each once: they are compared", o.Engines)
	}
	if o.Posts < 0 {
		return nil, optionError("posts %d: want 1 or more, or 0 for all", o.Posts)
	}
	if err := errors.Join(wantSome("files", o.Files), wantSome("thresholds", o.Thresholds)); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "refrain-lab-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	var all []GPUDetectFigure
	for _, name := range o.Files {
		file, err := c.shortened(name, o.Posts, folder)
		if err != nil {
			return nil, err
		}
		for _, threshold := range o.Thresholds {
			figures, err := c.compareEngines(ctx, file, threshold, o.Engines)
			if err != nil {
				return nil, fmt.Errorf("%s, θ %s: %w", filepath.Base(name), threshold, err)
			}
			all = append(all, figures...)
		}
	}
	r := c.report("gpu-detect", "`refrain detect --engine ENGINE --span "+units.FormatDuration(long)+" --texts=false`: the same event "+
		"ids by every engine, and the seconds of each process.", fmt.Sprintf("the first %s posts of each file at most",
		units.Thousands(o.Posts)))
	r.Grids, r.Figures = []report.Grid{detectGrid(all, o.Engines)}, all
	r.Note("the ids were compared one by one; none lacks, none is more")
	if i := slices.IndexFunc(all, func(f GPUDetectFigure) bool { return f.Log != "" }); i >= 0 {
		r.Note("%s, θ %s, %s says: %s", all[i].File, all[i].Threshold, all[i].Engine, all[i].Log)
	}
	r.Note("%s, start of the process, reading and writing of events included", c.medians())
	noteCard(ctx, r, 0)
	return r, nil
}

// shortened is a file with the first posts of another.
func (c *Config) shortened(name string, posts int, folder string) (string, error) {
	file, err := c.file(name)
	if err != nil || posts == 0 {
		return file, err
	}
	lines, err := firstLines(file, posts)
	if err != nil {
		return "", err
	}
	base, _, _ := strings.Cut(filepath.Base(name), ".")
	path := filepath.Join(folder, base+".jsonl")
	return path, os.WriteFile(path, lines, 0o600)
}

// compareEngines wants the ids of the first engine from all, and takes the medians of their runs, which come in turns.
func (c *Config) compareEngines(ctx context.Context, file, threshold string, engines []string) ([]GPUDetectFigure, error) {
	figures := make([]GPUDetectFigure, len(engines))
	wall, cpu := make([][]float64, len(engines)), make([][]float64, len(engines))
	var want map[string]bool
	for run := range c.Runs {
		for i, engine := range engines {
			c.status("detect --engine %s --threshold %s %s, run %d of %d", engine, threshold, filepath.Base(file), run+1, c.Runs)
			f, ids, err := c.detectWith(ctx, file, threshold, engine)
			if err != nil {
				return nil, err
			}
			if want == nil {
				want = ids
			}
			if err := sameIDs(ids, want); err != nil {
				return nil, fmt.Errorf("engine %s against %s: %w", engine, engines[0], err)
			}
			figures[i] = *f
			wall[i], cpu[i] = append(wall[i], f.Seconds), append(cpu[i], f.CPU)
		}
	}
	for i := range figures {
		f := &figures[i]
		f.Seconds, f.CPU = median(wall[i]), median(cpu[i])
		c.step("detect --engine %s --threshold %s %s: %d events, %s s", f.Engine, threshold, f.File, f.Events, units.Three(f.Seconds))
	}
	return figures, nil
}

// sameIDs says how many ids are missing, and how many are more.
func sameIDs(got, want map[string]bool) error {
	missing := 0
	for id := range want {
		if !got[id] {
			missing++
		}
	}
	if more := len(got) - (len(want) - missing); missing > 0 || more > 0 {
		return fmt.Errorf("%d of %d event ids are missing, and %d more are there", missing, len(want), more)
	}
	return nil
}

func (c *Config) detectWith(ctx context.Context, file, threshold, engine string) (*GPUDetectFigure, map[string]bool, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer read.Close()
	begin := time.Now()
	p, err := start(ctx, write, c.Refrain, "detect", "--engine", engine, "--threshold", threshold, "--span",
		units.FormatDuration(long), "--texts=false", file)
	write.Close()
	if err != nil {
		return nil, nil, err
	}
	ids, failed := readIDs(read)
	if failed != nil {
		read.Close() // or the process would wait for its reader
	}
	if err := errors.Join(p.wait(), failed); err != nil {
		return nil, nil, err
	}
	var d DetectFigure
	log := deviceLines(p.stderr.String())
	if err := errors.Join(deviceLost(log), d.read(p.stderr.String())); err != nil {
		return nil, nil, err
	}
	state := p.cmd.ProcessState
	return &GPUDetectFigure{File: filepath.Base(file), Threshold: threshold, Engine: engine, Posts: d.Posts, Events: d.Events,
		Seconds: time.Since(begin).Seconds(), CPU: (state.UserTime() + state.SystemTime()).Seconds(),
		Log: log}, ids, nil
}

// deviceLines are the lines of a log that speak of the device.
func deviceLines(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, " gpu: ") || strings.Contains(line, " cuda ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "; ")
}

// deviceLost is that the CPU had to go on alone: the events are right, and say nothing of the device.
func deviceLost(log string) error {
	if strings.Contains(log, " ERROR ") {
		return fmt.Errorf("the device was lost on the way: %s", log)
	}
	return nil
}

// readIDs reads the ids of events, a line each.
func readIDs(r io.Reader) (map[string]bool, error) {
	ids := map[string]bool{}
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return ids, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		_, rest, found := bytes.Cut(line, []byte(`"id":"`))
		id, _, ended := bytes.Cut(rest, []byte(`"`))
		if !found || !ended {
			return nil, fmt.Errorf("read events: no id in %q", line)
		}
		ids[string(id)] = true
	}
}

func detectGrid(all []GPUDetectFigure, engines []string) report.Grid {
	g := report.Grid{Head: []string{"file", "posts", "θ", "events"}}
	for _, engine := range engines {
		g.Head = append(g.Head, engine+", s", engine+", CPU s")
	}
	for i := 0; i+len(engines) <= len(all); i += len(engines) {
		row := []any{all[i].File, units.Thousands(all[i].Posts), all[i].Threshold, units.Thousands(all[i].Events)}
		for _, f := range all[i : i+len(engines)] {
			row = append(row, units.Three(f.Seconds), units.Three(f.CPU))
		}
		g.Add(row...)
	}
	return g
}
