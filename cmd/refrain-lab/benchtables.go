package main

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/hashcodes"
	"refrain/internal/cli"
	"refrain/lab/bench/tables"
	"refrain/lab/report"
)

// benchTables are the list of what exists, in the order in which all measures them.
func benchTables() []benchTable {
	return []benchTable{
		benchKernels(), benchTable5(), benchMatch(), benchLikeness(), benchGrowth(), benchStalls(),
		benchEngines(),
		benchMemory(), benchStages(), benchDetect(), benchLatency(), benchFlood(), benchSwap(), benchCluster(), benchHot(),
		benchGPU(), benchGPURates(), benchGPUSuite(), benchGPUSanitize(), benchGPUHost(), benchGPUDetect(),
	}
}

// tableCommand is the command of a table that takes flags, and no file.
func tableCommand(name, short string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: cli.AtMost(0, "none")}
}

func benchKernels() benchTable {
	return benchTable{
		command: tableCommand("kernels", "Comparisons a second of the Hamming kernels"),
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.Kernels(ctx, c)
		},
	}
}

// measurement measures a table.
type measurement = func(ctx context.Context, c *tables.Config, args []string) (*report.Report, error)

// measureWith measures a table with its options, for which add makes the flags of its command.
func measureWith[T any](cmd *cobra.Command, usual, quick T, add func(*pflag.FlagSet, *T),
	measure func(context.Context, *tables.Config, T) (*report.Report, error)) measurement {
	return newOptions(cmd, usual, quick, add).measure(measure)
}

func benchTable5() benchTable {
	t := benchTable{
		command: tableCommand("table5", "The paper's Table 5: 2,000 queries against 0.1 to 1 M signatures"),
	}
	t.measure = measureWith(t.command, tables.DefaultTable5(), tables.QuickTable5(),
		func(f *pflag.FlagSet, o *tables.Table5Options) {
			f.IntVar(&o.Rows, "rows", o.Rows, "signatures; the table has ten sizes up to it")
			f.IntVar(&o.Queries, "queries", o.Queries, "queries")
		}, tables.Table5)
	return t
}

func benchMatch() benchTable {
	t := benchTable{
		command: tableCommand("match", "Exact streaming match while the window grows, against a plain PPJoin"),
		narrow:  []string{"thresholds", "engines"},
	}
	t.measure = measureWith(t.command, tables.DefaultMatch(), tables.QuickMatch(),
		func(f *pflag.FlagSet, o *tables.MatchOptions) {
			f.IntVar(&o.Sentences, "sentences", o.Sentences, "distinct sentences")
			f.StringSliceVar(&o.Thresholds, "thresholds", o.Thresholds, "thresholds")
			f.StringSliceVar(&o.Engines, "engines", o.Engines, "engines")
			f.StringVar(&o.SVG, "svg", o.SVG, "`file` to plot to; crossing.svg beside the document with --write")
		}, func(ctx context.Context, c *tables.Config, o tables.MatchOptions) (*report.Report, error) {
			o.SVG = cmp.Or(o.SVG, plotBeside(t.command, "crossing.svg"))
			return tables.Match(ctx, c, o)
		})
	return t
}

// plotBeside is the file of a plot beside the document with --write, "" without.
func plotBeside(cmd *cobra.Command, name string) string {
	if write := cmd.Flag("write").Value.String(); write != "" {
		return filepath.Join(filepath.Dir(write), name)
	}
	return ""
}

func benchLikeness() benchTable {
	t := benchTable{
		command: tableCommand("likeness", "Made-up sentences against real ones: lists, candidates and time of a look-up"),
		narrow:  []string{"rows", "thresholds"},
	}
	t.measure = measureWith(t.command, tables.DefaultLikeness(), tables.QuickLikeness(), func(
		f *pflag.FlagSet, o *tables.LikenessOptions,
	) {
		f.IntSliceVar(&o.Rows, "rows", o.Rows, "sizes of the window")
		f.StringSliceVar(&o.Thresholds, "thresholds", o.Thresholds, "thresholds")
		f.IntVar(&o.Lookups, "lookups", o.Lookups, "sentences that are looked up at each size")
		f.Uint64Var(&o.Seed, "seed", o.Seed, "of the made-up sentences")
	}, tables.Likeness)
	return t
}

