package main

import (
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refrain/internal/joining"
	"refrain/internal/memory"
	"refrain/internal/units"
	"refrain/join"
	"refrain/join/edit"
	tokens "refrain/join/units"
	"refrain/text"
)

func (m *Main) join() *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use:   "join A [B]",
		Short: "Find all pairs of similar records in one file or two",
		Long: "Compare every record of A with every other one, or with B every record of A with every one of B, and print the pairs\n" +
			"that reach the threshold: all of them, and no other. A record is a post (jsonl), a row of a table (csv), a line\n" +
			"(text), or a line of whole numbers (sets), and is compared as a set of its --units. With --edit, strings are compared as\n" +
			"they are, by the characters that turn one into the other. There is no window: nothing is forgotten, all sets are in\n" +
			"memory. Files may be compressed; one of them may be -, which is stdin. A summary goes to stderr.\n" +
			"docs/join.md has formats, units, answers to bad input, and what each algorithm does.",
		Example: "  refrain join posts.jsonl                                    pairs of posts, at a Jaccard similarity of 0.8\n" +
			"  refrain join --measure cosine --threshold 0.9 posts.jsonl.zst > pairs.jsonl\n" +
			"  refrain join --id id --column name Abt.csv Buy.csv         rows of two tables\n" +
			"  refrain join --format sets --algorithm ppjoin+ sets.txt.gz lines of whole numbers\n" +
			"  refrain join --measure overlap --threshold 5 --units qgrams:3 titles.txt\n" +
			"  refrain join --edit 2 names.txt                            lines at most 2 changes apart",
		Args: atMost(2, "one file, or two"),
		RunE: func(cmd *cobra.Command, args []string) error {
			j, err := f.joining(m, cmd.Flags(), args)
			if err != nil {
				return err
			}
			return j.run(cmd.Context())
		},
	}
	f.add(cmd.Flags())
	return cmd
}

// joinFlags say what is joined, and how.
type joinFlags struct {
	measure, threshold, algorithm, units, format, records, output, budget string

	id, column              string
	maxDepth, edit, workers int
	strict                  bool
}

// joinMeasures are more than a detector can have.
var joinMeasures = append(append([]string{}, text.Similarities...), text.Overlap.String())

func (f *joinFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.measure, "measure", text.Jaccard.String(), "similarity of two sets: "+strings.Join(joinMeasures, ", "))
	to.StringVar(&f.threshold, "threshold", text.DefaultThreshold.Decimal(),
		"least similarity, as a decimal or a fraction; for overlap a number of tokens")
	to.StringVar(&f.algorithm, "algorithm", join.Ours.String(), strings.Join(join.Algorithms, ", ")+": the pairs are the same")
	to.IntVar(&f.maxDepth, "max-depth", join.Default().MaxDepth, "how deep the suffix filter of ppjoin+ looks")
	to.StringVar(&f.format, "format", "", strings.Join(joining.Formats, ", ")+"; by default by the file itself")
	to.StringVar(&f.records, "records", "", "where the records are in a file of JSON, as data or chats.list.messages")
	to.StringVar(&f.units, "units", tokens.Words.String(),
		"what is compared of a text: words, chars, qgrams:Q (Q characters), shingles:W (W words), minwise:W,K (K of those)")
	to.IntVar(&f.edit, "edit", 0, "compare strings as they are: at most so many characters inserted, deleted or replaced")
	to.StringVar(&f.id, "id", "id", "field or column that has a record's id")
	to.StringVar(&f.column, "column", "text", "field or column that has its text")
	to.StringVar(&f.output, "output", "jsonl", "how pairs are printed: jsonl, csv")
	to.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "goroutines that look for pairs; by default as many as there are cores")
	to.StringVar(&f.budget, "budget", "", "memory that records and join may take; by default three quarters of what the machine has")
	to.BoolVar(&f.strict, "strict", false, "stop at the first malformed line instead of skipping it")
}

// joining checks the flags and arguments before anything is read.
func (f *joinFlags) joining(m *Main, flags *pflag.FlagSet, args []string) (*joinRun, error) {
	j := &joinRun{main: m, output: f.output, edit: -1}
	if err := f.setMethod(j, flags); err != nil {
		return nil, err
	}
	if err := f.setBudget(j); err != nil {
		return nil, err
	}
	if err := f.setFiles(j, args); err != nil {
		return nil, err
	}
	return j, f.checkFiles(j, flags)
}

// setMethod says how records are compared, and how pairs are printed.
func (f *joinFlags) setMethod(j *joinRun, flags *pflag.FlagSet) error {
	if flags.Changed("edit") {
		if err := f.checkEdit(flags); err != nil {
			return err
		}
		j.edit = f.edit
	}
	if f.output != "jsonl" && f.output != "csv" {
		return usage("--output %q: want jsonl or csv", f.output)
	}
	return f.config(flags, &j.cfg)
}

