package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"refrain/detector"
	"refrain/internal/cli"
	"refrain/lab/bench/tables"
	"refrain/lab/product"
	"refrain/lab/report"
)

func (m *Main) bench() *cobra.Command {
	var f benchFlags
	group := &tableGroup{main: m, markers: report.Bench, document: "docs/measurements/benchmarks.md", apart: true}
	for _, t := range benchTables() {
		group.all = append(group.all, t.table(&f))
	}
	cmd := group.command(&cobra.Command{
		Use:   "bench",
		Short: "Measure on real data, and write the tables of docs/measurements/benchmarks.md",
		Long: "Measure the program on the data set. Each table names its machine, data, command and date. It is printed as\n" +
			"Markdown, or replaces what stands between its markers in a document. What is compared is run side by side. The\n" +
			"tables of a GPU stand in " + tables.GPUDocument + ": deploy/gpu-first-run measures them all.",
		Example: "  refrain-lab bench kernels --quick                    see that it works\n" +
			"  refrain-lab bench match --sentences 200000\n" +
			"  refrain-lab bench all --write docs/measurements/benchmarks.md     everything that can be measured here",
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

	document string // that it stands in; "": that of the others
}

func (t benchTable) table(f *benchFlags) table {
	return table{command: t.command, missing: t.missing, narrow: t.narrow, document: t.document,
		measure: func(ctx context.Context, r *tableRun) (*report.Report, error) {
			return t.run(ctx, r, f)
		}}
}

func (t benchTable) run(ctx context.Context, r *tableRun, f *benchFlags) (*report.Report, error) {
	c, err := benchConfig(r, f.runs)
	if err == nil && t.check != nil {
		err = t.check()
	}
	switch {
	case err != nil:
		return nil, err
	case t.starts:
		return t.measureProduct(ctx, c, r, f.refrain)
	}
	return t.measure(ctx, c, r.args)
}

// measureProduct finds the refrain that the table starts, and says which it is.
func (t benchTable) measureProduct(ctx context.Context, c *tables.Config, r *tableRun,
	named string) (*report.Report, error) {
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

// benchConfig checks the flags.
func benchConfig(r *tableRun, runs int) (*tables.Config, error) {
	if runs < 1 {
		return nil, cli.Usage("--runs %d: want 1 or more", runs)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &tables.Config{Data: r.data, Runs: runs, Quick: r.quick, Command: r.command, Self: self, Step: r.step,
		Status: r.status}
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
		Use: tables.MemoryInner, Hidden: true, Short: "Fill a window and say what it takes",
		Example: "  refrain-lab bench " + tables.MemoryInner,
		Args:    cli.AtMost(0, "none"),
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
