package text

import (
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

func TestThresholdCompare(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"0.8", "4/5", 0}, {"8/10", "0.80", 0}, {"0.8", "0.800001", -1}, {"1", "999999/1000000", 1}, {"2/3", "0.666667", -1},
	} {
		if got := mustThreshold(t, c.a).Compare(mustThreshold(t, c.b)); got != c.want {
			t.Errorf("%s and %s: got %d, want %d", c.a, c.b, got, c.want)
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
		if diff := cmp.Diff(want, Jaccard.Of(a, b)); diff != "" {
			t.Fatalf("Jaccard (-want +got): %s", diff)
		}
	})
}