func (f *joinFlags) setFiles(j *joinRun, paths []string) error {
	if len(paths) == 0 {
		return usage("which file? As in `refrain join posts.jsonl`; - is stdin")
	}
	if len(paths) == 2 && paths[0] == "-" && paths[1] == "-" {
		return usage("both files are stdin: name one")
	}
	unit, err := tokens.Parse(f.units)
	if err != nil {
		return usage("--%w", err)
	}
	for _, path := range paths {
		j.files = append(j.files, joining.Config{
			Path: path, Stdin: j.main.Stdin, Format: f.format, RecordsAt: f.records, ID: f.id, Column: f.column, Units: unit,
			Texts: j.edit >= 0, Strict: f.strict, Workers: f.workers,
		})
	}
	return nil
}

// checkEdit refuses what says nothing of strings.
func (f *joinFlags) checkEdit(flags *pflag.FlagSet) error {
	if f.edit < 0 || f.edit > edit.MaxDistance {
		return usage("--edit %d: want 0 to %d characters", f.edit, edit.MaxDistance)
	}
	for _, name := range []string{"measure", "threshold", "algorithm", "max-depth", "units"} {
		if flags.Changed(name) {
			return usage("--%s says how sets are compared, and --edit compares strings: leave out one of them", name)
		}
	}
	return nil
}

// checkFiles refuses files that cannot be compared with each other.
func (f *joinFlags) checkFiles(j *joinRun, flags *pflag.FlagSet) error {
	integers := 0
	for i := range j.files {
		if err := j.files[i].Check(); err != nil {
			return usage("--%w", err)
		}
		if j.files[i].Integers() {
			integers++
		}
	}
	switch {
	case integers == 1 && len(j.files) == 2:
		return usage("one file has sets of whole numbers and the other one texts: nothing of them is the same; --format says what both are")
	case integers > 0 && j.edit >= 0:
		return usage("--edit compares strings, and these are sets of whole numbers; --format says what a file is")
	case !slices.ContainsFunc(j.files, func(c joining.Config) bool { return c.HasFields() }) && (flags.Changed("id") || flags.Changed("column")):
		return usage("--id and --column name fields of posts or columns of a table, and these are lines; --format says what a file is")
	case integers > 0 && flags.Changed("units"):
		return usage("--units %s are units of texts, and these are sets of whole numbers; --format says what a file is", f.units)
	}
	return nil
}

func (f *joinFlags) config(flags *pflag.FlagSet, cfg *join.Config) (err error) {
	*cfg = join.Default()
	if cfg.Measure, err = parseJoinMeasure(f.measure, f.threshold, flags.Changed("threshold")); err != nil {
		return err
	}
	if cfg.Algorithm, err = join.ParseAlgorithm(f.algorithm); err != nil {
		return usage("--%w", err)
	}
	if f.maxDepth < 0 {
		return usage("--max-depth %d: want 0 or more", f.maxDepth)
	}
	if flags.Changed("max-depth") && cfg.Algorithm != join.PPJoinPlus {
		return usage("--max-depth is of --algorithm ppjoin+")
	}
	if f.workers < 1 {
		return usage("--workers %d: want 1 or more", f.workers)
	}
	cfg.MaxDepth, cfg.Workers = f.maxDepth, f.workers
	return nil
}

// parseJoinMeasure is parseMeasure with overlap, whose threshold is a number of tokens.
func parseJoinMeasure(measure, threshold string, given bool) (m text.Measure, err error) {
	if measure != text.Overlap.String() {
		if m.Similarity, err = text.ParseSimilarity(measure); err != nil {
			return m, usage("--measure %q: want %s", measure, strings.Join(joinMeasures, ", "))
		}
		if m.Threshold, err = text.ParseThreshold(threshold); err != nil {
			return m, usage("--threshold: %w", err)
		}
		return m, nil
	}
	if !given {
		return m, usage("--threshold is missing: overlap wants a number of tokens")
	}
	n, err := strconv.Atoi(threshold)
	if err != nil || n < 1 || n > join.MaxTokens {
		return m, usage("--threshold %s: overlap is a number of tokens: want a whole number from 1 to %d", threshold, join.MaxTokens)
	}
	return text.Overlap.At(text.Threshold{Num: n, Den: 1}), nil
}

// setBudget is three quarters of the memory where nobody says more, and refuses what no join can do with.
func (f *joinFlags) setBudget(j *joinRun) (err error) {
	if j.budget = memory.Total() / 4 * 3; f.budget != "" {
		if j.budget, err = units.ParseBytes(f.budget); err != nil {
			return usage("--budget: %w", err)
		}
	}
	if err := units.MinBytes(j.budget, units.MinBudget); err != nil {
		return usage("--budget: %w", err)
	}
	if least := units.MinBudget + j.minMemory(nil); j.budget < least {
		return usage("--budget %s: want %s or more for --workers %d", units.FormatBytes(j.budget), units.FormatLeastBytes(least), f.workers)
	}
	return nil
}
