package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError is a mistake in how a program was called.
type usageError struct{ error }

// Usage makes an error that says what is wrong with the command line; Run then returns ExitUsage.
func Usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// AtMost is a check of the number of arguments that counts as wrong usage.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return Usage("unexpected argument %q: want %s", args[n], what)
		}
		return nil
	}
}

// unknownCommand refuses what is no subcommand.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return Usage("unknown command %q: did you mean %s?", args[0], near[0])
	}
	return Usage("unknown command %q", args[0])
}

// flagError says what a flag wants instead of how its value is parsed.
func flagError(_ *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return usageError{err}
	}
	want := map[string]string{
		"int": "a whole number", "uint64": "a whole number, 0 or more", "float64": "a number",
		"duration": "a time such as 30s or 5m", "bool": "true or false",
		"intSlice": "whole numbers with commas between them", "stringSlice": "words with commas between them",
	}[wrong.GetFlag().Value.Type()]
	if want == "" {
		return usageError{err}
	}
	return Usage("--%s %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), want)
}
