package text

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"refrain/feed"
	"refrain/internal/dataset"
)

// posts reads the first n texts of a file of the shared data.
func posts(tb testing.TB, name string, n int) []feed.Post {
	tb.Helper()
	f, err := os.Open(dataset.File(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(decompress(tb, f))
	lines.Buffer(nil, 1<<20)
	var out []feed.Post
	for len(out) < n && lines.Scan() {
		var p struct{ ID, Text string }
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			tb.Fatal(err)
		}
		out = append(out, feed.Post{ID: p.ID, Text: p.Text})
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return out
}

func decompress(tb testing.TB, f *os.File) io.Reader {
	tb.Helper()
	if strings.HasSuffix(f.Name(), ".gz") {
		r, err := gzip.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		return r
	}
	r, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	return r
}

func BenchmarkSentences(b *testing.B) {
	for _, f := range []struct{ name, file string }{
		{"ira", "stream/ira_2012-02_2016-08.jsonl.zst"},
		{"weibo", "stream/weibo_ced_2010-2012.jsonl.zst"},
		{"reuters", "news/reuters21578_to_1987-03-31.jsonl.gz"},
	} {
		b.Run(f.name, func(b *testing.B) { benchmarkPosts(b, posts(b, f.file, 20_000)) })
	}
	for name, text := range map[string]string{
		"ascii100": "It's a landslide! Thomas Tyner goes 21 yards for his 2nd touchdown and it's 59-20 Oregon, he said now.",
		"russian":  "Британия поддержала идею создания трибунала по крушению Boeing MH17 #новости http://t.co/sh7fj4HN8N",
		"chinese":  "转发微博，我不能同意更多。中国人民很淡定！//@张三: 学习中。。。",
	} {
		b.Run(name, func(b *testing.B) { benchmarkPosts(b, []feed.Post{{Text: text}}) })
	}
}

func benchmarkPosts(b *testing.B, posts []feed.Post) {
	size := 0
	for i := range posts {
		size += len(posts[i].Text)
	}
	var s Splitter
	var out []feed.Sentence
	b.SetBytes(int64(size / len(posts)))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		out, _ = s.Sentences(out[:0], &posts[i%len(posts)], 4)
		i++
	}
}

// BenchmarkLong would show a quadratic step: the time per byte must not grow with the length.
func BenchmarkLong(b *testing.B) {
	for name, unit := range map[string]string{
		"words": "word ", "dots": ".", "spaced": ". ", "quotes": "\"a. ", "hashes": "#好", "slashes": "a/", "hosts": "a.co/",
		"marks": "\u0301",
		"lines": "Some words on a line of this length, as mail has them, and\n", "numbers": "1. ", "letters": "a",
		"katakana": "_ア", "hebrew": "א:", "www": "www. ", "returns": "a\r",
	} {
		for _, size := range []int{100_000, 1_000_000} {
			post := []feed.Post{{Text: strings.Repeat(unit, size/len(unit))}}
			b.Run(name+"/"+map[int]string{100_000: "100k", 1_000_000: "1M"}[size], func(b *testing.B) { benchmarkPosts(b, post) })
		}
	}
}
