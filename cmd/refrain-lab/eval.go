package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"refrain/internal/cli"
	"refrain/lab/eval"
	"refrain/lab/eval/paper"
	"refrain/lab/report"
)

func (m *Main) eval() *cobra.Command {
	c := &eval.Config{}
	group := &tableGroup{main: m, markers: report.Eval, document: "docs/measurements/evaluation.md"}
	for _, t := range evalTables() {
		group.all = append(group.all, t.table(c))
	}
	group.all = append(group.all, losslessTables(c)...)
	for _, t := range joinTables() {
		group.all = append(group.all, t.table(c))
	}
	cmd := group.command(&cobra.Command{
		Use:   "eval",
		Short: "Measure how good codes are, and write the tables of docs/measurements/evaluation.md",
		Long: "Measure on the data set how many candidates searches have with codes of several learners, and what they find.\n" +
			"Each table names its machine, data, command and date, and has the figures of the papers beside ours. It is\n" +
			"printed as Markdown, or replaces what stands between its markers in a document.",
		Example: "  refrain-lab eval table1 --quick                    see that it works\n" +
			"  refrain-lab eval table2 --seed 2\n" +
			"  refrain-lab eval all --write docs/measurements/evaluation.md    everything",
	})
	cmd.PersistentFlags().Uint64Var(&c.Seed, "seed", 1, "of the random choices: the same seed and data give the same figures")
	cmd.PersistentFlags().StringVar(&c.Models, "models", "",
		"`folder` in which learned codes are kept, and taken from by the next run instead of learning them again")
	return cmd
}

// evalTable is one that can be measured.
type evalTable struct {
	name, short string
	measure     func(ctx context.Context, c *eval.Config) (*report.Report, error)
}

// evalTables are the list of what exists, in the order in which all measures them.
func evalTables() []evalTable {
	return []evalTable{
		{"table1", "The corpora", paper.Table1},
		{"table2", "Candidates, precision and recall by distance", paper.Table2},
		{"table3", "Candidates a sentence at a recall, six corpora", paper.Table3},
		{"table4", "Codes of the corpus itself against those of another", paper.Table4},
		{"fig4", "Precision by recall", paper.Figure4},
		{"fig5", "Overlap of frequent words between corpora", paper.Figure5},
		{"fig7", "Post-processing time by recall", paper.Figure7},
		{"fig8", "Post-processing time by corpus size", paper.Figure8},
		{"ner", "Classes of words that occur together, by the least affinity", paper.NER},
		{"solver", "The paper's problem solved, by λ", paper.Solver},
	}
}

func (t evalTable) table(c *eval.Config) table {
	cmd := &cobra.Command{Use: t.name, Short: t.short, Args: cli.AtMost(0, "none")}
	return table{command: cmd, measure: func(ctx context.Context, r *tableRun) (*report.Report, error) {
		c.Data, c.Quick, c.Command, c.Step, c.Status = r.data, r.quick, r.command, r.step, r.status
		if r.write != "" {
			c.Folder = filepath.Dir(r.write)
		}
		if c.Models != "" {
			if err := os.MkdirAll(c.Models, 0o755); err != nil {
				return nil, fmt.Errorf("--models: %w", err)
			}
		}
		return t.measure(ctx, c)
	}}
}
