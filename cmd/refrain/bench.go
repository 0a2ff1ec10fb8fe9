package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/bench/tables"
	"refrain/internal/terminal"
)

func (m *Main) bench() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure on real data, and write the tables of docs/benchmarks.md",
		Long: "Measure the program on the data set. Each table names its machine, data, command and date. It is printed as\n" +
			"Markdown, or replaces what stands between its markers in a document. What is compared is run side by side.",
		Example: "  refrain bench kernels --quick                    see that it works\n" +
			"  refrain bench match --sentences 200000\n" +
			"  refrain bench all --write docs/benchmarks.md     everything that can be measured here",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no table %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags.add(cmd.PersistentFlags())
	all := benchTables()
	for _, t := range all {
		t.command.RunE = func(cmd *cobra.Command, args []string) error { return m.runBench(cmd, &flags, &t, args) }
		t.command.Long = t.command.Short + "."
		t.command.Example = "  refrain bench " + t.command.Name() + " --quick\n  refrain bench " + t.command.Name() + " --write docs/benchmarks.md"
		cmd.AddCommand(t.command)
	}
	cmd.AddCommand(m.benchAll(&flags, all), m.benchMemoryInner(&flags))
	return cmd
}

// benchFlags are those of all tables.
type benchFlags struct {
	data, write string
	runs        int
	quick, json bool
}

func (f *benchFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.data, "data", "", "folder of the data set (default $REFRAIN_DATA, or ../shared/data)")
	to.IntVar(&f.runs, "runs", 3, "runs of a figure; the median counts")
	to.BoolVar(&f.quick, "quick", false, "small sizes: to see that it works")
	to.StringVar(&f.write, "write", "", "Markdown `file` in which to replace the table between <!-- bench:NAME --> and <!-- /bench -->")
	to.BoolVar(&f.json, "json", false, "print JSON, with all that was measured")
}

// benchTable is one that can be measured.
type benchTable struct {
	command *cobra.Command // without its RunE
	measure func(ctx context.Context, c *tables.Config, args []string) (*tables.Report, error)
	missing func() error // why it cannot be measured here; nil: it can
}

// benchTables are the list of what exists, in the order in which all measures them.
func benchTables() []benchTable {
	return []benchTable{
		benchKernels(), benchGPU(), benchTable5(), benchMatch(), benchEngines(), benchMemory(), benchStages(), benchDetect(), benchLatency(), benchFlood(),
	}
}

func benchKernels() benchTable {
	return benchTable{
		command: &cobra.Command{Use: "kernels", Short: "Comparisons a second of the Hamming kernels", Args: atMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*tables.Report, error) {
			return tables.Kernels(ctx, c)
		},
	}
}

func benchGPU() benchTable {
	var o tables.GPUOptions
	t := benchTable{
		command: &cobra.Command{Use: "gpu", Short: "Comparisons a second on an NVIDIA GPU, and its hits against the CPU's", Args: atMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*tables.Report, error) {
			return tables.GPU(ctx, c, o)
		},
		missing: tables.NoGPU,
	}
	t.command.Flags().IntVar(&o.Device, "device", 0, "number of the GPU")
	t.command.Flags().IntSliceVar(&o.Rows, "rows", nil, "signatures, in ascending order (default 100,000 to 1,000,000,000)")
	return t
}

func benchTable5() benchTable {
	var o tables.Table5Options
	t := benchTable{
		command: &cobra.Command{Use: "table5", Short: "The paper's Table 5: 2,000 queries against 0.1 to 1 M signatures", Args: atMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*tables.Report, error) {
			return tables.Table5(ctx, c, o)
		},
	}
	t.command.Flags().IntVar(&o.Rows, "rows", 0, "signatures; the table has ten sizes up to it (default 1,000,000)")
	t.command.Flags().IntVar(&o.Queries, "queries", 0, "queries (default 2,000)")
	return t
}

func benchMatch() benchTable {
	var o tables.MatchOptions
	t := benchTable{
		command: &cobra.Command{Use: "match", Short: "Exact streaming match while the window grows, against a plain PPJoin", Args: atMost(0, "none")},
	}
	t.measure = func(ctx context.Context, c *tables.Config, _ []string) (*tables.Report, error) {
		if write := t.command.Flag("write").Value.String(); write != "" && o.SVG == "" {
			o.SVG = filepath.Join(filepath.Dir(write), "crossing.svg")
		}
		return tables.Match(ctx, c, o)
	}
	t.command.Flags().IntVar(&o.Sentences, "sentences", 0, "distinct sentences (default 1,000,000)")
	t.command.Flags().StringSliceVar(&o.Thresholds, "thresholds", nil, "thresholds (default 0.8,0.6,0.5)")
	t.command.Flags().StringSliceVar(&o.Engines, "engines", nil, "engines (default prefix,scan)")
	t.command.Flags().StringVar(&o.SVG, "svg", "", "`file` to plot to; crossing.svg beside the document with --write")
	return t
}

