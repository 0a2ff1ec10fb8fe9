package corpus

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"refrain/text"
)

// small is a corpus of one file with posts of two sentences each: every third post repeats the one before.
var small = Corpus{Name: "small", File: "stream/small.jsonl.gz"}

func write(t *testing.T, posts int) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for i := range posts {
		n, lang := i-i%3/2, []string{"en", "ru"}[i%2]
		fmt.Fprintf(w, `{"id":"%d","lang":"%s","created_at":%d,"text":"Post number a%d says this. Too short. And then b%d says that!"}`+"\n",
			i, lang, 1_700_000_000+i, n, n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "stream"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, small.File), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, c Corpus, posts, limit int) *Sentences {
	t.Helper()
	s, err := c.Read(t.Context(), write(t, posts), limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRead(t *testing.T) {
	s := read(t, small, 6, 0)
	if s.Len() != 12 || len(s.Sets) != 8 || !slices.Equal(s.Groups, []uint32{0, 1, 2, 3, 2, 3, 4, 5, 6, 7, 6, 7}) {
		t.Fatalf("groups %v of %d sets", s.Groups, len(s.Sets))
	}
	var want []uint64
	for _, w := range []string{"and", "then", "b1", "says", "that"} {
		want = append(want, text.ID(w))
	}
	slices.Sort(want)
	if !slices.Equal(s.Set(5), want) || s.Times[5] != 1_700_000_002_000 {
		t.Errorf("sentence 5 is %v at %v, want %v", s.Set(5), s.Times[5], want)
	}
	only := small
	only.Only = "ru"
	if s := read(t, only, 6, 0); s.Len() != 6 {
		t.Errorf("%d sentences of one language", s.Len())
	}
	if s := read(t, small, 6, 5); s.Len() != 5 || len(s.Sets) != 4 {
		t.Errorf("%d sentences, want 5", s.Len())
	}
}

// Later sentences are distinct, and none of them was among the earlier.
func TestSplit(t *testing.T) {
	s := read(t, small, 6, 0)
	earlier, later := s.Split(0.34) // 4 sentences: two posts
	if len(earlier) != 4 || len(later) != 4 || !slices.Equal(later[0], s.Sets[4]) || !slices.Equal(later[3], s.Sets[7]) {
		t.Errorf("%d earlier, %d later", len(earlier), len(later))
	}
	byTime, rest := s.SplitAt(s.Times[4])
	if len(byTime) != 4 || len(rest) != len(later) || s.Since(s.Times[11]+1) != 12 {
		t.Errorf("by time %d and %d", len(byTime), len(rest))
	}
	if sets := s.New(4, 8, 4); len(sets) != 2 {
		t.Errorf("%d new sets", len(sets))
	}
	if n := len(slices.Collect(s.All())); n != 12 {
		t.Errorf("%d sentences", n)
	}
}

// A sample has as many sentences as it should, each at most once, in order, and all about equally often.
func TestSample(t *testing.T) {
	s := read(t, small, 60, 0)
	if s.Sample(120, 1) != s {
		t.Error("a sample of all is another")
	}
	count := map[int64]int{}
	for seed := range uint64(300) {
		p := s.Sample(40, seed)
		if p.Len() != 40 || !slices.IsSorted(p.Times) || len(p.Sets) > 40 || len(p.Sets) < 25 {
			t.Fatalf("%d sentences, %d sets", p.Len(), len(p.Sets))
		}
		for i := range p.Len() {
			count[int64(p.Times[i])]++
		}
	}
	for at, n := range count { // two sentences a post: 200 on average
		if n < 140 || n > 260 {
			t.Errorf("the post at %d was drawn %d times", at, n)
		}
	}
	p, q := s.Sample(40, 7), s.Sample(40, 7)
	if !slices.Equal(p.Times, q.Times) || !slices.Equal(p.Groups, q.Groups) {
		t.Error("the same seed draws others")
	}
}

// Grams are all tokens in a row of each sentence, in order; those before the end of the sentence have no further ones.
func TestGrams(t *testing.T) {
	var got [][]uint64
	for set, err := range small.Grams(t.Context(), write(t, 1), 5, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, set)
	}
	var want [][]uint64
	for _, gram := range []string{"post number a0 says this", "and then b0 says that"} {
		var set []uint64
		for w := range strings.FieldsSeq(gram) {
			set = append(set, text.ID(w))
		}
		want = append(want, text.Set(set))
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
	threes := 0
	for range small.Grams(t.Context(), write(t, 9), 3, 2) {
		threes++
	}
	if threes != 2*(3+3) { // "Too short." has two tokens: none
		t.Errorf("%d grams of three of two posts", threes)
	}
}

func TestStreamFails(t *testing.T) {
	if _, err := small.Read(t.Context(), t.TempDir(), 0); !errors.Is(err, ErrNoData) {
		t.Errorf("got %v, want ErrNoData", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := small.Read(ctx, write(t, 30), 0); err == nil || err.Error() != "small: interrupted" {
		t.Errorf("got %v", err)
	}
	if _, err := Find("nothing"); err == nil {
		t.Error("there is a corpus of that name")
	}
	for range small.Stream(t.Context(), write(t, 30)) {
		break // no error comes after that
	}
}
