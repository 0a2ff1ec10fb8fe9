package edit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"refrain/ingest/file"
	"refrain/internal/dataset"
)

// distanceOf is Levenshtein's distance by its definition.
func distanceOf(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, now := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range before {
		before[j] = j
	}
	for i := range x {
		now[0] = i + 1
		for j := range y {
			replaced := before[j]
			if x[i] != y[j] {
				replaced++
			}
			now[j+1] = min(replaced, before[j+1]+1, now[j]+1)
		}
		before, now = now, before
	}
	return before[len(y)]
}

// brute compares every two strings.
func brute(distance int, a, b []string) (pairs []Pair) {
	for i, x := range a {
		for k, y := range b {
			if d := distanceOf(x, y); d <= distance {
				pairs = append(pairs, Pair{i, k, d})
			}
		}
	}
	return pairs
}

// bruteSelf leaves out what is the same pair again.
func bruteSelf(distance int, a []string) []Pair {
	return slices.DeleteFunc(brute(distance, a, a), func(p Pair) bool { return p.A >= p.B })
}

func compare(p, q Pair) int {
	if p.A != q.A {
		return p.A - q.A
	}
	return p.B - q.B
}

// mustJoin joins one collection, or two, and sorts the pairs.
func mustJoin(tb testing.TB, c Config, sides ...[]string) (pairs []Pair) {
	tb.Helper()
	stats, err := run(context.Background(), c, func(p Pair) error {
		pairs = append(pairs, p)
		return nil
	}, sides...)
	if err != nil {
		tb.Fatalf("%+v: %v", c, err)
	}
	if stats.Pairs != int64(len(pairs)) || stats.Verified < stats.Pairs || stats.Candidates < stats.Verified {
		tb.Errorf("%+v: %+v of %d pairs", c, stats, len(pairs))
	}
	slices.SortFunc(pairs, compare)
	return pairs
}

// collection is some strings of a few characters, many of them others with a few edits.
func collection(random *rand.Rand, seeds []string) (all []string) {
	alphabet := []rune("abcdé漢😀")[:1+random.IntN(7)]
	letter := func() rune { return alphabet[random.IntN(len(alphabet))] }
	all = append(all, seeds...)
	longest := []int{3, 12, 40}[random.IntN(3)]
	for range random.IntN(12) {
		var s []rune
		if len(all) > 0 && random.IntN(3) > 0 {
			s = edited(random, []rune(all[random.IntN(len(all))]), letter)
		} else {
			for range random.IntN(longest + 1) {
				s = append(s, letter())
			}
		}
		all = append(all, string(s))
	}
	return all[len(seeds):]
}

// edited makes up to five edits.
func edited(random *rand.Rand, s []rune, letter func() rune) []rune {
	for range random.IntN(6) {
		at := random.IntN(len(s) + 1)
		switch random.IntN(3) {
		case 0:
			s = slices.Insert(s, at, letter())
		case 1:
			s = slices.Delete(s, at, min(at+1, len(s)))
		default:
			s = slices.Replace(s, at, min(at+1, len(s)), letter())
		}
	}
	return s
}

// TestRandomCollections: every pair and no other, whatever the distance, the grams and the workers.
func TestRandomCollections(t *testing.T) {
	const rounds = 10_000
	found := 0
	for seed := range uint64(rounds) {
		random := rand.New(rand.NewPCG(seed, 19))
		a := collection(random, nil)
		b := collection(random, a)
		c := Config{Distance: 1 + int(seed%4), Q: 1 + random.IntN(6), Workers: 1 + random.IntN(4)}
		if seed%50 == 0 {
			c.Distance = []int{0, 7, 50, MaxDistance}[random.IntN(4)]
		}
		one, two := mustJoin(t, c, a), mustJoin(t, c, a, b)
		if want := bruteSelf(c.Distance, a); !slices.Equal(one, want) {
			t.Fatalf("seed %d, %+v, %q: got %v, want %v", seed, c, a, one, want)
		}
		if want := brute(c.Distance, a, b); !slices.Equal(two, want) {
			t.Fatalf("seed %d, %+v, %q and %q: got %v, want %v", seed, c, a, b, two, want)
		}
		found += len(one) + len(two)
	}
	if found < 10*rounds {
		t.Errorf("%d pairs in %d rounds: hardly anything was tried", found, rounds)
	}
}

