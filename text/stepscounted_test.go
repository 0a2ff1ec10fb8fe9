//go:build steps

package text

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"refrain/feed"
)

// units are a character of each class of the Word_Break and Sentence_Break properties, and what this package has rules
// about.
var units = []string{
	"\r", "\n", "\r\n", "\u0085", "\u2029", "\v", "\t", " ", "\u2003", "\u00a0", // CR, LF, Newline, Sep, Sp, WSegSpace
	"\u0301", "\u0308", "\u200d", "\u00ad", "\u0600", "\u200b", // Extend, ZWJ, Format; dropped
	"\ufe0f", "\u20e3", "\u064b", "\u05b0", "\u0640", // likewise
	"ア", "ｶ", "ﾞ", "א", "a", "A", "é", "д", "Д", "ا", "각", "ᄀ", "\u1161", "\u11a8", "ა", // Katakana, Hebrew_Letter, ALetter; Lower, Upper
	"中", "の", "ก", "ខ", "ﷺ", "½", "ß", "İ", "ﬃ", // OLetter, Other; long forms
	"'", "’", "\"", ".", "․", ":", "·", ",", ";", "、", // Single_Quote, Double_Quote, MidNumLet, MidLetter, MidNum, SContinue
	"1", "١", "_", "‿", "🇦", "😀", "☺", // Numeric, ExtendNumLet, Regional_Indicator, Extended_Pictographic
	"!", "?", "…", "。", "۔", "։", "ա", "α", "\u037e", "፡", "។", // STerm, ATerm, and those of scripts
	"(", ")", "[", "]", "“", "”", "„", "«", "»", "「", "」", // Close
	"/", "//@", "@", "＠", "#", "＃", "*", "-", "–", ">", "|", "•", "\\", "&", "x@", "\x01", "\xff",
	"www.", "http://", "a.co/", "RT @a ", "1. ", "(1) ", "a) ", "Mr. ", "12. ", "etc. ", "[1]", " . ", " ».",
	":)", "The ", "I'm ",
}

const (
	small, large = 16 << 10, 64 << 10
	maxPerByte   = 400 // a rule looks at most 200 bytes around, and some of them there and back
	maxGrowth    = 4.4 // from small to large, which is 4 times as long; in proportion to the square it would be 16
)

// repeated writes units of a text up to a size.
func repeated(size int, units ...string) string {
	unit := strings.Join(units, "")
	return strings.Repeat(unit, size/len(unit))
}

// TestCountedSteps: what a post takes grows as its bytes do. It runs in the build that TestSteps makes.
func TestCountedSteps(t *testing.T) {
	var s Splitter
	countedSteps(&s, "A first post. It fills the tables.") // which is once, and not a post's
	for i, a := range units {
		for j, b := range units {
			if i <= j { // else it is the same, turned round
				checkGrowth(t, &s, fmt.Sprintf("(%q %q)*", a, b), small, large, func(size int) string { return repeated(size, a, b) })
			}
			checkGrowth(t, &s, fmt.Sprintf("%q* %q*", a, b), small/8, large/8,
				func(size int) string { return repeated(size/2, a) + repeated(size/2, b) })
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		a, b, c := units[random.IntN(len(units))], units[random.IntN(len(units))], units[random.IntN(len(units))]
		checkGrowth(t, &s, fmt.Sprintf("(%q %q %q)*", a, b, c), small/8, large/8,
			func(size int) string { return repeated(size, a, b, c) })
		checkGrowth(t, &s, fmt.Sprintf("%q* (%q %q)*", a, b, c), small/8, large/8,
			func(size int) string { return repeated(size/2, a) + repeated(size/2, b, c) })
	}
}

// checkGrowth measures a post in two sizes, the second 4 times the first.
func checkGrowth(t *testing.T, s *Splitter, what string, small, large int, post func(size int) string) {
	t.Helper()
	few, many := countedSteps(s, post(small)), countedSteps(s, post(large))
	if many > maxPerByte*large || float64(many) > maxGrowth*float64(few)+2*float64(large) {
		t.Errorf("%s: %d bytes take %d steps, %d take %d", what, small, few, large, many)
	}
}

// countedSteps is how many steps a post takes, or the limit where it takes more.
func countedSteps(s *Splitter, post string) (n int) {
	steps, stepLimit = 0, (maxPerByte+1)*len(post)
	defer func() {
		n = steps
		stepLimit = 0
		if p := recover(); p != nil && p != any(tooManySteps{}) {
			panic(p)
		}
	}()
	s.Sentences(nil, &feed.Post{Text: post}, 4)
	return steps
}
