package text

import (
	"fmt"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// These tests hold the short ways for usual characters to the rules for all of them.

// checkPlainWords: where plainWord is sure, the word ends where the library's does.
func checkPlainWords(t interface{ Fatalf(string, ...any) }, post string) {
	var n normaliser
	piece := n.add(post, 0, len(post))
	text := n.out[:piece.end]
	for i := range text {
		if !isAlnum(text[i]) && !plainLetters().at(text, i) {
			continue
		}
		end, plain := plainWord(text, i)
		if want, _ := wideWord(text, i); plain && end != want {
			t.Fatalf("%q from %d: the word is %q, want %q", text, i, text[i:end], text[i:want])
		}
	}
}

func FuzzPlainWord(f *testing.F) {
	for _, s := range append(seeds, "д'Артаньян т.е. да,нет 1,5д д_1. é.1 ß'", "a\u200d'b д\u0308.д x'中 5\u20e3",
		"д«д»д—д…д\u00b7д") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, post string) { checkPlainWords(t, post) })
}

func TestPlainWordProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkPlainWords(t, alphabet.Draw(t, "post")) })
}

func TestPlainLetters(t *testing.T) {
	count := 0
	for r := rune(0x80); r < 0x80+64*plainLeads; r++ {
		if !plainLetters().at([]byte(string(r)), 0) {
			continue
		}
		count++
		if !wordRune(r) || !nameRune(r) || characterScript(r) {
			t.Errorf("%U is no letter to the rules", r)
		}
		for _, pattern := range []string{"%[1]c", "%[1]c'%[1]c", "%[1]c.%[1]c", "%[1]c,%[1]c", "%[1]c;1", "1%[1]c1",
			"%[1]c.1", "1.%[1]c", "%[1]c:%[1]c",
			"%[1]c_%[1]c", "a%[1]ca", "a'%[1]c", "%[1]c'a", "%[1]c'", "%[1]c' %[1]c", "%[1]c中", "%[1]c\"%[1]c",
			"%[1]c'\u0308%[1]c", "%[1]c\u0308"} {
			checkPlainWords(t, fmt.Sprintf(pattern, r))
		}
	}
	if count < 700 {
		t.Errorf("only %d plain letters", count)
	}
}

func TestPlainFold(t *testing.T) {
	var n normaliser
	for r := rune(1); r < 0xA000; r++ {
		s := string(r)
		n.reset()
		n.out = n.out[:0]
		if n.addPlain(s, 0, len(s)) != len(s) || len(n.stretches) != 1 || !n.stretches[0].sameForm {
			continue
		}
		got := string(n.out)
		n.segment = appendMapped(n.segment[:0], r)
		if want := string(n.normalForm()); got != want || dropped(r) {
			t.Errorf("%U becomes %q, want %q", r, got, want)
		}
	}
}

func TestMayMark(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		s := string(r)
		if s == string(utf8.RuneError) || mayHaveRule[s[0]] {
			continue
		}
		c := cutter{post: s}
		if lineBreak(r) || c.terminator(0, r) || closes(r) != 0 || r == '/' || r == '#' {
			t.Errorf("%U has a rule", r)
		}
		if slices.ContainsFunc([]rune(`"(“„‚«»「『（《【＂`), func(open rune) bool { return closes(open) == r && r != ')' }) {
			t.Errorf("%U closes a quotation", r)
		}
	}
}

func TestHanEnd(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if s := []byte(string(r)); hanEnd(s, 0) > 0 && !(characterScript(r) && unicode.IsLetter(r)) {
			t.Errorf("%U is no ideograph", r)
		}
		if s := []byte("好" + string(r)); hanEnd(s, 0) > 0 && unicode.IsMark(r) {
			t.Errorf("%U is a mark", r)
		}
	}
}

func TestSortIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Uint64Range(0, 30), 0, 2*maxInsertionSort).Draw(t, "ids")
		want := slices.Sorted(slices.Values(ids))
		if sortIDs(ids); !slices.Equal(ids, want) {
			t.Fatalf("got %v, want %v", ids, want)
		}
	})
}
