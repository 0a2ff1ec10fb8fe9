package main

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// hashOf is how the lists name a word. An id of the program would give the short ones away.
func hashOf(word string) uint64 { return xxh3.HashStringSeed(word, 0x316e696172666572) }

// Hashes of words (hashOf), ascending: slurs and obscenities of English, German, French, Spanish, Russian and Ukrainian
// with their forms; first names, and surnames that are common or are in the news; and stems of the first kind. Words
// that are a name and something else too, such as months, are left to the rule of capital letters.
var (
	//go:embed excluded/words.txt
	excludedWords string
	//go:embed excluded/names.txt
	excludedNames string
	//go:embed excluded/stems.txt
	excludedStems string
)

func readExclusions() (*exclusions, error) {
	e := &exclusions{words: map[uint64]bool{}, stems: map[uint64]bool{}}
	for _, list := range []struct {
		name, text string
		into       map[uint64]bool
	}{{"words", excludedWords, e.words}, {"names", excludedNames, e.words}, {"stems", excludedStems, e.stems}} {
		for i, line := range strings.Fields(list.text) {
			id, err := strconv.ParseUint(line, 16, 64)
			if err != nil {
				return nil, fmt.Errorf("excluded/%s.txt: entry %d: %w", list.name, i+1, err)
			}
			list.into[id] = true
		}
	}
	return e, nil
}
