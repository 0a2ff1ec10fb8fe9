package hashcodes_test

import (
	"fmt"

	"refrain/hashcodes"
	"refrain/text"
)

// Example signs two texts. Similar ones have signatures that differ in few bits: in Radius at most, whatever the model.
func Example() {
	model := hashcodes.Default()
	sign := func(s string) (hashcodes.Signature, int) {
		set := text.Set(new(text.Splitter).AppendIDs(nil, s))
		return model.Sign(make(hashcodes.Signature, model.Words()), set), len(set)
	}
	a, n := sign("The quick brown fox jumps over the lazy dog")
	b, m := sign("The quick brown fox jumps over the lazy dog again")
	radius := hashcodes.Radius(text.Jaccard.At(text.DefaultThreshold), model.Ones(), n, m)
	fmt.Printf("%d and %d tokens in %d bits: may be similar: %t\n", n, m, model.Bits(), hashcodes.Distance(a, b) <= radius)
	// Output: 8 and 9 tokens in 64 bits: may be similar: true
}
