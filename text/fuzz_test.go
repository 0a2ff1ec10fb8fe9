package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"refrain/feed"
)

// checkSplit holds a split to what must be true of any text.
func checkSplit(t interface{ Fatalf(string, ...any) }, post string) {
	var s Splitter
	sentences, _ := s.Split(post)
	at, token := 0, 0
	for _, x := range sentences {
		if x.Start < at || x.End <= x.Start || x.End > len(post) {
			t.Fatalf("%q: sentence %d-%d after %d", post, x.Start, x.End, at)
		}
		if trimmed := strings.TrimSpace(post[x.Start:x.End]); len(trimmed) != x.End-x.Start {
			t.Fatalf("%q: white space around %q", post, post[x.Start:x.End])
		}
		for _, tok := range x.Tokens {
			if tok.Start < x.Start || tok.Start < token || tok.End <= tok.Start || tok.End > x.End {
				t.Fatalf("%q: token %+v in %d-%d after %d", post, tok, x.Start, x.End, token)
			}
			checkToken(t, post, tok)
			token = tok.Start
		}
		at = x.End
	}
	checkPieces(t, &s, post, len(sentences))
}

func checkToken(t interface{ Fatalf(string, ...any) }, post string, tok Token) {
	if tok.Text == "" || !utf8.ValidString(tok.Text) || !norm.NFKC.IsNormalString(tok.Text) {
		t.Fatalf("%q: token %+v is not normal", post, tok)
	}
	if strings.ContainsFunc(tok.Text, unicode.IsSpace) || !strings.ContainsFunc(tok.Text, nameRune) {
		t.Fatalf("%q: token %+v is no token", post, tok)
	}
}

func checkPieces(t interface{ Fatalf(string, ...any) }, s *Splitter, post string, sentences int) {
	all, short := s.Sentences(nil, &feed.Post{Text: post}, 0)
	end, covered := 0, float32(0)
	for _, x := range all {
		if x.Start < end || x.Text != post[x.Start:x.End] || len(x.Tokens) == 0 || len(x.Tokens) > MaxTokens {
			t.Fatalf("%q: piece %+v after %d", post, x, end)
		}
		end = x.Start
		covered += x.Coverage
	}
	if len(all)+short < sentences || covered > 1.001 {
		t.Fatalf("%q: %d pieces, %d short, %d sentences, coverage %v", post, len(all), short, sentences, covered)
	}
}

// checkStable: normalisation is idempotent: the tokens of a text, written one a line, are the tokens of that.
func checkStable(t interface{ Fatalf(string, ...any) }, post string) {
	var s Splitter
	var first []string
	sentences, _ := s.Split(post)
	for _, x := range sentences {
		for _, tok := range x.Tokens {
			first = append(first, tok.Text)
		}
	}
	for _, text := range first {
		second, _ := s.Split("\n" + text)
		if len(second) != 1 || len(second[0].Tokens) != 1 || second[0].Tokens[0].Text != text {
			t.Fatalf("%q: token %q (%+q) gives %+v", post, text, text, second)
		}
	}
}

var seeds = []string{
	"", " ", "Hello, World. This is e.g. a test!", "RT @bob: 你好。世界 http://t.co/abc #tag #话题#", "\x00\xff\xfe",
	"a\u0301\u0301\u200d",
	"... . . . . A", "1. a 2. b", "«Где?» — он", "\ufdfa ½ ﬁ İ ŉ ǰ ΐ ᾳ", "x\n\n\r\ny\u2028z", "\u1100\u1161\u11a8",
	"(a. B) \"c. D\" „e. F“", "http://t…",
	"@a.b.c #_ #1a ##x#y# #好 好#", "ก\u0e33 \u0f71\u0f72", "क्\u200dष",
}

func FuzzSplit(f *testing.F) {
	for _, s := range slices.Concat(seeds, sentenceCases, languageCases) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, post string) { checkSplit(t, post) })
}

func FuzzNormalise(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, post string) { checkStable(t, post) })
}

// FuzzWords holds our words of ASCII text to the library's: the same, colons and outer underscores apart.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"don't 1,000.5 a.b 1;2 _x_ a_1 1.a a'1 x..y", "''a'.b", "1,,2", "a.", ".a", "_", "1_a.b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		ascii := strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf || r == ':' || r == '@' || r == '#' || r == '/' {
				return ' '
			}
			return r
		}, raw)
		var want, got []string
		for it := words.FromString(ascii); it.Next(); {
			if w := strings.Trim(it.Value(), "_"); strings.ContainsFunc(w, wordRune) {
				want = append(want, w)
			}
		}
		text := []byte(ascii)
		for i := 0; i < len(text); {
			from, to, _, ok := nextToken(text, 0, i)
			if ok {
				got = append(got, ascii[from:to])
			}
			i = max(to, i+1)
		}
		if strings.Join(want, "\n") != strings.Join(got, "\n") {
			t.Fatalf("%q: got %q, want %q", ascii, got, want)
		}
	})
}

// alphabet holds what the rules are about.
var alphabet = rapid.StringOf(rapid.SampledFrom([]rune("aAbzI159 .. !?…。！「」“”()[]'\"«»,;:\n\r\t-–—•#@/_RThttp:www.co" +
	"éßİΣςяЙى۔؟д。你の々カｶﾞกำ\u0301\u0308\u0640\u064e\u200b\u200d\ufe0f\u20e3\u1161\u11a8각ﷺ½™😀�")))

func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSplit(t, alphabet.Draw(t, "post")) })
}

func TestNormaliseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkStable(t, alphabet.Draw(t, "post")) })
}
