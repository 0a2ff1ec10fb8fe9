package text

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// This file joins the package in the build of TestSteps alone: there every turn of a loop is a step, and so is every byte
// that a function of these packages looks at.

var (
	steps     int
	stepLimit int
)

// tooManySteps is what a scan panics with that goes beyond the limit.
type tooManySteps struct{}

func step(n int) {
	steps += n
	if stepLimit > 0 && steps > stepLimit {
		panic(tooManySteps{})
	}
}

// upTo counts a search that goes to n, or through all of it where n is negative.
func upTo(n, all int) int {
	if n < 0 {
		step(all)
	} else {
		step(n + 1)
	}
	return n
}

type (
	countedStrings struct{}
	countedWords   struct{}
)

var (
	stringsCounted countedStrings
	wordsCounted   countedWords
)

func (countedWords) SplitFunc(data []byte, atEOF bool) (int, []byte, error) {
	step(len(data))
	return words.SplitFunc(data, atEOF)
}

func (countedStrings) IndexByte(s string, c byte) int { return upTo(strings.IndexByte(s, c), len(s)) }
func (countedStrings) IndexAny(s, chars string) int   { return upTo(strings.IndexAny(s, chars), len(s)) }
func (countedStrings) IndexFunc(s string, f func(rune) bool) int {
	return upTo(strings.IndexFunc(s, f), len(s))
}
func (countedStrings) Contains(s, sub string) bool { return upTo(strings.Index(s, sub), len(s)) >= 0 }
func (countedStrings) ContainsRune(s string, r rune) bool {
	return upTo(strings.IndexRune(s, r), len(s)) >= 0
}
func (countedStrings) Count(s, sub string) int { step(len(s)); return strings.Count(s, sub) }

func (countedStrings) LastIndexByte(s string, c byte) int {
	n := strings.LastIndexByte(s, c)
	step(len(s) - n)
	return n
}

func (countedStrings) LastIndexAny(s, chars string) int {
	n := strings.LastIndexAny(s, chars)
	step(len(s) - n)
	return n
}

func (countedStrings) HasPrefix(s, p string) bool { step(len(p)); return strings.HasPrefix(s, p) }
func (countedStrings) HasSuffix(s, p string) bool { step(len(p)); return strings.HasSuffix(s, p) }
func (countedStrings) EqualFold(s, t string) bool { step(len(t)); return strings.EqualFold(s, t) }
func (countedStrings) CutSuffix(s, p string) (string, bool) {
	step(len(p))
	return strings.CutSuffix(s, p)
}

func trimmed(s, to string) string { step(len(s) - len(to) + 1); return to }

func (countedStrings) Trim(s, set string) string      { return trimmed(s, strings.Trim(s, set)) }
func (countedStrings) TrimLeft(s, set string) string  { return trimmed(s, strings.TrimLeft(s, set)) }
func (countedStrings) TrimRight(s, set string) string { return trimmed(s, strings.TrimRight(s, set)) }
func (countedStrings) TrimLeftFunc(s string, f func(rune) bool) string {
	return trimmed(s, strings.TrimLeftFunc(s, f))
}
func (countedStrings) TrimRightFunc(s string, f func(rune) bool) string {
	return trimmed(s, strings.TrimRightFunc(s, f))
}

func (countedStrings) ToLower(s string) string         { step(len(s)); return strings.ToLower(s) }
func (countedStrings) Fields(s string) []string        { step(len(s)); return strings.Fields(s) }
func (countedStrings) Lines(s string) iter.Seq[string] { step(len(s)); return strings.Lines(s) }
func (countedStrings) SplitSeq(s, sep string) iter.Seq[string] {
	step(len(s))
	return strings.SplitSeq(s, sep)
}
func countedRunes(s string) int { step(len(s)); return utf8.RuneCountInString(s) }
func countedContains[S ~[]E, E comparable](s S, v E) bool {
	return upTo(slices.Index(s, v), len(s)) >= 0
}
