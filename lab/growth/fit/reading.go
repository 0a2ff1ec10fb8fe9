package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"refrain/feed"
	"refrain/ingest/file"
	"refrain/text"
)

// collection is the distinct sentences of a feed, in its order.
type collection struct {
	parts  []string // names of the components
	of     []uint8  // row -> component
	tokens []uint32 // numbers, by row
	ends   []int
	total  int // of numbers
}

func (c *collection) set(row int) []uint32 {
	begin := 0
	if row > 0 {
		begin = c.ends[row-1]
	}
	return c.tokens[begin:c.ends[row]]
}

// rowsOf are those of a component, in their order.
func (c *collection) rowsOf(part int) (rows [][]uint32) {
	for row, p := range c.of {
		if int(p) == part {
			rows = append(rows, c.set(row))
		}
	}
	return rows
}

// sentence is one of a file.
type sentence struct {
	set    []uint64
	group  feed.Hash
	script string
}

// minShare is that of a component: less goes to the largest of its file.
const minShare = .01

// read mixes all files in proportion to their lengths, each in its order.
func read(ctx context.Context, folder string) (*collection, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl*"))
	if err != nil || len(paths) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no *.jsonl* in %s", folder))
	}
	files := make([][]sentence, len(paths))
	all := 0
	for i, path := range paths {
		if files[i], err = readFile(ctx, path); err != nil {
			return nil, err
		}
		logf("%s: %d distinct sentences", filepath.Base(path), len(files[i]))
		all += len(files[i])
	}
	c := &collection{}
	names := componentNames(paths, files, all)
	numbers, seen := map[uint64]uint32{}, map[feed.Hash]bool{}
	at := make([]int, len(files))
	for {
		i := next(files, at)
		if i < 0 {
			return c, nil
		}
		s := &files[i][at[i]]
		at[i]++
		if seen[s.group] {
			continue
		}
		seen[s.group] = true
		name := names[i][s.script]
		part := slices.Index(c.parts, name)
		if part < 0 {
			part = len(c.parts)
			c.parts = append(c.parts, name)
		}
		c.add(part, s.set, numbers)
	}
}

func next(files [][]sentence, at []int) int {
	best := -1
	for i, f := range files {
		if at[i] < len(f) && (best < 0 || at[i]*len(files[best]) < at[best]*len(f)) {
			best = i
		}
	}
	return best
}

// componentNames are by file and script.
func componentNames(paths []string, files [][]sentence, all int) []map[string]string {
	names := make([]map[string]string, len(files))
	for i, f := range files {
		counts := map[string]int{}
		for k := range f {
			counts[f[k].script]++
		}
		main := ""
		for script, n := range counts {
			if main == "" || n > counts[main] {
				main = script
			}
		}
		base, _, _ := strings.Cut(filepath.Base(paths[i]), ".")
		names[i] = map[string]string{}
		for script, n := range counts {
			if float64(n) < minShare*float64(all) {
				script = main
			}
			names[i][script] = base + "/" + script
		}
		for script := range counts {
			if names[i][script] == "" {
				names[i][script] = names[i][main]
			}
		}
	}
	return names
}

func readFile(ctx context.Context, path string) (all []sentence, err error) {
	src, err := file.Open(file.Default(path))
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var splitter text.Splitter
	var batch []feed.Sentence
	seen := map[feed.Hash]bool{}
	for {
		b, err := src.Next(ctx)
		batch = batch[:0]
		for i := range b.Posts {
			batch, _ = splitter.Sentences(batch, &b.Posts[i], text.DefaultMinTokens)
		}
		for i := range batch {
			x := &batch[i]
			if !seen[x.Group] {
				seen[x.Group] = true
				all = append(all, sentence{slices.Clone(x.Tokens), x.Group, scriptOf(x.Text)})
			}
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// scriptOf is the one of most letters.
func scriptOf(s string) string {
	han, cyrillic, other := 0, 0, 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			han += 3 // a character is about half a word
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		case unicode.IsLetter(r):
			other++
		}
	}
	switch {
	case han >= max(cyrillic, other):
		return "han"
	case cyrillic >= other:
		return "cyrillic"
	}
	return "latin"
}

// add adds a sentence of a component; numbers are those of its tokens, by id.
func (c *collection) add(part int, ids []uint64, numbers map[uint64]uint32) {
	c.of = append(c.of, uint8(part))
	for _, id := range ids {
		n, ok := numbers[id]
		if !ok {
			n = uint32(len(numbers))
			numbers[id] = n
		}
		c.tokens = append(c.tokens, n)
	}
	c.ends = append(c.ends, len(c.tokens))
	c.total = len(numbers)
}