func benchEngines() benchTable {
	return benchTable{
		command: &cobra.Command{Use: "engines", Short: "Look-ups by engine, window, threshold and batch; auto against the best", Args: atMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*tables.Report, error) {
			return tables.EngineGrid(ctx, c)
		},
	}
}

func benchMemory() benchTable {
	var sentences int
	t := benchTable{
		command: &cobra.Command{Use: "memory", Short: "Bytes a distinct sentence, by part", Args: atMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*tables.Report, error) {
			return tables.Memory(ctx, c, sentences)
		},
	}
	t.command.Flags().IntVar(&sentences, "sentences", 0, "distinct sentences, at most (default all)")
	return t
}

func benchStages() benchTable {
	var o tables.StagesOptions
	t := benchTable{
		command: &cobra.Command{Use: "stages [FILE]", Short: "Where the time of a post goes in detect", Args: atMost(1, "one file")},
		measure: func(ctx context.Context, c *tables.Config, args []string) (*tables.Report, error) {
			o.File = strings.Join(args, "")
			return tables.Stages(ctx, c, o)
		},
	}
	t.command.Flags().IntVar(&o.Posts, "posts", 0, "posts of the file (default all)")
	return t
}

func benchDetect() benchTable {
	var o tables.DetectOptions
	t := benchTable{
		command: &cobra.Command{Use: "detect [FILE]", Short: "Posts a second and memory of detect, end to end", Args: atMost(1, "one file")},
		measure: func(ctx context.Context, c *tables.Config, args []string) (*tables.Report, error) {
			o.File = strings.Join(args, "")
			return tables.Detect(ctx, c, o)
		},
	}
	t.command.Flags().StringSliceVar(&o.Spans, "spans", nil, "spans (default 24h,87600h)")
	return t
}

func benchLatency() benchTable {
	var o tables.LatencyOptions
	t := benchTable{
		command: &cobra.Command{Use: "latency", Short: "From post to event through serve, over HTTP", Args: atMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*tables.Report, error) {
			return tables.Latency(ctx, c, o)
		},
	}
	t.command.Flags().IntSliceVar(&o.Rates, "rates", nil, "posts a second (default 1000,20000)")
	t.command.Flags().DurationVar(&o.Lasting, "lasting", 0, "how long posts are sent at each rate (default 20s)")
	return t
}

func benchFlood() benchTable {
	var o tables.FloodOptions
	t := benchTable{
		command: &cobra.Command{Use: "flood", Short: "What variants of one template do to the other posts in serve", Args: atMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*tables.Report, error) {
			return tables.Flood(ctx, c, o)
		},
	}
	t.command.Flags().IntVar(&o.Flood, "flood", 0, "variants (default 100,000)")
	t.command.Flags().IntVar(&o.Rate, "rate", 0, "other posts a second (default 2,000)")
	t.command.Flags().DurationVar(&o.Lasting, "lasting", 0, "how long posts are sent at that rate (default 1m)")
	t.command.Flags().IntVar(&o.Others, "others", 0, "other posts where they are sent as fast as they are taken (default 200,000)")
	t.command.Flags().DurationVar(&o.Patience, "patience", 0, "how long events of the others are waited for (default 15s)")
	t.command.Flags().IntSliceVar(&o.MaxMatches, "max-matches", nil, "caps of a look-up (default 1000,100)")
	t.command.Flags().IntVar(&o.Alone, "alone", 0, "variants whose verifications are counted (default 10,000)")
	return t
}

// runBench measures one table and prints or writes it.
func (m *Main) runBench(cmd *cobra.Command, f *benchFlags, t *benchTable, args []string) error {
	c, err := m.benchConfig(cmd, f, args)
	if err != nil {
		return err
	}
	if f.write != "" { // better known before the minutes that it takes
		if err := tables.CanWrite(f.write, cmd.Name()); err != nil {
			return err
		}
	}
	status := terminal.NewStatus(m.Stderr, terminal.Detect(m.Stderr))
	c.Status = status.Set
	c.Step = func(format string, args ...any) {
		status.Clear()
		fmt.Fprintf(m.Stderr, format+"\n", args...)
	}
	begin := time.Now()
	r, err := t.measure(cmd.Context(), c, args)
	status.Clear()
	if err != nil {
		return fmt.Errorf("bench %s: %w", cmd.Name(), err)
	}
	fmt.Fprintf(m.Stderr, "%s: %v\n", cmd.Name(), time.Since(begin).Round(100*time.Millisecond))
	return m.printBench(f, r)
}

