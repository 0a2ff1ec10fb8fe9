package text

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
)

// maxDenominator bounds Threshold.Den, so that Measure cannot overflow on sets of any real size.
const maxDenominator = 1_000_000

// Threshold is a similarity as a rational in (0, 1], in lowest terms when ParseThreshold made it: 0.8 is 4/5 and nothing
// near it. A Measure says of what.
type Threshold struct{ Num, Den int }

// ParseThreshold reads "0.8", "4/5" or "1".
func ParseThreshold(s string) (Threshold, error) {
	r, err := parseRational(s)
	if err != nil {
		return Threshold{}, fmt.Errorf("threshold %q: %w", s, err)
	}
	if r.Sign() <= 0 || r.Cmp(big.NewRat(1, 1)) > 0 {
		return Threshold{}, fmt.Errorf("threshold %q: want more than 0 and at most 1", s)
	}
	if r.Denom().Cmp(big.NewInt(maxDenominator)) > 0 {
		return Threshold{}, fmt.Errorf("threshold %q: want a denominator of at most %d", s, maxDenominator)
	}
	return Threshold{int(r.Num().Int64()), int(r.Denom().Int64())}, nil
}

// parseRational is stricter than big.Rat.SetString, which also takes exponents, signs and other bases.
func parseRational(s string) (*big.Rat, error) {
	const longest = 32
	digits := strings.Count(s, ".") + strings.Count(s, "/")
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			digits++
		}
	}
	bad := fmt.Errorf("want a decimal number or a fraction, such as 0.8 or 4/5")
	if digits != len(s) || len(s) > longest || strings.Count(s, ".")+strings.Count(s, "/") > 1 {
		return nil, bad
	}
	if r, ok := new(big.Rat).SetString(s); ok {
		return r, nil
	}
	return nil, bad
}

// String writes t as a fraction, or as "1".
func (t Threshold) String() string {
	if t.Num == t.Den {
		return "1"
	}
	return fmt.Sprintf("%d/%d", t.Num, t.Den)
}

// Decimal writes t as people do, rounded where a fraction has no end: 0.8.
func (t Threshold) Decimal() string { return fmt.Sprintf("%.4g", t.Float()) }

// Float is t rounded to a float64, for display.
func (t Threshold) Float() float64 { return float64(t.Num) / float64(t.Den) }

// Compare is -1, 0 or 1 as t is less than u, equal or more: as numbers, 8/10 is 4/5.
func (t Threshold) Compare(u Threshold) int { return cmp.Compare(t.Num*u.Den, u.Num*t.Den) }

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// Intersection is |a ∩ b| of two sets, each ascending and without repeats.
func Intersection(a, b []uint64) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x, y := a[i], b[j]
		if x == y {
			n++
		}
		// Without branches on the order of x and y, which no predictor can guess.
		i += oneIf(x <= y)
		j += oneIf(y <= x)
	}
	return n
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