func benchGrowth() benchTable {
	t := benchTable{
		command: tableCommand("growth", "Look-ups in a window that grows to 25 M made-up sentences; 8 GB"),
		narrow:  []string{"rows", "thresholds", "engines"},
		missing: tables.NoRoomToGrow,
	}
	t.measure = measureWith(t.command, tables.DefaultGrowth(), tables.QuickGrowth(), func(
		f *pflag.FlagSet, o *tables.GrowthOptions,
	) {
		f.IntSliceVar(&o.Rows, "rows", o.Rows, "sizes of the window, ascending")
		f.StringSliceVar(&o.Thresholds, "thresholds", o.Thresholds, "thresholds")
		f.StringSliceVar(&o.Engines, "engines", o.Engines, "engines, and ppjoin")
		f.IntVar(&o.Lookups, "lookups", o.Lookups, "sentences that are looked up at each size")
		f.Uint64Var(&o.Seed, "seed", o.Seed, "of the made-up sentences")
		f.StringVar(&o.Beside, "beside", o.Beside, "`file` with the figures of another build, which --json printed")
		f.StringVar(&o.SVG, "svg", o.SVG, "`file` to plot to; growth.svg beside the document with --write")
	}, func(ctx context.Context, c *tables.Config, o tables.GrowthOptions) (*report.Report, error) {
		o.SVG = cmp.Or(o.SVG, plotBeside(t.command, "growth.svg"))
		return tables.Growth(ctx, c, o)
	})
	return t
}

func benchStalls() benchTable {
	t := benchTable{
		command: tableCommand("stalls", "The longest stall of a worker, memory and time to fill, by the size of its window; 3 GB"),
		narrow:  []string{"rows"},
	}
	t.measure = measureWith(t.command, tables.DefaultStalls(), tables.QuickStalls(), func(
		f *pflag.FlagSet, o *tables.StallsOptions,
	) {
		f.IntSliceVar(&o.Rows, "rows", o.Rows, "sizes of the window")
		f.StringVar(&o.Threshold, "threshold", o.Threshold, "threshold")
		f.StringVar(&o.Engine, "engine", o.Engine, "engine")
		f.Uint64Var(&o.Seed, "seed", o.Seed, "of the made-up sentences")
	}, tables.Stalls)
	return t
}

func benchEngines() benchTable {
	return benchTable{
		command: tableCommand("engines", "Look-ups by engine, window, threshold and batch; auto against the best"),
		measure: func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
			return tables.EngineGrid(ctx, c)
		},
	}
}

func benchMemory() benchTable {
	t := benchTable{
		command: tableCommand("memory", "Bytes a distinct sentence, by part"),
	}
	t.measure = measureWith(t.command, tables.DefaultMemory, tables.QuickMemory, func(f *pflag.FlagSet, sentences *int) {
		f.IntVar(sentences, "sentences", *sentences, "distinct sentences, at most; 0: all")
	}, tables.Memory)
	return t
}

func benchStages() benchTable {
	var o tables.StagesOptions
	t := benchTable{
		command: &cobra.Command{Use: "stages [FILE]", Short: "Where the time of a post goes in detect",
			Args: cli.AtMost(1, "one file")},
		measure: func(ctx context.Context, c *tables.Config, args []string) (*report.Report, error) {
			o.File = strings.Join(args, "")
			return tables.Stages(ctx, c, o)
		},
	}
	t.command.Flags().IntVar(&o.Posts, "posts", 0, "posts of the file; 0: all")
	return t
}

func benchDetect() benchTable {
	o := tables.DefaultDetect()
	t := benchTable{
		command: &cobra.Command{Use: "detect [FILE]", Short: "Posts a second and memory of detect, end to end",
			Args: cli.AtMost(1, "one file")},
		measure: func(ctx context.Context, c *tables.Config, args []string) (*report.Report, error) {
			o.File = strings.Join(args, "")
			return tables.Detect(ctx, c, o)
		},
		starts: true,
		narrow: []string{"spans"},
	}
	t.command.Flags().StringSliceVar(&o.Spans, "spans", o.Spans, "spans")
	return t
}

func benchLatency() benchTable {
	t := benchTable{
		command: tableCommand("latency", "From post to event through serve, over HTTP"),
		starts:  true,
		narrow:  []string{"rates"},
	}
	t.measure = measureWith(t.command, tables.DefaultLatency(), tables.QuickLatency(),
		func(f *pflag.FlagSet, o *tables.LatencyOptions) {
			f.IntSliceVar(&o.Rates, "rates", o.Rates, "posts a second")
			f.DurationVar(&o.Lasting, "lasting", o.Lasting, "how long posts are sent at each rate")
		}, tables.Latency)
	return t
}

