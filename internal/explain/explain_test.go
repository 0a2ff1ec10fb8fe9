package explain

import (
	"strings"
	"testing"

	"refrain/hashcodes"
	"refrain/text"
)

// TestPairsAreLimited: two texts of 64 KB had 430 million pairs.
func TestPairsAreLimited(t *testing.T) {
	model, err := hashcodes.NewMD5(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{Measure: text.Jaccard.At(text.DefaultThreshold), Model: model, MinTokens: 4, MaxPairs: MaxPairs}
	long := func(sentences int) string { return strings.Repeat("Go on! ", sentences) }
	e, err := Texts(long(100), long(100), s)
	if err != nil || len(e.Pairs) != MaxPairs {
		t.Errorf("%d pairs, %v, want %d", len(e.Pairs), err, MaxPairs)
	}
	if e, err = Texts(long(100), long(101), s); err == nil || !strings.Contains(err.Error(), "10100 pairs") || e.Pairs != nil {
		t.Errorf("%d pairs, %v, want an error that says how many there would be", len(e.Pairs), err)
	}
}
