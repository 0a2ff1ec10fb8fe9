package text

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseThreshold(t *testing.T) {
	for s, want := range map[string]Threshold{
		"0.8": {4, 5}, "4/5": {4, 5}, "8/10": {4, 5}, "1": {1, 1}, "1.0": {1, 1}, "1/1": {1, 1}, ".5": {1, 2},
		"0.000001": {1, 1_000_000}, "999999/1000000": {999_999, 1_000_000}, "0.80000000000000000000": {4, 5},
	} {
		got, err := ParseThreshold(s)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", s, got, err, want)
		}
	}
}

func TestParseThresholdRejects(t *testing.T) {
	for _, s := range []string{
		"", "0", "0.0", "-0.5", "+0.5", "1.1", "5/4", "0/5", "4/0", "/5", "4/", ".", "/", "1e-1", "0x1", "0.8 ", "a",
		"NaN", "Inf", "4/5/6",
		"0.5/2", "1/1000001", "0.0000001", "1_0", "٠.٨", "0.11111111111111111111111111111111111111111",
	} {
		if got, err := ParseThreshold(s); err == nil {
			t.Errorf("%q: got %v, want an error", s, got)
		}
	}
}

// TestThresholdDefinition compares Overlap, Sizes and Reaches with the definition of Jaccard, in rationals, for
// all pairs of sizes up to 300.
func TestThresholdDefinition(t *testing.T) {
	const largest = 300
	for _, s := range []string{"0.5", "0.55", "0.6", "2/3", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95", "0.99", "1",
		"1/3", "0.123456"} {
		th := mustThreshold(t, s)
		rat := big.NewRat(int64(th.Num), int64(th.Den))
		for n := 1; n <= largest; n++ {
			checkSizes(t, th, rat, n, largest)
			for m := 1; m <= largest; m++ {
				checkOverlap(t, th, n, m)
			}
		}
	}
}

func mustThreshold(t *testing.T, s string) Threshold {
	t.Helper()
	th, err := ParseThreshold(s)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

// checkOverlap: the least overlap at which i/(n+m-i) >= t, by cross-multiplication in integers.
func checkOverlap(t *testing.T, th Threshold, n, m int) {
	t.Helper()
	reaches := func(i int) bool { return int64(i)*int64(th.Den) >= int64(th.Num)*int64(n+m-i) }
	got := th.Overlap(n, m)
	if !reaches(got) || got > 0 && reaches(got-1) {
		t.Fatalf("%v: Overlap(%d, %d) = %d is not the least", th, n, m, got)
	}
	if both := min(n, m, got); both == got && !th.Reaches(got, n, m) || got > 0 && th.Reaches(got-1, n, m) {
		t.Fatalf("%v: Reaches disagrees with Overlap(%d, %d) = %d", th, n, m, got)
	}
}

// checkSizes: m is a possible size if a set of m can reach t by containing or being contained.
func checkSizes(t *testing.T, th Threshold, rat *big.Rat, n, largest int) {
	t.Helper()
	minSize, maxSize := th.Sizes(n)
	for m := 1; m <= largest; m++ {
		best := big.NewRat(int64(min(n, m)), int64(max(n, m)))
		if want, got := best.Cmp(rat) >= 0, minSize <= m && m <= maxSize; got != want {
			t.Fatalf("%v: Sizes(%d) = %d, %d; size %d: got %v, want %v", th, n, minSize, maxSize, m, got, want)
		}
	}
}

func TestIntersection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.Custom(func(t *rapid.T) []uint64 {
			m := rapid.MapOf(rapid.Uint64Range(0, 40), rapid.Just(true)).Draw(t, "set")
			var out []uint64
			for id := range uint64(41) {
				if m[id] {
					out = append(out, id)
				}
			}
			return out
		})
		a, b := set.Draw(t, "a"), set.Draw(t, "b")
		both := 0
		for _, x := range a {
			for _, y := range b {
				if x == y {
					both++
				}
			}
		}
		if got := Intersection(a, b); got != both {
			t.Fatalf("Intersection: got %d, want %d", got, both)
		}
		want := 0.0
		if union := len(a) + len(b) - both; union > 0 {
			want = float64(both) / float64(union)
		}
		if diff := cmp.Diff(want, Jaccard(a, b)); diff != "" {
			t.Fatalf("Jaccard (-want +got): %s", diff)
		}
	})
}
