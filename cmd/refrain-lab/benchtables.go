package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"refrain/hashcodes"
	"refrain/internal/cli"
	"refrain/lab/bench/tables"
	"refrain/lab/report"
)

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
