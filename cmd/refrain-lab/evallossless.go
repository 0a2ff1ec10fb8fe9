package main

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/internal/cli"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/lab/eval/lossless"
	"refrain/lab/report"
)

// losslessTables are those of searches inside the lossless radius.
func losslessTables(c *eval.Config) []table {
	return []table{
		losslessTable(c, "later", "False candidates on later sentences, by learner, m, l and threshold",
			lossless.DefaultLater(), lossless.Later, "corpus", "bits", "ones", "threshold", "learner"),
		losslessTable(c, "grid", "Candidates by m, l and threshold, for Jaccard and for the cosine", lossless.DefaultGrid(),
			lossless.Grid, "corpus", "bits", "ones", "threshold"),
		losslessTable(c, "drift", "A model on the weeks after it, against one learned anew each week",
			lossless.DefaultDrift(), lossless.Drift, "threshold"),
		losslessTable(c, "effect", "Detectors with scan and prefix under several codes: time, candidates, memory, the "+
			"same events", lossless.DefaultEffect(), lossless.Effect, "corpus", "threshold"),
		losslessTable(c, "lossless", "Every two similar sentences against the lossless radius: an exception is a failure",
			lossless.DefaultProperty(), lossless.Property, "corpus", "bits", "ones", "threshold", "learner"),
	}
}

// losslessTable is a table with those of the flags that it knows.
func losslessTable(c *eval.Config, name, short string, usual lossless.Options,
	measure func(context.Context, *eval.Config, lossless.Options) (*report.Report, error), flags ...string) table {
	var o *options[lossless.Options]
	t := evalTable{name, short, func(ctx context.Context, c *eval.Config) (*report.Report, error) {
		chosen, err := o.chosen(c.Quick)
		if err == nil {
			err = checkLossless(&chosen)
		}
		if err != nil {
			return nil, err
		}
		r, err := measure(ctx, c, chosen)
		if err != nil && ctx.Err() != nil {
			return nil, eval.Interrupted(ctx)
		}
		return r, err
	}}.table(c)
	o = newOptions(t.command, usual, usual.Quick(),
		func(f *pflag.FlagSet, o *lossless.Options) { addLosslessFlags(f, o, flags) })
	t.narrow = flags
	return t
}

func addLosslessFlags(f *pflag.FlagSet, o *lossless.Options, names []string) {
	for _, name := range names {
		switch name {
		case "corpus":
			f.StringSliceVar(&o.Corpora, name, o.Corpora, "corpora")
		case "bits":
			f.IntSliceVar(&o.Bits, name, o.Bits, "bits of a signature: some of 32, 64, 128 and 256")
		case "ones":
			f.IntSliceVar(&o.Ones, name, o.Ones, "ones of a code")
		case "learner":
			f.StringSliceVar(&o.Learners, name, o.Learners, "learners")
		case "threshold":
			f.StringSliceVar(&o.Thresholds, name, o.Thresholds, "similarities")
		}
	}
}

// checkLossless says what is wrong with the flags before anything is read.
func checkLossless(o *lossless.Options) error {
	for _, name := range o.Corpora {
		if _, err := corpus.Find(name); err != nil {
			return cli.Usage("--corpus %s: want some of %s", name, corpusNames())
		}
	}
	for _, bits := range o.Bits {
		if _, err := hashcodes.NewMD5(bits, 1); err != nil {
			return cli.Usage("--bits %d: %w", bits, err)
		}
	}
	for _, ones := range o.Ones {
		if _, err := hashcodes.NewMD5(32, ones); err != nil {
			return cli.Usage("--ones %d: %w", ones, err)
		}
	}
	for _, learner := range o.Learners {
		if err := (train.Config{Learner: learner}).CheckLearner(); err != nil {
			return cli.Usage("--%w", err)
		}
	}
	if _, err := o.ParseThresholds(); err != nil {
		return cli.Usage("--%w", err)
	}
	return nil
}

func corpusNames() string {
	var names []string
	for _, c := range corpus.All {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}
