package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/internal/cli"
	"refrain/lab/bench/tables"
	"refrain/lab/product"
	"refrain/lab/report"
)

func (m *Main) bench() *cobra.Command {
	var f benchFlags
	group := &tableGroup{main: m, markers: report.Bench, document: "docs/benchmarks.md", apart: true}
	for _, t := range benchTables() {
		group.all = append(group.all, t.table(&f))
	}
	cmd := group.command(&cobra.Command{
		Use:   "bench",
		Short: "Measure on real data, and write the tables of docs/benchmarks.md",
		Long: "Measure the program on the data set. Each table names its machine, data, command and date. It is printed as\n" +
			"Markdown, or replaces what stands between its markers in a document. What is compared is run side by side.",
		Example: "  refrain-lab bench kernels --quick                    see that it works\n" +
			"  refrain-lab bench match --sentences 200000\n" +
			"  refrain-lab bench all --write docs/benchmarks.md     everything that can be measured here",
	})
	cmd.PersistentFlags().IntVar(&f.runs, "runs", 3, "runs of a figure; the median counts")
	cmd.PersistentFlags().StringVar(&f.refrain, "refrain", "", product.Flag)
	cmd.AddCommand(m.benchMemoryInner(group, &f))
	return cmd
}

// benchFlags are those of every table.
type benchFlags struct {
	runs    int
	refrain string
}

// benchTable is one that can be measured.
type benchTable struct {
	command *cobra.Command // without its RunE
	measure func(ctx context.Context, c *tables.Config, args []string) (*report.Report, error)
	check   func() error // what is wrong with its flags; nil: nothing can be
	starts  bool         // it starts refrain, and measures that from outside
	missing func() error // why it cannot be measured here; nil: it can
	narrow  []string     // its flags with which a part of the table is measured
}

func (t benchTable) table(f *benchFlags) table {
	return table{command: t.command, missing: t.missing, narrow: t.narrow, measure: func(ctx context.Context, r *tableRun) (*report.Report, error) {
		c, err := benchConfig(r, f.runs)
		if err == nil && t.check != nil {
			err = t.check()
		}
		if err != nil {
			return nil, err
		}
		if !t.starts {
			return t.measure(ctx, c, r.args)
		}
		return t.measureProduct(ctx, c, r, f.refrain)
	}}
}

// measureProduct finds the refrain that the table starts, and says which it is.
func (t benchTable) measureProduct(ctx context.Context, c *tables.Config, r *tableRun, named string) (*report.Report, error) {
	r.status("looking for refrain")
	binary, err := product.Find(ctx, named)
	if err != nil {
		return nil, err
	}
	defer binary.Remove()
	r.step("measures %s", binary.Path)
	c.Refrain = binary.Path
	return t.measure(ctx, c, r.args)
}

// benchTables are the list of what exists, in the order in which all measures them.
func benchTables() []benchTable {
	return []benchTable{
		benchKernels(), benchGPU(), benchTable5(), benchMatch(), benchEngines(), benchMemory(), benchStages(), benchDetect(), benchLatency(), benchFlood(), benchSwap(),
	}
}

func benchKernels() benchTable {
	return benchTable{
		command: &cobra.Command{Use: "kernels", Short: "Comparisons a second of the Hamming kernels", Args: cli.AtMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.Kernels(ctx, c)
		},
	}
}

func benchGPU() benchTable {
	var o tables.GPUOptions
	t := benchTable{
		command: &cobra.Command{Use: "gpu", Short: "Comparisons a second on an NVIDIA GPU, and its hits against the CPU's", Args: cli.AtMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.GPU(ctx, c, o)
		},
		missing: tables.NoGPU,
		narrow:  []string{"rows"},
	}
	t.command.Flags().IntVar(&o.Device, "device", 0, "number of the GPU")
	t.command.Flags().IntSliceVar(&o.Rows, "rows", nil, "signatures, in ascending order (default 100,000 to 1,000,000,000)")
	return t
}

func benchTable5() benchTable {
	var o tables.Table5Options
	t := benchTable{
		command: &cobra.Command{Use: "table5", Short: "The paper's Table 5: 2,000 queries against 0.1 to 1 M signatures", Args: cli.AtMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
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
		command: &cobra.Command{Use: "match", Short: "Exact streaming match while the window grows, against a plain PPJoin", Args: cli.AtMost(0, "none")},
		narrow:  []string{"thresholds", "engines"},
	}
	t.measure = func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
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
		command: &cobra.Command{Use: "engines", Short: "Look-ups by engine, window, threshold and batch; auto against the best", Args: cli.AtMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.EngineGrid(ctx, c)
		},
	}
}

