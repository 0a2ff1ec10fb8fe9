package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"refrain/feed"
	"refrain/ingest/file"
	"refrain/text"
)

// stream is the sentences of one file that are long enough to be compared, in its order, as token sets.
type stream struct {
	name   string
	posts  int
	tokens []uint64 // of all sets, one after the other, each ascending
	ends   []int    // sentence -> where its tokens end
}

func (s *stream) len() int { return len(s.ends) }

func (s *stream) set(i int) []uint64 {
	begin := 0
	if i > 0 {
		begin = s.ends[i-1]
	}
	return s.tokens[begin:s.ends[i]]
}

func (s *stream) add(set []uint64) {
	s.tokens = append(s.tokens, set...)
	s.ends = append(s.ends, len(s.tokens))
}

// readFolder reads every file of posts in a folder.
func readFolder(ctx context.Context, folder string, minTokens int, logf progress) ([]*stream, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl*"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no *.jsonl* in %s: give the folder of posts by --data", folder)
	}
	streams := make([]*stream, len(paths))
	var posts atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for i, path := range paths {
		g.Go(func() (err error) {
			streams[i], err = readPosts(ctx, path, minTokens, func(n int) { logf("reading: %d posts", posts.Add(int64(n))) })
			return err
		})
	}
	return streams, g.Wait()
}

// readPosts reads a file of posts and splits them as the product does.
func readPosts(ctx context.Context, path string, minTokens int, count func(posts int)) (*stream, error) {
	src, err := file.Open(file.Default(path))
	if err != nil {
		return nil, err
	}
	defer src.Close()
	s := &stream{name: filepath.Base(path)}
	var splitter text.Splitter
	var batch []feed.Sentence
	for {
		b, err := src.Next(ctx)
		batch = batch[:0]
		for i := range b.Posts {
			batch, _ = splitter.Sentences(batch, &b.Posts[i], minTokens)
		}
		for i := range batch {
			s.add(batch[i].Tokens)
		}
		s.posts += len(b.Posts)
		count(len(b.Posts))
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readSentences reads what `refrain sentences` prints.
func readSentences(r io.Reader, name string, logf progress) (*stream, error) {
	s := &stream{name: name}
	in := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	var ids []uint64
	for n := 1; ; n++ {
		var line struct {
			Tokens   []string `json:"tokens"`
			Compared bool     `json:"compared"`
		}
		if err := in.Decode(&line); errors.Is(err, io.EOF) {
			return s, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: sentence %d: %w", name, n, err)
		}
		if !line.Compared {
			continue
		}
		ids = ids[:0]
		for _, token := range line.Tokens {
			ids = append(ids, text.ID(token))
		}
		s.add(text.Set(ids))
		logf("reading: %d sentences", n)
	}
}
