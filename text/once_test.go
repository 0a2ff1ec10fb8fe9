package text

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// These tests hold what looks at each byte once to what looked at all of them each time.

// checkOnce: the library, shown a little of a text at a time, gives the words that it gives of the whole.
func checkOnce(t interface{ Fatalf(string, ...any) }, post string) {
	var n normaliser
	piece := n.add(post, 0, len(post))
	text := n.out[:piece.end]
	for i := range text {
		if text[i]&0xC0 == 0x80 {
			continue
		}
		end, letters := wideWord(text, i)
		want, wantLetters, _ := wordOf(text[i:], true)
		if end != i+want || letters != wantLetters {
			t.Fatalf("%q from %d: the word is %q, %v, want %q, %v", text, i, text[i:end], letters, text[i:i+want], wantLetters)
		}
	}
	checkHints(t, post)
	checkLines(t, post)
}

func checkHints(t interface{ Fatalf(string, ...any) }, post string) {
	h := urlHints{post: post, slash: -1}
	for i := range len(post) {
		fresh := urlHints{post: post, slash: -1}
		if got, want := h.next(i), fresh.next(i); got != want {
			t.Fatalf("%q: the hint from %d is at %d, want %d", post, i, got, want)
		}
	}
}

func checkLines(t interface{ Fatalf(string, ...any) }, post string) {
	c := cutter{post: post}
	for i := range len(post) {
		if got, want := c.lineStart(i), strings.LastIndexByte(post[:i], '\n')+1; got != want {
			t.Fatalf("%q: the line of %d begins at %d, want %d", post, i, got, want)
		}
	}
}

// joiners is what UAX #29 has rules about, and words of ours end at: runs of it are longer than what the library is shown.
var joiners = rapid.Custom(func(t *rapid.T) string {
	marks := rapid.SampledFrom([]rune("a1_:.'\",;·אдアｶ각ا中の\u0301\u0600\u200d\u00ad\u20e3‿😀🇦/w\n\r "))
	return strings.Repeat(rapid.StringOfN(marks, 1, 6, -1).Draw(t, "unit"), rapid.IntRange(1, 40).Draw(t, "times"))
})

func TestOnceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkOnce(t, strings.Join(rapid.SliceOfN(joiners, 1, 4).Draw(t, "runs"), ""))
	})
}

func FuzzOnce(f *testing.F) {
	for _, s := range []string{strings.Repeat("_ア", 40), strings.Repeat("א:", 40),
		"א:" + strings.Repeat("\u0600", 40) + "א", strings.Repeat("www. ", 9) + "/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, post string) { checkOnce(t, post) })
}
