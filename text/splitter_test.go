package text

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
)

// TestVectors pins token ids, group hashes and sequences. They are a public contract: events are named by them.
// If one of these values changes, Version must change with it.
func TestVectors(t *testing.T) {
	for token, want := range map[string]uint64{
		"hello":   0xfef75c3a49382273,
		"don't":   0xa36864c89592cf61,
		"1,000.5": 0x6f943d807b159c8e,
		"#天气":     0xc2a51c8579d506f7,
		"@bob":    0x73c973a823f2c847,
		"转":       0x7f742763355274cf,
		"strasse": 0x7f7e9df3724ee053,
		"привет":  0xd05bb799ab024328,
		"محمد":    0x7ae0a69d59ded788,
	} {
		if got := ID(token); got != want {
			t.Errorf("ID(%q): got %#x, want %#x", token, got, want)
		}
	}
	for _, tc := range []struct {
		post, group string
		sequence    uint64
	}{
		{"Hello, hello World!", "89263022de9770b81fa6efb51ce516d9", 0x13a2db2a0863a05d},
		{"转发微博", "150549df8412fde2357dc679d9c7ccfc", 0x9712c01bd704b8ab},
		{"Straße UND Größe", "7b65c50b64551ff1f2d1bc7cf20c8e02", 0x3df4f983c7d0c53d},
		{"Привет, мир. http://t.co/x", "e9a676ac29e21eb41a7ea41f5d10cc85", 0x454a39534bcd7e5e},
		{"@bob #天气,真好!# يا مُحَمَّد", "29a7c303709ad00ba98c964cb37c1453", 0x9bab310e5b1196c4},
		{"สวัสดีชาวโลก", "13055bab63a537d257155b6a4a6c875e", 0x6af82e478acb2efc},
		{"カタカナとひらがな", "c8420973d1f74dbe0242b34e666c6771", 0x39109349e1504cc4},
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
		post string
		most int // the greatest minTokens at which the post's sentence is compared; -1: at none, not even 0
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
			want := minTokens <= tc.most
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
