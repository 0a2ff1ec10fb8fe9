package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"refrain/internal/explain"
	"refrain/internal/terminal"
	"refrain/text"
)

func (m *Main) explain() *cobra.Command {
	var model modelFlags
	var measure, threshold string
	var minTokens int
	cmd := &cobra.Command{
		Use:   `explain "A" "B"`,
		Short: "Say why two texts match, or do not",
		Long: "Show the sentences of two texts with their tokens and signatures, and for each pair of sentences the\n" +
			"overlap, the similarity, the Hamming distance and the radius that loses nothing.",
		Example: `  refrain explain "The vote is today at nine" "the vote is today, at ten"` + "\n" +
			`  refrain explain --threshold 0.5 "A b c d" "A b c e"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("want two texts, got %d (quote each of them)", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			similar, err := parseMeasure(measure, threshold)
			if err != nil {
				return err
			}
			codes, err := model.model()
			if err != nil {
				return err
			}
			e, err := explain.Texts(args[0], args[1], explain.Settings{Measure: similar, Model: codes, MinTokens: minTokens})
			if err != nil {
				return err
			}
			return printExplanation(m.Stdout, e)
		},
	}
	addMeasure(cmd.Flags(), &measure)
	addThreshold(cmd.Flags(), &threshold)
	addMinTokens(cmd.Flags(), &minTokens)
	model.add(cmd.Flags())
	return cmd
}

func printExplanation(w io.Writer, e explain.Explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%sthreshold %s, model %s\n", unlessJaccard(e.Measure, "measure %s, ", e.Measure), e.Threshold, e.Model)
	printSentences(&b, "A", e.A)
	printSentences(&b, "B", e.B)
	for _, p := range e.Pairs {
		fmt.Fprintf(&b, "\nA%d and B%d: %s\n", p.A, p.B, p.Why)
		fmt.Fprintf(&b, "  common %d, union %d, Jaccard %.4f, %sHamming %d, radius %d\n", p.Common, p.Union, p.Jaccard,
			unlessJaccard(e.Measure, "%s %.4f, ", e.Measure, p.Similarity), p.Hamming, p.Radius)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unlessJaccard says what only another measure needs.
func unlessJaccard(measure, format string, args ...any) string {
	if measure == text.Jaccard.String() {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func printSentences(b *strings.Builder, name string, sentences []explain.Sentence) {
	if len(sentences) == 0 {
		fmt.Fprintf(b, "\n%s has no sentence.\n", name)
	}
	for i, s := range sentences {
		fmt.Fprintf(b, "\n%s%d  %s\n", name, i, terminal.Clean(s.Text))
		fmt.Fprintf(b, "    tokens     %s\n", strings.Join(s.Tokens, " · "))
		fmt.Fprintf(b, "    compared   %t (%d distinct tokens)\n", s.Compared, s.Size)
		fmt.Fprintf(b, "    signature  %s\n", s.Signature)
	}
}
