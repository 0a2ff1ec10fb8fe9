// Package corpus reads the corpora of the evaluation as sentences.
package corpus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"refrain/feed"
	"refrain/ingest/file"
	"refrain/text"
)

// Corpus is a file of the data set, or its posts of one language.
type Corpus struct {
	Name     string
	File     string // below the folder of the data set
	Language string // what is said of it
	Only     string // language of the posts that are taken; "": all
	Kind     string // tweets, news, posts, headlines
}

// All is the list of what exists.
var All = []Corpus{
	{Name: "ira", File: "stream/ira_2012-02_2016-08.jsonl.zst", Language: "en, ru and others", Kind: "tweets"},
	{Name: "ira-en", File: "stream/ira_2012-02_2016-08.jsonl.zst", Language: "en", Only: "en", Kind: "tweets"},
	{Name: "crisislex", File: "stream/crisislex_t26_22events.jsonl.gz", Language: "en and others", Kind: "tweets"},
	{Name: "pheme", File: "stream/pheme_ottawa_germanwings.jsonl.gz", Language: "en", Kind: "tweets"},
	{Name: "reuters", File: "news/reuters21578_to_1987-03-31.jsonl.gz", Language: "en", Kind: "news"},
	{Name: "20ng", File: "news/20ng_10groups_A.jsonl.gz", Language: "en", Kind: "newsgroups"},
	{Name: "ag_news", File: "news/ag_news_test.jsonl.gz", Language: "en", Kind: "news"},
	{Name: "xwlb", File: "news/xwlb_2022-09_2024-12.jsonl.gz", Language: "zh", Kind: "news"},
	{Name: "weibo", File: "stream/weibo_ced_2010-2012.jsonl.zst", Language: "zh", Kind: "posts"},
	{Name: "hot", File: "stream/weibo_hot_2020-11_2023-12.jsonl.gz", Language: "zh", Kind: "headlines"},
	{Name: "zhihu", File: "stream/zhihu_hot_2020-11_2022-12.jsonl.gz", Language: "zh", Kind: "questions"},
}

// Find returns the corpus of a name.
func Find(name string) (Corpus, error) {
	for _, c := range All {
		if c.Name == name {
			return c, nil
		}
	}
	return Corpus{}, fmt.Errorf("there is no corpus %q", name)
}

// ErrNoData means that the file of a corpus is not there.
var ErrNoData = errors.New("no data (--data DIR, or REFRAIN_DATA)")

// Sentence is one that is long enough to be compared.
type Sentence struct {
	Tokens []uint64 // ascending, none twice; characters of Chinese text are tokens
	Group  feed.Hash
	Time   feed.Time // of its post
}

// Stream yields the sentences in the order of the file, or an error and nothing more. The tokens are the receiver's.
func (c Corpus) Stream(ctx context.Context, dir string) iter.Seq2[Sentence, error] {
	return func(yield func(Sentence, error) bool) {
		err := c.each(ctx, dir, func(s Sentence) bool { return yield(s, nil) })
		if err != nil {
			yield(Sentence{}, fmt.Errorf("%s: %w", c.Name, err))
		}
	}
}

// Grams yields every n tokens in a row of a sentence as a token set, in the order of the file, or an error and nothing more.
// A gram with a token twice is a smaller set. limit is how many posts are read; 0: all.
func (c Corpus) Grams(ctx context.Context, dir string, n, limit int) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		var splitter text.Splitter
		read := 0
		err := c.posts(ctx, dir, func(p *feed.Post) bool {
			read++
			pieces, _ := splitter.Pieces(p.Text)
			for _, piece := range pieces {
				for i := 0; i+n <= len(piece.Tokens); i++ {
					if !yield(setOf(piece.Tokens[i:i+n]), nil) {
						return false
					}
				}
			}
			return read != limit
		})
		if err != nil {
			yield(nil, fmt.Errorf("%s: %w", c.Name, err))
		}
	}
}

func setOf(tokens []text.Token) []uint64 {
	ids := make([]uint64, len(tokens))
	for i, t := range tokens {
		ids[i] = text.ID(t.Text)
	}
	return text.Set(ids)
}

// each visits the sentences as long as it is told to go on.
func (c Corpus) each(ctx context.Context, dir string, visit func(Sentence) bool) error {
	var splitter text.Splitter
	var sentences []feed.Sentence
	return c.posts(ctx, dir, func(p *feed.Post) bool {
		sentences, _ = splitter.Sentences(sentences[:0], p, text.DefaultMinTokens)
		for i := range sentences {
			if s := &sentences[i]; !visit(Sentence{s.Tokens, s.Group, s.Time}) {
				return false
			}
		}
		return true
	})
}

// posts visits the posts as long as it is told to go on.
func (c Corpus) posts(ctx context.Context, dir string, visit func(*feed.Post) bool) error {
	path := filepath.Join(dir, filepath.FromSlash(c.File))
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: %w", ErrNoData, err)
	}
	f, err := file.Open(file.Default(path))
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		batch, err := f.Next(ctx)
		for i := range batch.Posts {
			if p := &batch.Posts[i]; (c.Only == "" || p.Lang == c.Only) && !visit(p) {
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case err != nil:
			return err
		}
	}
}
