package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"refrain/feed"
	"refrain/hashcodes/train"
	"refrain/ingest/file"
	"refrain/text"
)

// reading is what one corpus is read into: its words with their uses, and a sample of its sentences.
type reading struct {
	corpus *corpus
	data   string // folder of the data set
	words  map[string]*uses
	sample *train.Sample

	splitter  text.Splitter
	sentences []feed.Sentence
}

// uses are the occurrences of a word in a corpus.
type uses struct {
	all     int
	lower   int // inside sentences, written small
	capital int // inside sentences, with a capital letter before small ones
	authors map[string]bool
}

// read goes through the corpus once.
func (r *reading) read(seed uint64) error {
	r.words = map[string]*uses{}
	var failed error
	r.sample = train.Collect(func(yield func([]uint64) bool) {
		failed = r.each(func(p *feed.Post) {
			r.count(p)
			r.sentences, _ = r.splitter.Sentences(r.sentences[:0], p, text.DefaultMinTokens)
			for i := range r.sentences {
				yield(r.sentences[i].Tokens) // a sample takes all there are
			}
		})
	}, r.corpus.share, seed)
	return failed
}

// each visits the posts, or the lines of a side of a parallel text. Those stand by their length, or by their chapter: they
// come mixed, since the last of a corpus are kept aside to validate with.
func (r *reading) each(visit func(*feed.Post)) error {
	var lines []feed.Post
	for _, file := range r.corpus.files {
		err := r.eachOf(file, func(p *feed.Post) {
			if r.corpus.side == 0 {
				visit(p)
				return
			}
			lines = append(lines, *p)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for i := range lines {
		visit(&lines[i])
	}
	return nil
}

func (r *reading) eachOf(name string, visit func(*feed.Post)) error {
	cfg := file.Default(filepath.Join(r.data, filepath.FromSlash(name)))
	if r.corpus.side > 0 {
		cfg.Format = "text"
	}
	f, err := file.Open(cfg)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		batch, err := f.Next(context.Background())
		for i := range batch.Posts {
			p := &batch.Posts[i]
			if r.corpus.side > 0 {
				p.Text = strings.Split(p.Text+"\t", "\t")[r.corpus.side-1]
			}
			if r.corpus.posts == "" || p.Lang == r.corpus.posts {
				visit(p)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// count counts the words of a post.
func (r *reading) count(p *feed.Post) {
	pieces, _ := r.splitter.Pieces(p.Text)
	for _, piece := range pieces {
		title := isTitle(p.Text, piece.Tokens)
		for i, t := range piece.Tokens {
			if t.Kind == text.Mention || t.Kind == text.Hashtag {
				continue
			}
			u := r.words[t.Text]
			if u == nil {
				u = &uses{}
				r.words[strings.Clone(t.Text)] = u
			}
			u.all++
			if r.corpus.authors && len(u.authors) < minAuthors {
				u.add(p.Author)
			}
			if i > 0 && !title && continuesAt(p.Text, t.Start) {
				u.write(p.Text[t.Start:t.End])
			}
		}
	}
}

func (u *uses) add(author string) {
	if u.authors == nil {
		u.authors = map[string]bool{}
	}
	u.authors[author] = true
}

// write notes how a word is written that nothing but itself calls for a capital letter. All capitals say nothing.
func (u *uses) write(raw string) {
	first, size := utf8.DecodeRuneInString(raw)
	switch {
	case unicode.IsLower(first):
		u.lower++
	case unicode.IsUpper(first) && strings.ContainsFunc(raw[size:], unicode.IsLower):
		u.capital++
	}
}

// continuesAt says whether the sentence goes on at an index: no quotation, list or second part begins there.
func continuesAt(s string, at int) bool {
	before := strings.TrimRight(s[:at], " ")
	r, _ := utf8.DecodeLastRuneInString(before)
	return len(before) < at && (unicode.IsLetter(r) || unicode.IsNumber(r) || r == ',')
}

// isTitle says whether most words have capital letters, as in headlines.
func isTitle(s string, tokens []text.Token) bool {
	capitals := 0
	for _, t := range tokens {
		if r, _ := utf8.DecodeRuneInString(s[t.Start:]); unicode.IsUpper(r) {
			capitals++
		}
	}
	return 2*capitals > len(tokens)
}
