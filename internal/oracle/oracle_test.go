package oracle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"refrain/feed"
	"refrain/text"
)

// delivery is a post of the tests: each word of its text is one sentence, each letter a token.
type delivery struct {
	source, post, text string
	at                 feed.Time
}

func (d delivery) sentences() []feed.Sentence {
	var all []feed.Sentence
	for i, word := range strings.Fields(d.text) {
		set := letters(word)
		all = append(all, feed.Sentence{
			Source: d.source, Post: d.post, Index: i, Time: d.at, Text: word,
			Tokens: set, Group: feed.GroupHash(set), Version: text.ID(d.text),
		})
	}
	return all
}

func letters(word string) []uint64 {
	var set []uint64
	for _, letter := range word {
		set = append(set, uint64(letter))
	}
	slices.Sort(set)
	return slices.Compact(set)
}

func feedOf(deliveries ...delivery) *Feed {
	f := &Feed{}
	for _, d := range deliveries {
		for _, s := range d.sentences() {
			f.AddSentence(&s)
		}
	}
	return f
}

// story writes matches as "later>earlier text" lines, in order of the later sentence.
func story(f *Feed, by text.Measure, span time.Duration) []string {
	var lines []string
	for m := range f.Brute(by, span) {
		lines = append(lines, fmt.Sprintf("%s[%d]>%s[%d] %s",
			m.Later.Post, m.Later.Index, m.Earlier.Post, m.Earlier.Index, m.Earlier.Text))
	}
	return lines
}

var fourFifths = text.Jaccard.At(text.Threshold{Num: 4, Den: 5})

func TestDefinition(t *testing.T) {
	span := 10 * time.Millisecond
	tests := []struct {
		name  string
		posts []delivery
		want  []string
	}{
		{"a repeat", []delivery{{"", "a", "abcd", 1}, {"", "b", "dcba", 2}},
			[]string{"b[0]>a[0] abcd"}},
		{"order of arrival does not matter", []delivery{{"", "b", "abcd", 2}, {"", "a", "abcd", 1}},
			[]string{"b[0]>a[0] abcd"}},
		{"equal times: by source", []delivery{{"x", "a", "abcd", 1}, {"", "b", "abcd", 1}},
			[]string{"a[0]>b[0] abcd"}},
		{"equal times: by post id as bytes", []delivery{{"", "é", "abcd", 1}, {"", "z", "abcd", 1}},
			[]string{"é[0]>z[0] abcd"}},
		{"within a post nothing", []delivery{{"", "a", "abcd abcd", 1}}, nil},
		{"the span is inclusive", []delivery{{"", "a", "abcd", 0}, {"", "b", "abcd", 10},
			{"", "c", "abcd", 21}}, []string{"b[0]>a[0] abcd"}},
		{"the witness is the oldest in the span", []delivery{{"", "a", "abcd", 0}, {"", "b", "abcd", 5},
			{"", "c", "abcd", 12}}, []string{"b[0]>a[0] abcd", "c[0]>b[0] abcd"}},
		{"one event a group", []delivery{{"", "a", "abcd", 0}, {"", "b", "abcde", 1},
			{"", "c", "abcd", 2}}, []string{"b[0]>a[0] abcd", "c[0]>a[0] abcd", "c[0]>b[0] abcde"}},
		{"J = 4/5 reaches 4/5, 3/4 does not", []delivery{{"", "a", "abcd", 0}, {"", "b", "abcde", 1},
			{"", "c", "abc", 2}}, []string{"b[0]>a[0] abcd"}},
		{"versions do not match each other", []delivery{{"", "a", "abcd", 0}, {"", "a", "abcd x", 1},
			{"", "a", "abcd", 2}}, nil},
		{"versions count", []delivery{{"", "a", "abcd", 0}, {"", "a", "wxyz", 1},
			{"", "b", "abcd wxyz", 2}}, []string{"b[0]>a[0] abcd", "b[1]>a[0] wxyz"}},
		{"one id in two sources is two posts", []delivery{{"x", "a", "abcd", 0}, {"y", "a", "abcd", 1}},
			[]string{"a[0]>a[0] abcd"}},
		{"a redelivery changes nothing", []delivery{{"", "a", "abcd", 0}, {"", "b", "abcd", 8},
			{"", "b", "abcd", 8}}, []string{"b[0]>a[0] abcd"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := feedOf(tt.posts...)
			if diff := cmp.Diff(tt.want, story(f, fourFifths, span)); diff != "" {
				t.Errorf("brute force (-want +got):\n%s", diff)
			}
			agree(t, f, fourFifths, span)
		})
	}
}

