package join_test

import (
	"context"
	"fmt"

	"refrain/join"
	"refrain/text"
)

// collect makes a collection of the words of texts.
func collect(texts ...string) *join.Collection {
	c := &join.Collection{}
	var splitter text.Splitter
	for _, t := range texts {
		if err := c.Add(splitter.AppendIDs(nil, t)); err != nil {
			panic(err)
		}
	}
	return c
}

// All pairs of texts of which at least six in ten words are common.
func Example() {
	c := collect("Police close the bridge after a crash", "The weather: sun, and no wind", "Police close the old bridge after a crash today")
	cfg := join.Default()
	cfg.Measure = text.Jaccard.At(text.Threshold{Num: 3, Den: 5})
	stats, err := join.Self(context.Background(), cfg, c, func(p join.Pair) error {
		fmt.Printf("%d and %d: %d words in common, %.3f\n", p.A, p.B, p.Common, p.Similarity)
		return nil
	})
	fmt.Println(stats.Pairs, err)
	// Output:
	// 0 and 2: 7 words in common, 0.778
	// 1 <nil>
}

// Rows of one table and another that have four words in common.
func ExampleTwo() {
	a := collect("Sony Turntable PSLX350H", "Bose Acoustimass 5 Series III Speaker System")
	b := collect("Bose Acoustimass 5 speaker system, black", "Linksys EtherFast switch")
	cfg := join.Default()
	cfg.Measure = text.Overlap.At(text.Threshold{Num: 4, Den: 1})
	_, err := join.Two(context.Background(), cfg, a, b, func(p join.Pair) error {
		fmt.Println(p.A, p.B, p.Common)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 1 0 5
	// <nil>
}
