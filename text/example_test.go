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

// ExampleJaccard compares two texts by their sets of tokens, whatever their order, case and punctuation.
func ExampleJaccard() {
	var s text.Splitter
	a := text.Set(s.AppendIDs(nil, "The quick brown fox jumps over the lazy dog."))
	b := text.Set(s.AppendIDs(nil, "Again: over THE lazy dog, the quick brown fox jumps!"))
	fmt.Printf("%.3f\n", text.Jaccard(a, b))
	fmt.Println(text.DefaultThreshold.Reaches(text.Intersection(a, b), len(a), len(b)))
	// Output:
	// 0.889
	// true
}