// benchConfig checks the flags.
func (m *Main) benchConfig(cmd *cobra.Command, f *benchFlags, args []string) (*tables.Config, error) {
	if f.runs < 1 {
		return nil, usage("--runs %d: want 1 or more", f.runs)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &tables.Config{Data: benchData(f.data), Runs: f.runs, Quick: f.quick, Command: benchCommand(cmd, args), Self: self}
	for _, name := range []string{"prefix", "scan", "auto"} {
		e, err := engine("--engines", name, nil)
		if err != nil {
			return nil, err
		}
		c.Engines = append(c.Engines, tables.Engine{Name: name, Make: e})
	}
	return c, nil
}

func benchData(flag string) string {
	for _, folder := range []string{flag, os.Getenv("REFRAIN_DATA")} {
		if folder != "" {
			return folder
		}
	}
	return filepath.Join("..", "shared", "data")
}

// benchCommand is what was typed, as others may type it: without the folders of this machine.
func benchCommand(cmd *cobra.Command, args []string) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "data", "write", "json", "svg":
		case "quick":
			words = append(words, "--quick")
		default:
			words = append(words, "--"+f.Name, strings.Trim(f.Value.String(), "[]"))
		}
	})
	for _, arg := range args {
		words = append(words, filepath.Base(arg))
	}
	return strings.Join(words, " ")
}

func (m *Main) printBench(f *benchFlags, r *tables.Report) error {
	if f.write != "" {
		if err := tables.Write(f.write, r.Name, r.Markdown()); err != nil {
			return err
		}
	}
	if f.json {
		return json.NewEncoder(m.Stdout).Encode(r)
	}
	if f.write != "" {
		return nil
	}
	_, err := fmt.Fprint(m.Stdout, tables.Marked(r.Name, r.Markdown()))
	return err
}

func (m *Main) benchAll(f *benchFlags, all []benchTable) *cobra.Command {
	var names []string
	for _, t := range all {
		names = append(names, t.command.Name())
	}
	return &cobra.Command{
		Use:   "all",
		Short: "All tables, one after the other",
		Long: "Measure all tables that can be measured here, each by a process of its own: " + strings.Join(names, ", ") + ".\n" +
			"What cannot is named, and the others go on.",
		Example: "  refrain bench all --quick\n  refrain bench all --write docs/benchmarks.md",
		Args:    atMost(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := m.benchConfig(cmd, f, nil)
			if err != nil {
				return err
			}
			return m.runBenchAll(cmd.Context(), c.Self, f, all)
		},
	}
}

func (m *Main) runBenchAll(ctx context.Context, self string, f *benchFlags, all []benchTable) error {
	var errs []error
	begin := time.Now()
	for i, t := range all {
		name := t.command.Name()
		fmt.Fprintf(m.Stderr, "%d of %d: %s\n", i+1, len(all), name)
		if t.missing != nil {
			if err := t.missing(); err != nil {
				fmt.Fprintf(m.Stderr, "left out: %s: %v\n", name, err)
				continue
			}
		}
		err := m.benchChild(ctx, self, f, name)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("bench %s: %w", name, err))
		}
	}
	fmt.Fprintf(m.Stderr, "all: %v\n", time.Since(begin).Round(time.Second))
	return errors.Join(errs...)
}

// benchChild measures a table by a process of its own, which has said what is wrong when it fails.
func (m *Main) benchChild(ctx context.Context, self string, f *benchFlags, name string) error {
	args := []string{"bench", name, fmt.Sprintf("--json=%v", f.json), "--data", benchData(f.data)}
	if f.quick {
		args = append(args, "--quick")
	}
	if f.runs != 3 {
		args = append(args, "--runs", fmt.Sprint(f.runs))
	}
	if f.write != "" {
		args = append(args, "--write", f.write)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdout, cmd.Stderr = m.Stdout, m.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	return cmd.Run()
}

// benchMemoryInner is what memory starts as a process of its own.
func (m *Main) benchMemoryInner(f *benchFlags) *cobra.Command {
	var sentences int
	var texts bool
	cmd := &cobra.Command{
		Use: tables.MemoryInner, Hidden: true, Short: "Fill a window and say what it takes", Example: "  refrain bench " + tables.MemoryInner,
		Args: atMost(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := m.benchConfig(cmd, f, nil)
			if err != nil {
				return err
			}
			return tables.FillMemory(cmd.Context(), c, sentences, texts, m.Stdout)
		},
	}
	cmd.Flags().IntVar(&sentences, "sentences", 1_000_000, "distinct sentences")
	cmd.Flags().BoolVar(&texts, "texts", true, "keep texts")
	return cmd
}
