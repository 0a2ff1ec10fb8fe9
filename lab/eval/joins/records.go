package joins

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/zeebo/xxh3"

	"refrain/ingest/file"
	"refrain/internal/units"
	"refrain/join"
	tokens "refrain/join/units"
	"refrain/lab/eval"
	"refrain/lab/eval/corpus"
	"refrain/text"
)

// source is a collection by its posts and what their tokens are.
type source struct {
	corpus string
	units  string // as refrain join takes them
	posts  int    // at most
}

// sources are those of the paper's figures: short posts, news by words, the same by 3-grams, posts in Chinese.
var sources = []source{
	{"ira", "words", 100_000}, {"reuters", "words", 0}, {"reuters", "qgrams:3", 0}, {"weibo", "words", 100_000},
}

// thresholds are what a collection is joined at. Documents by 3-grams have long lists at the lower one.
func (s source) thresholds() []text.Threshold {
	if s.units == "words" {
		return append(thresholds[:len(thresholds):len(thresholds)], lower)
	}
	return thresholds
}

func (s source) String() string { return s.corpus + ", " + s.units }

// growing are the measures that it is joined by at several sizes.
func (s source) growing() []text.Similarity {
	if s.units == "words" {
		return measures
	}
	return measures[:1]
}

// records are distinct sets of tokens, in an order that has nothing to do with the posts'.
type records struct {
	source
	posts  int // read
	tokens int
	sets   [][]uint64
}

// String says what is in them.
func (r *records) String() string {
	return fmt.Sprintf("%s: %s posts, %s distinct records of %s tokens", r.source, units.Thousands(r.posts),
		units.Thousands(len(r.sets)), units.Three(float64(r.tokens)/float64(max(1, len(r.sets)))))
}

// quickPosts is how many posts a quick run reads.
const quickPosts = 1000

// read reads a collection, once for all tables.
func read(ctx context.Context, c *eval.Config, s source) (*records, error) {
	return eval.Once(c, "records "+s.String(), func() (*records, error) {
		c.Now("reading %s", s)
		r := &records{source: s}
		unit, err := tokens.Parse(s.units)
		if err != nil {
			return nil, err
		}
		cutter, known := tokens.NewCutter(unit), seen{}
		err = eachText(ctx, c.Data, s.corpus, eval.Size(c, s.posts, quickPosts), func(text string) {
			r.posts++
			if set := numbered(cutter.Append(nil, text)); known.add(set) {
				r.sets = append(r.sets, set)
				r.tokens += len(set)
			}
		})
		order := rand.New(rand.NewPCG(c.Seed, 19))
		order.Shuffle(len(r.sets), func(i, k int) { r.sets[i], r.sets[k] = r.sets[k], r.sets[i] })
		return r, err
	})
}

// eachText visits the texts of a corpus, limit at most; 0: all.
func eachText(ctx context.Context, data, name string, limit int, visit func(text string)) error {
	found, err := corpus.Find(name)
	if err != nil {
		return err
	}
	f, err := file.Open(file.Default(filepath.Join(data, filepath.FromSlash(found.File))))
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, corpus.ErrNoData, err)
	}
	defer f.Close()
	for n := 0; ; {
		batch, err := f.Next(ctx)
		for i := range batch.Posts {
			if n++; limit > 0 && n > limit {
				return nil
			}
			visit(batch.Posts[i].Text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// seen are sets, by their hashes.
type seen map[xxh3.Uint128]bool

// add reports whether a set is not empty and was not added before.
func (s seen) add(set []uint64) bool {
	bytes := make([]byte, 0, 8*len(set))
	for _, token := range set {
		bytes = binary.LittleEndian.AppendUint64(bytes, token)
	}
	key := xxh3.Hash128(bytes)
	if len(set) == 0 || s[key] {
		return false
	}
	s[key] = true
	return true
}

// numbered makes a set of tokens with repeats: what comes for the second time is another token.
func numbered(tokens []uint64) []uint64 {
	slices.Sort(tokens)
	before, times := uint64(0), uint64(0)
	for i, token := range tokens {
		if times++; i == 0 || token != before {
			before, times = token, 0
		}
		if times > 0 {
			tokens[i] = xxh3.Hash(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, token), times))
		}
	}
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

// collection is a share of the records, for a join.
func (r *records) collection(share float64) (*join.Collection, error) {
	c := &join.Collection{}
	for _, set := range r.sets[:int(share*float64(len(r.sets)))] {
		if err := c.Add(set); err != nil {
			return nil, fmt.Errorf("%s: %w", r.source, err)
		}
	}
	return c, nil
}
