package text_test

import (
	"fmt"

	"refrain/text"
)

// ExampleSplitter_Split cuts a post into sentences, and these into tokens.
func ExampleSplitter_Split() {
	var s text.Splitter
	post := "Dr. Ruth paid 3.50 for it. WHY? See https://example.org #bargain"
	sentences, _ := s.Split(post)
	for _, sentence := range sentences {
		fmt.Printf("%q:", post[sentence.Start:sentence.End])
		for _, token := range sentence.Tokens {
			fmt.Printf(" %s", token.Text)
		}
		fmt.Println()
	}
	// Output:
	// "Dr. Ruth paid 3.50 for it.": dr ruth paid 3.50 for it
	// "WHY?": why
	// "See https://example.org #bargain": see #bargain
}

// ExampleMeasure compares two texts by their sets of tokens, whatever their order, case and punctuation.
func ExampleMeasure() {
	var s text.Splitter
	a := text.Set(s.AppendIDs(nil, "The quick brown fox jumps over the lazy dog."))
	b := text.Set(s.AppendIDs(nil, "Again: over THE lazy dog, the quick brown fox jumps!"))
	common := text.Intersection(a, b)
	for _, kind := range []text.Similarity{text.Jaccard, text.Cosine, text.Dice} {
		enough := kind.At(text.Threshold{Num: 9, Den: 10}).Reaches(common, len(a), len(b))
		fmt.Printf("%-7s  %.3f  %t\n", kind, kind.Of(a, b), enough)
	}
	// Output:
	// jaccard  0.889  false
	// cosine   0.943  true
	// dice     0.941  true
}
