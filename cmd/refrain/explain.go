package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/text"
)

func (m *Main) explain() *cobra.Command {
	var model modelFlags
	var threshold string
	var minTokens int
	cmd := &cobra.Command{
		Use:   `explain "A" "B"`,
		Short: "Say why two texts match, or do not",
		Long:  "Show the sentences of two texts with their tokens and signatures, and for each pair of sentences the\noverlap, the Jaccard similarity, the Hamming distance and the radius that loses nothing.",
		Example: `  refrain explain "The vote is today at nine" "the vote is today, at ten"` + "\n" +
			`  refrain explain --threshold 0.5 "A b c d" "A b c e"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("want two texts, got %d (quote each of them)", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := text.ParseThreshold(threshold)
			if err != nil {
				return usage("--threshold: %w", err)
			}
			codes, err := model.model()
			if err != nil {
				return err
			}
			return explain(args[0], args[1], t, codes, minTokens).print(m.Stdout)
		},
	}
	cmd.Flags().StringVar(&threshold, "threshold", "0.8", "least Jaccard similarity, as a decimal or a fraction")
	cmd.Flags().IntVar(&minTokens, "min-tokens", 4, "least number of words of a sentence that is compared")
	model.add(cmd.Flags())
	return cmd
}

// explanation is the comparison of two texts, sentence by sentence. GET /v1/explain answers with its JSON.
type explanation struct {
	Threshold string              `json:"threshold"`
	Model     string              `json:"model"`
	A         []explainedSentence `json:"a"`
	B         []explainedSentence `json:"b"`
	Pairs     []explainedPair     `json:"pairs"`
}

type explainedSentence struct {
	Text      string   `json:"text"`
	Tokens    []string `json:"tokens"`
	Size      int      `json:"size"` // distinct tokens
	Compared  bool     `json:"compared"`
	Signature string   `json:"signature"`

	set []uint64
	sig hashcodes.Signature
}

type explainedPair struct {
	A        int     `json:"a"`
	B        int     `json:"b"`
	Common   int     `json:"common"`
	Union    int     `json:"union"`
	Jaccard  float64 `json:"jaccard"`
	Hamming  int     `json:"hamming"`
	Radius   int     `json:"radius"` // -1: sets of these sizes can never reach the threshold
	Reaches  bool    `json:"reaches"`
	Matches  bool    `json:"matches"`
	Sentence string  `json:"why"`
}

func explain(a, b string, t text.Threshold, codes *hashcodes.Model, minTokens int) explanation {
	e := explanation{
		Threshold: t.String(), Model: codes.Name(),
		A: explainText(a, codes, minTokens), B: explainText(b, codes, minTokens), Pairs: []explainedPair{},
	}
	for i := range e.A {
		for j := range e.B {
			e.Pairs = append(e.Pairs, explainPair(i, j, &e.A[i], &e.B[j], t, codes.Ones()))
		}
	}
	return e
}

func explainText(s string, codes *hashcodes.Model, minTokens int) []explainedSentence {
	var splitter text.Splitter
	out := []explainedSentence{}
	pieces, _ := splitter.Pieces(s)
	for _, p := range pieces {
		set := text.Set(tokenIDs(p.Tokens))
		sig := codes.Sign(make(hashcodes.Signature, codes.Words()), set)
		out = append(out, explainedSentence{
			Text: s[p.Start:p.End], Tokens: tokenTexts(p.Tokens), Size: len(set),
			Compared: text.Compared(p.Tokens, minTokens), Signature: signatureHex(sig), set: set, sig: sig,
		})
	}
	return out
}

func explainPair(i, j int, a, b *explainedSentence, t text.Threshold, ones int) explainedPair {
	n, m := len(a.set), len(b.set)
	common := text.Intersection(a.set, b.set)
	p := explainedPair{
		A: i, B: j, Common: common, Union: n + m - common, Jaccard: text.Jaccard(a.set, b.set),
		Hamming: hashcodes.Distance(a.sig, b.sig), Radius: -1,
	}
	if n > 0 && m > 0 {
		p.Radius, p.Reaches = hashcodes.Radius(t, ones, n, m), t.Reaches(common, n, m)
	}
	p.Matches = p.Reaches && a.Compared && b.Compared
	p.Sentence = p.why(a, b, t)
	return p
}

// why is the reason in a sentence.
func (p *explainedPair) why(a, b *explainedSentence, t text.Threshold) string {
	switch {
	case a.Size == 0 || b.Size == 0:
		return "no match: a sentence without tokens is never compared"
	case !a.Compared || !b.Compared:
		return "no match: too short to be compared (see --min-tokens)"
	case p.Matches && feed.GroupHash(a.set) == feed.GroupHash(b.set):
		return "match: the same words"
	case p.Matches:
		return fmt.Sprintf("match: Jaccard %d/%d = %.3f reaches %s", p.Common, p.Union, p.Jaccard, t)
	case p.Radius < 0:
		return fmt.Sprintf("no match: sets of %d and %d tokens cannot reach %s", a.Size, b.Size, t)
	}
	return fmt.Sprintf("no match: Jaccard %d/%d = %.3f is below %s: %d common tokens, %d needed",
		p.Common, p.Union, p.Jaccard, t, p.Common, t.Overlap(a.Size, b.Size))
}

func (e explanation) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "threshold %s, model %s\n", e.Threshold, e.Model)
	printSentences(&b, "A", e.A)
	printSentences(&b, "B", e.B)
	for _, p := range e.Pairs {
		fmt.Fprintf(&b, "\nA%d and B%d: %s\n", p.A, p.B, p.Sentence)
		fmt.Fprintf(&b, "  common %d, union %d, Jaccard %.4f, Hamming %d, radius %d\n", p.Common, p.Union, p.Jaccard, p.Hamming, p.Radius)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printSentences(b *strings.Builder, name string, sentences []explainedSentence) {
	if len(sentences) == 0 {
		fmt.Fprintf(b, "\n%s has no sentence.\n", name)
	}
	for i, s := range sentences {
		fmt.Fprintf(b, "\n%s%d  %s\n", name, i, s.Text)
		fmt.Fprintf(b, "    tokens     %s\n", strings.Join(s.Tokens, " · "))
		fmt.Fprintf(b, "    compared   %t (%d distinct tokens)\n", s.Compared, s.Size)
		fmt.Fprintf(b, "    signature  %s\n", s.Signature)
	}
}