func benchMemory() benchTable {
	var sentences int
	t := benchTable{
		command: &cobra.Command{Use: "memory", Short: "Bytes a distinct sentence, by part", Args: cli.AtMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.Memory(ctx, c, sentences)
		},
	}
	t.command.Flags().IntVar(&sentences, "sentences", 0, "distinct sentences, at most (default all)")
	return t
}

func benchStages() benchTable {
	var o tables.StagesOptions
	t := benchTable{
		command: &cobra.Command{Use: "stages [FILE]", Short: "Where the time of a post goes in detect", Args: cli.AtMost(1, "one file")},
		measure: func(ctx context.Context, c *tables.Config, args []string) (*report.Report, error) {
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
		command: &cobra.Command{Use: "detect [FILE]", Short: "Posts a second and memory of detect, end to end", Args: cli.AtMost(1, "one file")},
		measure: func(ctx context.Context, c *tables.Config, args []string) (*report.Report, error) {
			o.File = strings.Join(args, "")
			return tables.Detect(ctx, c, o)
		},
		starts: true,
		narrow: []string{"spans"},
	}
	t.command.Flags().StringSliceVar(&o.Spans, "spans", nil, "spans (default 24h,87600h)")
	return t
}

func benchLatency() benchTable {
	var o tables.LatencyOptions
	t := benchTable{
		command: &cobra.Command{Use: "latency", Short: "From post to event through serve, over HTTP", Args: cli.AtMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.Latency(ctx, c, o)
		},
		starts: true,
		narrow: []string{"rates"},
	}
	t.command.Flags().IntSliceVar(&o.Rates, "rates", nil, "posts a second (default 1000,20000)")
	t.command.Flags().DurationVar(&o.Lasting, "lasting", 0, "how long posts are sent at each rate (default 20s)")
	return t
}

func benchFlood() benchTable {
	var o tables.FloodOptions
	t := benchTable{
		command: &cobra.Command{Use: "flood", Short: "What variants of one template do to the other posts in serve", Args: cli.AtMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.Flood(ctx, c, o)
		},
		starts: true,
		narrow: []string{"max-matches"},
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

func benchSwap() benchTable {
	var o tables.SwapOptions
	t := benchTable{
		command: &cobra.Command{Use: "swap", Short: "A model learned and taken on by serve under load: latency, memory, the same events", Args: cli.AtMost(0, "none")},
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.Swap(ctx, c, o)
		},
		check:  func() error { return checkSwap(&o) },
		starts: true,
	}
	t.command.Flags().IntVar(&o.Rate, "rate", 0, "posts a second (default 20,000)")
	t.command.Flags().DurationVar(&o.Lasting, "lasting", 0, "how long posts are sent (default 40s)")
	t.command.Flags().IntVar(&o.Bits, "bits", 0, "bits of the codes (default 32)")
	return t
}

// checkSwap says what is wrong with the flags before anything is read; 0 is the default.
func checkSwap(o *tables.SwapOptions) error {
	switch {
	case o.Rate < 0:
		return cli.Usage("--rate %d: want 1 or more posts a second", o.Rate)
	case o.Lasting < 0:
		return cli.Usage("--lasting %v: want more than 0s", o.Lasting)
	case o.Bits == 0:
		return nil
	}
	if _, err := hashcodes.NewMD5(o.Bits, 1); err != nil {
		return cli.Usage("--bits %d: %w", o.Bits, err)
	}
	return nil
}

// benchConfig checks the flags.
func benchConfig(r *tableRun, runs int) (*tables.Config, error) {
	if runs < 1 {
		return nil, cli.Usage("--runs %d: want 1 or more", runs)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &tables.Config{Data: r.data, Runs: runs, Quick: r.quick, Command: r.command, Self: self, Step: r.step, Status: r.status}
	for _, name := range []string{"prefix", "scan", "auto"} {
		e, err := detector.NewEngine(name, nil)
		if err != nil {
			return nil, err
		}
		c.Engines = append(c.Engines, tables.Engine{Name: name, Make: e})
	}
	return c, nil
}

// benchMemoryInner is what memory starts as a process of its own.
func (m *Main) benchMemoryInner(g *tableGroup, f *benchFlags) *cobra.Command {
	var sentences int
	var texts bool
	cmd := &cobra.Command{
		Use: tables.MemoryInner, Hidden: true, Short: "Fill a window and say what it takes", Example: "  refrain-lab bench " + tables.MemoryInner,
		Args: cli.AtMost(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := benchConfig(g.tableRun(cmd, nil), f.runs)
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