func benchFlood() benchTable {
	t := benchTable{
		command: tableCommand("flood", "What variants of one template do to the other posts in serve"),
		starts:  true,
		narrow:  []string{"max-matches"},
	}
	t.measure = measureWith(t.command, tables.DefaultFlood(), tables.QuickFlood(),
		func(f *pflag.FlagSet, o *tables.FloodOptions) {
			f.IntVar(&o.Flood, "flood", o.Flood, "variants")
			f.IntVar(&o.Rate, "rate", o.Rate, "other posts a second")
			f.DurationVar(&o.Lasting, "lasting", o.Lasting, "how long posts are sent at that rate")
			f.IntVar(&o.Others, "others", o.Others, "other posts where they are sent as fast as they are taken")
			f.DurationVar(&o.Patience, "patience", o.Patience, "how long events of the others are waited for")
			f.IntSliceVar(&o.MaxMatches, "max-matches", o.MaxMatches, "caps of a look-up")
			f.IntVar(&o.Alone, "alone", o.Alone, "variants whose verifications are counted")
		}, tables.Flood)
	return t
}

func benchSwap() benchTable {
	t := benchTable{
		command: tableCommand("swap", "A model learned and taken on by serve under load: latency, memory, the same events"),
		starts:  true,
	}
	o := newOptions(t.command, tables.DefaultSwap(), tables.QuickSwap(), func(f *pflag.FlagSet, o *tables.SwapOptions) {
		f.IntVar(&o.Rate, "rate", o.Rate, "posts a second")
		f.DurationVar(&o.Lasting, "lasting", o.Lasting, "how long posts are sent")
		f.IntVar(&o.Bits, "bits", o.Bits, "bits of the codes")
	})
	t.check = func() error { return checkSwap(&o.usual) }
	t.measure = o.measure(tables.Swap)
	return t
}

// checkSwap says what is wrong with the flags before anything is read.
func checkSwap(o *tables.SwapOptions) error {
	switch {
	case o.Rate <= 0:
		return cli.Usage("--rate %d: want 1 or more posts a second", o.Rate)
	case o.Lasting <= 0:
		return cli.Usage("--lasting %v: want more than 0s", o.Lasting)
	}
	if _, err := hashcodes.NewMD5(o.Bits, 1); err != nil {
		return cli.Usage("--bits %d: %w", o.Bits, err)
	}
	return nil
}

func benchCluster() benchTable {
	t := benchTable{
		command: tableCommand("cluster", "The route over several processes and a broker, against one process"),
		starts:  true,
		missing: tables.NoBroker,
		narrow:  []string{"brokers", "workers"},
	}
	t.measure = measureWith(t.command, tables.DefaultCluster(), tables.QuickCluster(),
		func(f *pflag.FlagSet, o *tables.ClusterOptions) {
			f.IntVar(&o.Posts, "posts", o.Posts, "posts")
			f.IntVar(&o.Partitions, "partitions", o.Partitions, "partitions of the window")
			f.StringSliceVar(&o.Brokers, "brokers", o.Brokers, "brokers")
			f.IntSliceVar(&o.Workers, "workers", o.Workers, "processes for look-ups; 0: one process for everything")
			f.DurationVar(&o.Idle, "idle", o.Idle, "how long requests are counted when nothing comes")
		}, tables.Cluster)
	return t
}

func benchHot() benchTable {
	t := benchTable{
		command: tableCommand("hot", "One text posted again and again across several processes: what it does to the others"),
		starts:  true,
		missing: tables.NoBroker,
	}
	t.measure = measureWith(t.command, tables.DefaultHot(), tables.QuickHot(), func(f *pflag.FlagSet, o *tables.HotOptions) {
		f.StringVar(&o.Broker, "broker", o.Broker, "kafka or nats")
		f.IntVar(&o.Workers, "workers", o.Workers, "processes for look-ups")
		f.IntVar(&o.Partitions, "partitions", o.Partitions, "partitions of the window")
		f.IntVar(&o.Rate, "rate", o.Rate, "other posts a second")
		f.DurationVar(&o.Around, "around", o.Around, "how long others come alone, before and after")
		f.DurationVar(&o.Lasting, "lasting", o.Lasting, "how long the text comes")
		f.IntVar(&o.Times, "times", o.Times, "it comes in that time")
	}, tables.Hot)
	return t
}
