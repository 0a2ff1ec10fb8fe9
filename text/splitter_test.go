package text

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// TestVectors pins token ids, group hashes and sequences. They are a public contract: events are named by them.
// If one of these values changes, Version must change with it.
func TestVectors(t *testing.T) {
	for token, want := range map[string]uint64{
		"transfermarkt": 0xcf1df978c8548d54, "discontinued": 0x47b81bf5eda5fe01, "hello": 0x97dde803c6f6d225,
		"don't":   0x2d5f74e6339a2c4e,
		"1,000.5": 0x9917983beec21144,
		"#天气":     0xdfe7ccb5d16902b4,
		"@bob":    0xfbe3fd7d934c639f,
		"转":       0xa171763c715cc3f2,
		"strasse": 0x4e17c6f347a7c6ad,
		"привет":  0x5b10fa558c1e8fe5,
		"محمد":    0x76937c0dbd7476f7,
	} {
		if got := ID(token); got != want {
			t.Errorf("ID(%q): got %#x, want %#x", token, got, want)
		}
	}
	for _, tc := range []struct {
		post, group string
		sequence    uint64
	}{
		{"Hello, hello World!", "61d4ea4313836b311b48ad0d00d2d316", 0x1d88caaae3313594},
		{"转发微博", "f76b5bbbc8b70428deea6d8f50ef748e", 0xa0cc27e6eb45a812},
		{"Straße UND Größe", "752d9e45dd3036327d4b5587be084035", 0x6a3468277cb6e804},
		{"Привет, мир. http://t.co/x", "fcf7e08273ddc523e923da5358ab3623", 0x70274e2c16dda84a},
		{"@bob #天气,真好!# يا مُحَمَّد", "61885f8e6156e3c4cb2be747893241ec", 0xcd04262e7a78d8c1},
		{"สวัสดีชาวโลก", "c9c224ce1d916e24bb570367e8f334f2", 0xf5923e26b9a26174},
		{"カタカナとひらがな", "a6bd6167a2bda50c75f3506608b1967e", 0x287e270193a7a56f},
	} {
		var s Splitter
		got, _ := s.Sentences(nil, &feed.Post{Text: tc.post}, 1)
		if len(got) != 1 || got[0].Group.String() != tc.group || got[0].Sequence != tc.sequence {
			t.Errorf("%q: got %+v", tc.post, got)
		}
	}
}

func TestCompared(t *testing.T) {
	for _, tc := range []struct {
		post         string
		maxMinTokens int // the greatest minTokens at which the post's sentence is compared; -1: at none, not even 0
	}{
		{"one two three four", 4},
		{"one two two ONE", 2},
		{"#tag word", 2},
		{"转发微博", 2},
		{"转", 0},
		{"转发a", 2},
		{"@a @b @c @d", -1},
		{"@a one", 1},
		{"http://t.co/abc www.example.com", -1},
		{"😀 !!! ...", -1},
		{"\x00\ufffd", -1},
	} {
		for minTokens := range 6 {
			want := minTokens <= tc.maxMinTokens
			var s Splitter
			got, short := s.Sentences(nil, &feed.Post{Text: tc.post}, minTokens)
			if len(got)+short != 1 || (len(got) == 1) != want {
				t.Errorf("%q at %d: got %d compared, %d short, want %v", tc.post, minTokens, len(got), short, want)
			}
			sentences, _ := s.Split(tc.post)
			if got := Compared(sentences[0].Tokens, minTokens); got != want {
				t.Errorf("Compared(%q, %d): got %v", tc.post, minTokens, got)
			}
		}
	}
}