// agree fails unless both implementations give the same events with the same witnesses.
func agree(t interface{ Errorf(string, ...any) }, f *Feed, by text.Measure, span time.Duration) {
	want, got := evidence(f.Brute(by, span)), evidence(f.Index().Matches(by, span))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("index differs from brute force at %v, span %v (-brute +index):\n%s", by, span, diff)
	}
}

func evidence(matches func(func(Match) bool)) map[string]string {
	all := map[string]string{}
	for m := range matches {
		key := fmt.Sprintf("%s at %d", m.ID, m.Later.Time)
		all[key] = fmt.Sprintf("%d/%d later %s", m.Common, m.Union, describe(m.Later)) +
			fmt.Sprintf(" earlier %s", describe(m.Earlier))
	}
	return all
}

func TestIndexAgreesWithBruteForce(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefg")), 1, 7, -1)
	d := rapid.Custom(func(t *rapid.T) delivery {
		return delivery{
			source: rapid.SampledFrom([]string{"", "x"}).Draw(t, "source"),
			post:   rapid.SampledFrom([]string{"a", "b", "c", "d", "é"}).Draw(t, "post"),
			text:   strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, "words"), " "),
			at:     feed.Time(rapid.IntRange(0, 8).Draw(t, "at")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		deliveries := rapid.SliceOfN(d, 0, 40).Draw(t, "posts")
		den := rapid.IntRange(1, 12).Draw(t, "den")
		threshold := text.Threshold{Num: rapid.IntRange(1, den).Draw(t, "num"), Den: den}
		span := time.Duration(rapid.IntRange(0, 9).Draw(t, "span")) * time.Millisecond
		f := feedOf(deliveries...)
		for similarity := range schemes {
			agree(t, f, similarity.At(threshold), span)
		}
	})
}

// Posts with times of their own give the same events in whatever order and however often they come.
func TestArrivalDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		posts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) delivery {
			return delivery{
				post: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "post"),
				text: rapid.SampledFrom([]string{"abcd", "abcde", "abcd abcdef", "wxyz"}).Draw(t, "text"),
				at:   feed.Time(rapid.IntRange(0, 5).Draw(t, "at")),
			}
		}), 0, 20).Draw(t, "posts")
		shuffled := rapid.Permutation(append(slices.Clone(posts), posts...)).Draw(t, "arrival")
		span := 3 * time.Millisecond
		want := IDs(feedOf(posts...).Brute(fourFifths, span))
		got := IDs(feedOf(shuffled...).Brute(fourFifths, span))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-in order +shuffled twice):\n%s", diff)
		}
	})
}

func TestDiffAndExplain(t *testing.T) {
	f := feedOf(delivery{"", "a", "abcd", 1}, delivery{"", "b", "abcd", 2}, delivery{"", "c", "abcd", 3})
	all := IDs(f.Brute(fourFifths, time.Second))
	if len(all) != 2 {
		t.Fatalf("got %d events, want 2", len(all))
	}
	invented := feed.Hash{0xff, 1}
	missing, extra := Diff(Sorted([]feed.Hash{all[1], invented, all[1]}), all)
	if diff := cmp.Diff([][]feed.Hash{{all[0]}, {invented}}, [][]feed.Hash{missing, extra}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	found := Explain(f.Brute(fourFifths, time.Second), missing, 5)
	if len(found) != 1 || found[0].ID != all[0] || !strings.Contains(found[0].String(), `"abcd"`) {
		t.Errorf("got %v, want the match %s", found, all[0])
	}
}
