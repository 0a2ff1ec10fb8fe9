package units

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"refrain/text"
)

func mustParse(tb testing.TB, s string) Unit {
	tb.Helper()
	u, err := Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

func ids(tokens ...string) (all []uint64) {
	for _, token := range tokens {
		all = append(all, text.ID(token))
	}
	return all
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		unit, text string
		want       []uint64
	}{
		{"words", "Hello, hello World! http://example.org", ids("hello", "hello", "world")},
		{"words", " … ", nil},
		{"chars", "To, 转发", ids("t", "o", "转", "发")},
		{"qgrams:3", "Ab. C!", ids("ab ", "b c")},
		{"qgrams:2", "转发微博", ids("转发", "发微", "微博")},
		{"qgrams:3", "x", ids("x")},
		{"qgrams:1", "a b", ids("a", " ", "b")},
		{"qgrams:3", "😀", nil},
		{"chars", "", nil},
	} {
		if got := NewCutter(mustParse(t, c.unit)).Append(nil, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s of %q: got %x, want %x", c.unit, c.text, got, c.want)
		}
	}
}

// TestShingles: of n words there are n−W+1, the same where the words are.
func TestShingles(t *testing.T) {
	c := NewCutter(mustParse(t, "shingles:3"))
	long, part := c.Append(nil, "one two three four five"), c.Append(nil, "Two, three FOUR")
	if len(long) != 3 || len(part) != 1 || long[1] != part[0] {
		t.Errorf("got %x and %x", long, part)
	}
	if short := c.Append(nil, "two three"); len(short) != 1 || short[0] == part[0] {
		t.Errorf("of a short text: %x", short)
	}
	if got := c.Append([]uint64{7}, "?"); !slices.Equal(got, []uint64{7}) {
		t.Errorf("of a text without words: %x", got)
	}
}

// TestSamples: a sample is of the shingles, and two texts have as large a part of theirs in common as of all.
func TestSamples(t *testing.T) {
	var words []string
	for i := range 120 {
		words = append(words, fmt.Sprint("w", i*i))
	}
	a, b := strings.Join(words[:100], " "), strings.Join(words[20:], " ")
	all, sample := NewCutter(mustParse(t, "shingles:2")), NewCutter(mustParse(t, "minwise:2,1000"))
	shinglesA, drawnA, drawnB := all.Append(nil, a), sample.Append(nil, a), sample.Append(nil, b)
	if len(drawnA) != 1000 {
		t.Fatalf("%d drawn, want 1000", len(drawnA))
	}
	same := 0
	for i, id := range drawnA {
		if !slices.Contains(shinglesA, id) {
			t.Fatalf("%x is no shingle", id)
		}
		if id == drawnB[i] {
			same++
		}
	}
	if want := 1000 * 79 / 119; same < want-60 || same > want+60 { // four standard deviations
		t.Errorf("%d of 1000 drawn from both, want about %d", same, want)
	}
}

func TestParse(t *testing.T) {
	for _, s := range []string{"words", "chars", "qgrams:3", "shingles:4", "minwise:4,32"} {
		if got := mustParse(t, s).String(); got != s {
			t.Errorf("%s: got %s", s, got)
		}
	}
	for _, s := range []string{"", "word", "qgrams", "qgrams:", "qgrams:0", "qgrams:x", "qgrams:3,4", "shingles:-1", "minwise:4", "words:2",
		"minwise:4,5000"} {
		if u, err := Parse(s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("units %q: ", s)) {
			t.Errorf("%q: got %v, %v", s, u, err)
		}
	}
}
