package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/internal/cli"
	"refrain/lab/bench/tables"
	"refrain/lab/report"
)

// options are what a table is measured with: its defaults, or those of a quick run, and what flags say instead.
type options[T any] struct {
	usual, quick T
	flags        *pflag.FlagSet
	again        pflag.FlagSet // the same flags of the quick ones
}

// newOptions gives a command the flags that add makes, with the usual values as their defaults.
func newOptions[T any](cmd *cobra.Command, usual, quick T, add func(*pflag.FlagSet, *T)) *options[T] {
	o := &options[T]{usual: usual, quick: quick, flags: cmd.Flags()}
	add(o.flags, &o.usual)
	add(&o.again, &o.quick)
	return o
}

// chosen are those of this run.
func (o *options[T]) chosen(quick bool) (T, error) {
	var err error
	o.again.VisitAll(func(f *pflag.Flag) {
		if given := o.flags.Lookup(f.Name); given.Changed && err == nil {
			err = copyFlag(f, given)
		}
	})
	if quick {
		return o.quick, err
	}
	return o.usual, err
}

// measure makes measure take the options of a run.
func (o *options[T]) measure(measure func(context.Context, *tables.Config, T) (*report.Report, error)) measurement {
	return func(ctx context.Context, c *tables.Config, _ []string) (*report.Report, error) {
		chosen, err := o.chosen(c.Quick)
		if err != nil {
			return nil, err
		}
		made, err := measure(ctx, c, chosen)
		if wrong := (tables.OptionError{}); errors.As(err, &wrong) {
			return nil, cli.Usage("%w", err)
		}
		return made, err
	}
}

// copyFlag gives a flag the value of another of its kind. A list has to have something in it.
func copyFlag(f, given *pflag.Flag) error {
	list, ok := given.Value.(pflag.SliceValue)
	if !ok {
		return f.Value.Set(given.Value.String())
	}
	if len(list.GetSlice()) == 0 {
		return cli.Usage("--%s: want one or more", given.Name)
	}
	return f.Value.(pflag.SliceValue).Replace(list.GetSlice())
}