func TestSentencesFields(t *testing.T) {
	p := &feed.Post{Source: "s", ID: "7", Author: "a", Lang: "en", Time: 5, Adjusted: true,
		Text: "RT @x: Too short. One two three four five. B b b a a c d e."}
	var s Splitter
	got, short := s.Sentences(nil, p, 4)
	if short != 1 || len(got) != 2 {
		t.Fatalf("got %d sentences, %d short, want 2 and 1", len(got), short)
	}
	x := got[1]
	if x.Index != 2 || x.Source != "s" || x.Post != "7" || x.Author != "a" || x.Lang != "en" || x.Time != 5 {
		t.Errorf("got %+v", x)
	}
	if !x.Untimed || !x.TimeAdjusted || !x.Repost || x.Text != "B b b a a c d e." || x.Text != p.Text[x.Start:x.End] {
		t.Errorf("got %+v", x)
	}
	if len(x.Tokens) != 5 || x.Group != feed.GroupHash(x.Tokens) || math.Abs(float64(x.Coverage)-8.0/15) > 1e-6 {
		t.Errorf("got %+v", x)
	}
	if x.Version != got[0].Version || x.Sequence == got[0].Sequence {
		t.Errorf("got version %x and %x, sequence %x and %x", x.Version, got[0].Version, x.Sequence, got[0].Sequence)
	}
}

// TestSequence: equal sets, other order or repeats.
func TestSequence(t *testing.T) {
	var s Splitter
	at := func(text string) feed.Sentence {
		got, _ := s.Sentences(nil, &feed.Post{Text: text}, 1)
		return got[0]
	}
	a, b, c := at("Dog bites man"), at("man bites dog!"), at("DOG bites... man")
	if a.Group != b.Group || a.Sequence == b.Sequence || a.Sequence != c.Sequence {
		t.Errorf("got %v, %v, %v", a, b, c)
	}
}

// TestLongSentence: pieces of 256 tokens, consecutive, their ranges in order; the last is too short.
func TestLongSentence(t *testing.T) {
	var b strings.Builder
	b.WriteString("First one here now.\n  ")
	for i := range 2*MaxTokens + 2 {
		fmt.Fprintf(&b, "w%d, ", i)
	}
	var s Splitter
	p := &feed.Post{Text: b.String(), Timed: true}
	got, short := s.Sentences(nil, p, 4)
	if len(got) != 3 || short != 1 {
		t.Fatalf("got %d sentences and %d short, want 3 and 1", len(got), short)
	}
	var places [][2]string
	for _, x := range got[1:] {
		if len(x.Tokens) != MaxTokens || x.Untimed {
			t.Errorf("piece %d: %d tokens, untimed %v", x.Index, len(x.Tokens), x.Untimed)
		}
		places = append(places, [2]string{x.Text[:5], x.Text[len(x.Text)-4:]})
	}
	if diff := cmp.Diff([][2]string{{"w0, w", "w255"}, {"w256,", "w511"}}, places); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[1].Index != 1 || got[2].Index != 2 {
		t.Errorf("got indices %d and %d, want 1 and 2", got[1].Index, got[2].Index)
	}
}

