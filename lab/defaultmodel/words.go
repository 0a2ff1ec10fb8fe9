package main

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	minAuthors      = 100 // of a word whose language has one corpus
	minCorpora      = 2   // of a word of any other
	minUses         = 3   // in each of them
	minDecided      = 5   // occurrences inside sentences from which a corpus has a say on capital letters
	maxCapitalShare = 1.0 / 3
)

// capitalised are English words with a capital letter that are no names.
var capitalised = []string{"i", "i'm", "i'll", "i've", "i'd"}

// allowed are the words that may stand in the vocabulary. Each must be the common word of at least one language: seen in
// several corpora of it or with many authors, and not written like a name in any of them.
func allowed(readings []*reading, out *exclusions) []string {
	byLanguage := map[string][]*reading{}
	for _, r := range readings {
		byLanguage[r.corpus.language] = append(byLanguage[r.corpus.language], r)
	}
	words := map[string]bool{}
	for _, some := range byLanguage {
		for word := range common(some) {
			if plain(word) && !out.contains(word) {
				words[word] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(words))
}

// common yields the words that enough corpora, or authors, of a language use, and none like a name.
func common(readings []*reading) map[string]bool {
	corpora, names := map[string]int{}, map[string]bool{}
	for _, r := range readings {
		for word, u := range r.words {
			if u.all >= minUses {
				corpora[word]++
			}
			if len(u.authors) >= minAuthors {
				corpora[word] += minCorpora
			}
			if u.isName() && !slices.Contains(capitalised, word) {
				names[word] = true
			}
		}
	}
	maps.DeleteFunc(corpora, func(word string, n int) bool { return n < minCorpora || names[word] })
	words := map[string]bool{}
	for word := range corpora {
		if slices.ContainsFunc(readings, func(r *reading) bool { return r.words[word].isCommon(word) }) {
			words[word] = true
		}
	}
	return words
}

func (u *uses) isName() bool {
	return u.lower+u.capital >= minDecided && float64(u.capital) > maxCapitalShare*float64(u.lower+u.capital)
}

// isCommon: a word of a script with small letters must be seen with them inside a sentence.
func (u *uses) isCommon(word string) bool {
	return u != nil && (u.lower >= minUses || isHan(word) || slices.Contains(capitalised, word))
}

func isHan(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && unicode.Is(unicode.Han, r)
}

// plain says whether a word is of the letters of the languages here, perhaps with an apostrophe inside.
func plain(word string) bool {
	if isHan(word) {
		return true
	}
	latin, cyrillic := false, false
	for _, r := range strings.ReplaceAll(word, "'", "") {
		latin = latin || unicode.Is(unicode.Latin, r)
		cyrillic = cyrillic || unicode.Is(unicode.Cyrillic, r)
		if !unicode.In(r, unicode.Latin, unicode.Cyrillic) {
			return false
		}
	}
	return latin != cyrillic && utf8.RuneCountInString(word) <= 20
}

// exclusions are words that must not be in the vocabulary: slurs, obscenities and names of people. They are kept as
// hashes, so that nobody has to read them here.
type exclusions struct {
	words map[uint64]bool // whole
	stems map[uint64]bool // anywhere in a word
}

const shortestStem, longestStem = 3, 12 // characters

func (e *exclusions) contains(word string) bool {
	if e.words[hashOf(word)] {
		return true
	}
	characters := []rune(word)
	for from := range characters {
		for to := from + shortestStem; to <= min(len(characters), from+longestStem); to++ {
			if e.stems[hashOf(string(characters[from:to]))] {
				return true
			}
		}
	}
	return false
}
