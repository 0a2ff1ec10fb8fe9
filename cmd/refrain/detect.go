package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"refrain/detector"
	"refrain/ingest"
	"refrain/internal/units"
	"refrain/sigstore"
)

func (m *Main) detect() *cobra.Command {
	var in inputFlags
	var window windowFlags
	var out outputFlags
	var letters string
	cmd := &cobra.Command{
		Use:   "detect [FILE|-]",
		Short: "Find the reuse in a file of posts",
		Long: "Read posts and print an event for every sentence that repeats, or nearly repeats, an earlier one within\n" +
			"the span: one JSON object a line, or on a terminal the two texts with what differs marked; with --output a table\n" +
			"for a spreadsheet. A summary goes to stderr. FILE may be compressed with gzip or zstd; without one, or with -, posts\n" +
			"come from stdin. What zstd needs to unpack it, 1 MB and its window of up to 256 MiB, comes out of --budget. Posts whose\n" +
			"fields have other names are read by --map or --preset, as refrain inspect FILE suggests: text=full_text|text is the\n" +
			"first that is there, text=title+body joins two.",
		Example: "  refrain detect posts.jsonl\n" +
			"  refrain detect --threshold 0.6 --span 7d --top 20 posts.jsonl.zst\n" +
			"  refrain detect --output csv --min-authors 3 --lang en posts.jsonl > events.csv\n" +
			"  refrain detect --group 1f0c2a9b posts.jsonl\n" +
			"  refrain detect --map text=body,id=uri,created_at=date other.jsonl\n" +
			"  refrain detect --preset mastodon-outbox outbox.json\n" +
			"  refrain detect --tz Europe/Berlin --time-format '%d.%m.%Y %H:%M' --map id=nr,text=Inhalt,created_at=Datum export.csv\n" +
			"  refrain detect --keep followers --link 'https://x.com/{author}/status/{id}' posts.jsonl\n" +
			"  zcat feed.gz | refrain detect --format text - > events.jsonl",
		Args: atMost(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := window.config(cmd.Context(), window.partitions)
			if err != nil {
				return err
			}
			if err := out.check(); err != nil {
				return err
			}
			filter, err := out.filter(cfg.Measure())
			if err != nil {
				return err
			}
			src, err := m.open(&in, args)
			if err != nil {
				return err
			}
			defer src.Close()
			cfg.OnForced = m.reportForced()
			cfg.Budget = m.limitMemory(cfg.Budget, src.Memory())
			windows, err := detector.NewPartitions(cfg, window.partitions, window.workers)
			if err != nil {
				return usage("%w", err)
			}
			d := detecting{
				main: m, src: src, windows: windows, minTokens: window.minTokens, measure: cfg.Measure(), span: cfg.Span,
				defaultSpan: !cmd.Flags().Changed("span"), out: out, filter: filter,
			}
			if letters == "" {
				return d.run(cmd.Context())
			}
			f, err := os.Create(letters)
			if err != nil {
				return err
			}
			d.letters = ingest.NewDeadLetters(f)
			return errors.Join(d.run(cmd.Context()), f.Close())
		},
	}
	cmd.Flags().StringVar(&letters, "dead-letters", "", "file for all that is no post, with place and reason, as JSON lines")
	window.add(cmd.Flags())
	in.add(cmd.Flags())
	in.addMeta(cmd.Flags())
	out.add(cmd.Flags())
	return cmd
}

// limitMemory returns what of the budget is the window's, since decompression may need a large part of it, which is told,
// and keeps the collector from letting garbage outgrow it.
func (m *Main) limitMemory(budget, input int64) int64 {
	if budget == 0 {
		return 0
	}
	const headroom = 16 << 20 // batches on their way, buffers, and room for garbage
	window := max(budget-input, budget/8)
	if input > budget/2 {
		fmt.Fprintf(m.Stderr, "refrain: unpacking the file takes %s, the budget is %s: the window may hold %s\n",
			units.FormatBytes(input), units.FormatBytes(budget), units.FormatBytes(window))
	}
	debug.SetMemoryLimit(window + input + max(window/4, headroom))
	return window
}

// reportForced reports once that the budget forces texts out, and then each time the span has halved.
func (m *Main) reportForced() func(sigstore.Forced) {
	var mu sync.Mutex // windows are served side by side
	span := time.Duration(math.MaxInt64)
	return func(f sigstore.Forced) {
		mu.Lock()
		defer mu.Unlock()
		if span == 0 || f.Span > span/2 {
			return
		}
		span = f.Span
		fmt.Fprintf(m.Stderr,
			"refrain: the budget is full: texts are dropped before their time, the window now reaches back %v\n", f.Span)
	}
}