func TestAppendIDs(t *testing.T) {
	var s Splitter
	got := s.AppendIDs([]uint64{1}, "A b. B @c")
	want := []uint64{1, ID("a"), ID("b"), ID("b"), ID("@c")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReuse: a splitter that has seen other posts gives what a new one gives.
func TestReuse(t *testing.T) {
	var used Splitter
	for _, marked := range sentenceCases {
		post := strings.ReplaceAll(marked, "|", "")
		var fresh Splitter
		want, _ := fresh.Split(post)
		got, _ := used.Split(post)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", post, diff)
		}
	}
}

// TestLongTextsAreCut: of a long sentence the beginning is kept, up to a whole rune, and all its tokens.
func TestLongTextsAreCut(t *testing.T) {
	for _, tc := range []struct {
		post string
		kept int
	}{
		{strings.Repeat("a", MaxText-4) + " b c", MaxText},
		{strings.Repeat("a", MaxText-4) + " b c d", MaxText},
		{strings.Repeat("a", MaxText-3) + " bé d e", MaxText - 1},
		{strings.Repeat("\x01", 1<<20) + "a b c d", MaxText},
	} {
		var s Splitter
		got, _ := s.Sentences(nil, &feed.Post{Text: tc.post}, 1)
		if len(got) != 1 {
			t.Fatalf("%d sentences", len(got))
		}
		x := &got[0]
		if x.Text != tc.post[x.Start:x.Start+tc.kept] || x.End != len(tc.post) || x.TextCut != (x.End-x.Start > tc.kept) {
			t.Errorf("kept %d of [%d, %d), cut %v; want %d", len(x.Text), x.Start, x.End, x.TextCut, tc.kept)
		}
		if n := strings.Count(tc.post, " ") + 1; len(x.Tokens) != n {
			t.Errorf("%d tokens, want %d", len(x.Tokens), n)
		}
	}
}

// TestIDsAreNotForged makes a second preimage of a word under xxh3, which ids were once: where the first 8 of its 16
// bytes cancel the secret, the last 8 choose the hash.
func TestIDsAreNotForged(t *testing.T) {
	const seed, word = 0x316e696172666572, "transfermarkt"
	// XXH3_len_9to16_64b: the default secret from byte 24 and 40, with the seed.
	first, last := uint64(0x1f67b3b7a4a44072)^0x78e5c0cc4ee679cb, uint64(0x2172ffcc7dd05a82)^0x8e2443f7744608b8
	first, last = first+seed, last-seed
	lo := binary.LittleEndian.Uint64([]byte(word)) ^ first
	hi := binary.LittleEndian.Uint64([]byte(word)[len(word)-8:]) ^ last
	high, low := bits.Mul64(lo, hi)
	sum := uint64(len(word)) + bits.ReverseBytes64(lo) + hi + (high ^ low)
	forged := binary.LittleEndian.AppendUint64(nil, first)
	forged = binary.LittleEndian.AppendUint64(forged, (sum-16)^last)
	if xxh3.HashSeed(forged, seed) != xxh3.HashStringSeed(word, seed) {
		t.Fatal("the forged word has another xxh3")
	}
	if ID(string(forged)) == ID(word) {
		t.Error("the forged word has the id of another")
	}
}

// TestLongTokensHaveNoShortTwin: undoing mix gives no token of the id of a long one, for any of many.
func TestLongTokensHaveNoShortTwin(t *testing.T) {
	seen := 0
	for i := range 100_000 {
		token := fmt.Sprint("a long word ", i)
		if sum := sha256.Sum256([]byte(token)); mayBeShort(binary.LittleEndian.Uint64(sum[:])) {
			seen++ // its first 8 bytes would be
		}
		if twin := binary.LittleEndian.AppendUint64(nil, unmix(ID(token))); utf8.Valid(twin) {
			t.Errorf("%q and %q have one id", token, twin)
		}
	}
	if seen == 0 {
		t.Error("none of them needs more than the first 8 bytes")
	}
	t.Logf("%d of 100,000 need more than the first 8 bytes", seen)
	for _, short := range []string{"a", "hello", "転発", "12345678"} {
		if !mayBeShort(ID(short)) {
			t.Errorf("%q is not taken for a short token", short)
		}
	}
}

// TestTokensOfPost: they are all of them, as Coverage is a share of.
func TestTokensOfPost(t *testing.T) {
	var s Splitter
	for post, want := range map[string]int{
		"": 0, "🙂": 0, "One two three four, one two. Too short!": 8, strings.Repeat("word ", 600): 600,
	} {
		sentences, _ := s.Sentences(nil, &feed.Post{Text: post}, 1)
		covered := 0.0
		for i := range sentences {
			covered += float64(sentences[i].Coverage) * float64(want)
		}
		if got := s.Tokens(); got != want || math.Round(covered) != float64(want) {
			t.Errorf("%.20q: %d tokens, %v covered by sentences, want %d", post, got, covered, want)
		}
	}
}