// TestShort: strings shorter than a gram, than the distance, and none at all.
func TestShort(t *testing.T) {
	short := []string{"", "", "a", "b", "ab", "ba", "abc", "xyz", "abcd", "é", "漢字"}
	for distance := range 6 {
		for q := 1; q <= 5; q++ {
			c := Config{Distance: distance, Q: q, Workers: 2}
			if got, want := mustJoin(t, c, short), bruteSelf(distance, short); !slices.Equal(got, want) {
				t.Errorf("%+v: got %v, want %v", c, got, want)
			}
		}
	}
	for _, none := range [][][]string{{nil}, {{"a"}}, {nil, nil}, {{"a", "a"}, nil}} {
		if got := mustJoin(t, Default(), none...); got != nil {
			t.Errorf("%q: got %v", none, got)
		}
	}
}

// TestBytesThatAreNoText are one character each, the same.
func TestBytesThatAreNoText(t *testing.T) {
	got := mustJoin(t, Config{Distance: 1, Q: 2, Workers: 1}, []string{"a\xff", "a\xfe", "a\ufffdb"})
	if want := []Pair{{0, 1, 0}, {0, 2, 1}, {1, 2, 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestMuchFound: more pairs than wait to be sent, in the same order from one worker or four.
func TestMuchFound(t *testing.T) {
	same := slices.Repeat([]string{"the very same text", "the vary same text", "a text"}, 150)
	var first []Pair
	for workers := 1; workers <= 4; workers++ {
		var pairs []Pair
		stats, err := Self(t.Context(), Config{Distance: 1, Q: 3, Workers: workers}, same, func(p Pair) error {
			pairs = append(pairs, p)
			return nil
		})
		if first == nil {
			first = pairs
		}
		if want := 300*299/2 + 150*149/2; err != nil || len(pairs) != want || stats.Pairs != int64(want) {
			t.Errorf("%d workers: %d pairs, %+v, %v; want %d", workers, len(pairs), stats, err, want)
		}
		if !slices.Equal(pairs, first) {
			t.Errorf("%d workers: another order than of one", workers)
		}
	}
}

// TestVisitFails ends the join: nothing is visited after it.
func TestVisitFails(t *testing.T) {
	same := slices.Repeat([]string{"the very same text"}, 300)
	failure, visits := errors.New("disk full"), 0
	_, err := Self(t.Context(), Config{Distance: 1, Q: 3, Workers: 4}, same, func(Pair) error {
		visits++
		if visits == 7 {
			return failure
		}
		return nil
	})
	if !errors.Is(err, failure) || visits != 7 {
		t.Errorf("%d visits, %v", visits, err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	same := slices.Repeat([]string{"the very same text"}, 1000)
	_, err := Two(ctx, Config{Distance: 1, Q: 3, Workers: 2}, same, same, func(Pair) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestInterruptedInAPair: two strings of a million characters, far apart, are compared for minutes, which the end of the context
// ends too.
func TestInterruptedInAPair(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	random := rand.New(rand.NewPCG(5, 5))
	far := make([][]rune, 2)
	for i := range far {
		for range 1_000_000 {
			far[i] = append(far[i], 'a'+random.Int32N(4))
		}
	}
	b := band{ctx: ctx}
	if _, within := b.distance(far[0], far[1], 1_000_000); within {
		t.Error("a distance was found")
	}
}

func TestCheck(t *testing.T) {
	if err := Default().Check(); err != nil {
		t.Error(err)
	}
	_, err := Self(t.Context(), Config{Distance: -1}, nil, nil)
	want := "edit distance -1: want 0 to 1073741824 characters\ngrams of 0 characters: want 1 or more\n" +
		"0 workers: want 1 or more"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if err := (Config{Distance: MaxDistance + 1, Q: 1, Workers: 1}).Check(); err == nil {
		t.Error("a distance beyond arithmetic is taken")
	}
}

// TestPosts: short posts of Weibo, all pairs by the definition, with and without grams that are long enough.
func TestPosts(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
	posts := mustPosts(t, "stream/weibo_hot_2020-11_2023-12.jsonl.gz", 1500)
	near := bruteSelf(4, posts)
	for distance := 1; distance <= 4; distance++ {
		var want []Pair
		for _, p := range near {
			if p.Distance <= distance {
				want = append(want, p)
			}
		}
		for _, q := range []int{1, 2, 3} {
			c := Config{Distance: distance, Q: q, Workers: 1 + distance%2}
			if got := mustJoin(t, c, posts); !slices.Equal(got, want) {
				t.Errorf("%+v: %d pairs, want %d", c, len(got), len(want))
			}
		}
		if len(want) < 100 {
			t.Errorf("distance %d: %d pairs: hardly anything was tried", distance, len(want))
		}
	}
}

// mustPosts are the texts of the first posts of a file.
func mustPosts(tb testing.TB, name string, n int) (posts []string) {
	tb.Helper()
	f, err := file.Open(file.Default(dataset.File(tb, name)))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for len(posts) < n {
		batch, err := f.Next(tb.Context())
		for i := range batch.Posts {
			posts = append(posts, batch.Posts[i].Text)
		}
		if err != nil && !errors.Is(err, io.EOF) || len(batch.Posts) == 0 {
			tb.Fatalf("%s: %d posts, %v", name, len(posts), err)
		}
	}
	return posts[:n]
}

func ExampleSelf() {
	names := []string{"Ångström", "Angstrom", "Angstroem", "Celsius"}
	_, err := Self(context.Background(), Config{Distance: 2, Q: 2, Workers: 1}, names, func(p Pair) error {
		fmt.Println(names[p.A], names[p.B], p.Distance)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// Ångström Angstrom 2
	// Angstrom Angstroem 1
}

// FuzzJoin takes lines for strings.
func FuzzJoin(f *testing.F) {
	f.Add("abc\nabd\nxabc\n\na", "abc\nb", uint8(1), uint8(2))
	f.Add("aaaaaaa\naaaaa\naaaa\naabaa", "aaa\naaaaaaaaaa", uint8(2), uint8(3))
	f.Add("漢字かな\n漢字\n\xff\xfe", "字", uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, first, second string, distance, q uint8) {
		if len(first)+len(second) > 2000 {
			return
		}
		a, b := strings.Split(first, "\n"), strings.Split(second, "\n")
		c := Config{Distance: int(distance), Q: 1 + int(q), Workers: 1 + int(q)%3}
		if got, want := mustJoin(t, c, a, b), brute(c.Distance, a, b); !slices.Equal(got, want) {
			t.Errorf("%+v: got %v, want %v", c, got, want)
		}
		if got, want := mustJoin(t, c, a), bruteSelf(c.Distance, a); !slices.Equal(got, want) {
			t.Errorf("%+v: got %v, want %v", c, got, want)
		}
	})
}

// BenchmarkSelf joins tweets. Per operation, one goroutine.
func BenchmarkSelf(b *testing.B) {
	posts := mustPosts(b, "stream/ira_2012-02_2016-08.jsonl.zst", 50_000)
	for distance := 1; distance <= 4; distance++ {
		b.Run(fmt.Sprintf("distance=%d", distance), func(b *testing.B) {
			var stats Stats
			for b.Loop() {
				var err error
				c := Config{Distance: distance, Q: 3, Workers: 1}
				if stats, err = Self(b.Context(), c, posts, func(Pair) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(stats.Candidates), "candidates")
			b.ReportMetric(float64(stats.Verified), "verified")
			b.ReportMetric(float64(stats.Pairs), "pairs")
		})
	}
}
