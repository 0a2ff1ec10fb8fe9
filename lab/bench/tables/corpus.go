package tables

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"refrain/feed"
	"refrain/ingest/file"
	"refrain/internal/units"
	"refrain/text"
)

// corpus is distinct sentences of all languages, in a few large pieces without pointers: the collector must not have to
// follow them while something is measured.
type corpus struct {
	tokens   []uint64 // of all sentences, one after the other, each ascending
	ends     []int    // sentence -> where its tokens end
	groups   []feed.Hash
	texts    []byte
	textEnds []int
	sources  []string // "so many of such a file"
}

func (c *corpus) len() int { return len(c.ends) }

func (c *corpus) set(i int) []uint64 { return c.tokens[before(c.ends, i):c.ends[i]] }

func (c *corpus) text(i int) []byte { return c.texts[before(c.textEnds, i):c.textEnds[i]] }

func before(ends []int, i int) int {
	if i == 0 {
		return 0
	}
	return ends[i-1]
}

func (c *corpus) add(set []uint64, group feed.Hash, text string) {
	c.tokens = append(c.tokens, set...)
	c.ends = append(c.ends, len(c.tokens))
	c.groups = append(c.groups, group)
	c.texts = append(c.texts, text...)
	c.textEnds = append(c.textEnds, len(c.texts))
}

// String says what is in it.
func (c *corpus) String() string {
	return fmt.Sprintf("%s distinct sentences, %.1f tokens each, mixed in proportion: %s", units.Thousands(c.len()),
		float64(len(c.tokens))/float64(max(1, c.len())), strings.Join(c.sources, ", "))
}

// sentences makes sentences of the rows from and to, each of a post of its own, so that any two may match, and a
// millisecond apart. Their texts are only kept by the window.
func (c *corpus) sentences(dst []feed.Sentence, from, to int) []feed.Sentence {
	for i := from; i < to; i++ {
		t := string(c.text(i))
		dst = append(dst, feed.Sentence{
			Source: "bench", Post: strconv.Itoa(i), Time: firstTime + feed.Time(i), End: len(t), Text: t,
			Tokens: c.set(i), Group: c.groups[i], Sequence: binary.LittleEndian.Uint64(c.groups[i][:]),
			Version: uint64(i), Coverage: 1,
		})
	}
	return dst
}

// firstTime is 2026-01-01.
const firstTime = 1_767_225_600_000

// streams are the files of all languages.
func (c *Config) streams() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(c.Data, "stream", "*.jsonl*"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%w: no *.jsonl* in %s", ErrNoData, filepath.Join(c.Data, "stream"))
	}
	return paths, err
}

// corpus reads so many distinct sentences of all files, each in its order, mixed so that every stretch has all
// languages alike.
func (c *Config) corpus(ctx context.Context, sentences int) (*corpus, error) {
	paths, err := c.streams()
	if err != nil {
		return nil, err
	}
	files := make([]*corpus, len(paths))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for i, path := range paths {
		g.Go(func() (err error) {
			c.status("reading %s", filepath.Base(path))
			files[i], err = readDistinct(ctx, path, c.fileLimit(sentences))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := mix(files, sentences)
	for i, n := range all.used {
		all.sources = append(all.sources, fmt.Sprintf("%s (%s)", filepath.Base(paths[i]), units.Thousands(n)))
	}
	return &all.corpus, nil
}

// fileLimit is how many sentences of a file a quick run reads; 0: all.
func (c *Config) fileLimit(sentences int) int { return size(c, 0, sentences) }

// readDistinct reads the first distinct sentences of a file; limit 0: all.
func readDistinct(ctx context.Context, path string, limit int) (*corpus, error) {
	c, seen := &corpus{}, map[feed.Hash]bool{}
	err := eachBatch(ctx, path, func(sentences []feed.Sentence, _ int) bool {
		for i := range sentences {
			x := &sentences[i]
			if !seen[x.Group] {
				seen[x.Group] = true
				c.add(x.Tokens, x.Group, x.Text)
			}
		}
		return limit == 0 || c.len() < limit
	})
	return c, err
}

// eachBatch visits the sentences of a file, some posts at a time, as long as it is told to go on.
func eachBatch(ctx context.Context, path string, visit func(sentences []feed.Sentence, posts int) bool) error {
	f, err := file.Open(file.Default(path))
	if err != nil {
		return err
	}
	defer f.Close()
	var splitter text.Splitter
	var all []feed.Sentence
	for {
		batch, err := f.Next(ctx)
		all = all[:0]
		for i := range batch.Posts {
			all, _ = splitter.Sentences(all, &batch.Posts[i], text.DefaultMinTokens)
		}
		goOn := visit(all, len(batch.Posts))
		if errors.Is(err, io.EOF) || !goOn {
			return nil
		}
		if err := interrupted(ctx); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
}

// mixture is a corpus in the making.
type mixture struct {
	corpus
	used []int // of each file
}

// mix takes from the files in proportion to their lengths, each sentence once, until there are enough.
func mix(files []*corpus, sentences int) *mixture {
	m := &mixture{used: make([]int, len(files))}
	at, seen := make([]int, len(files)), map[feed.Hash]bool{}
	for m.len() < sentences {
		best := -1
		for i, f := range files {
			if at[i] < f.len() && (best < 0 || at[i]*files[best].len() < at[best]*f.len()) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		f, i := files[best], at[best]
		at[best]++
		if !seen[f.groups[i]] {
			seen[f.groups[i]] = true
			m.add(f.set(i), f.groups[i], string(f.text(i)))
			m.used[best]++
		}
	}
	return m
}
