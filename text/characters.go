package text

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	emojiSelector = 0xFE0F // U+FE0F makes an emoji of the character before it
	keycap        = 0x20E3 // U+20E3 makes a key of the digit before it
)

// dropped characters leave no trace in tokens: what cannot be seen, and marks that writers of Arabic, Persian,
// Urdu or Hebrew may as well leave out.
func dropped(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r < 0x0591:
		return r == 0xAD || r == 0x34F
	case r < 0x0700:
		return hebrewPoint(r) || r == 0x061C || arabicVowel(r)
	case r < 0x2000:
		return r == 0x115F || r == 0x1160 || r == 0x17B4 || r == 0x17B5 || 0x180B <= r && r <= 0x180F
	case r < 0x2070:
		return 0x200B <= r && r <= 0x200F || 0x202A <= r && r <= 0x202E || 0x2060 <= r
	}
	return r == 0x3164 || 0xFE00 <= r && r <= 0xFE0F || r == 0xFEFF || r == 0xFFA0 || 0xFFF0 <= r && r <= 0xFFFB ||
		0x1BCA0 <= r && r <= 0x1BCA3 || 0x1D173 <= r && r <= 0x1D17A || 0xE0000 <= r && r <= 0xE0FFF
}

// hebrewPoint: cantillation and vowel points, but not maqaf, paseq, sof pasuq and nun hafukha, which part words.
func hebrewPoint(r rune) bool {
	return 0x0591 <= r && r <= 0x05C7 && r != 0x05BE && r != 0x05C0 && r != 0x05C3 && r != 0x05C6
}

// arabicVowel: tatweel, tanwin to sukun, superscript alef and the Koranic signs. Madda and hamza above or below
// (U+0653 to U+0655) are part of the letter.
func arabicVowel(r rune) bool {
	return r == 0x0640 || 0x064B <= r && r <= 0x0652 || r == 0x0670 || 0x06D6 <= r && r <= 0x06DC ||
		0x06DF <= r && r <= 0x06E4 || r == 0x06E7 || r == 0x06E8 || 0x06EA <= r && r <= 0x06ED
}

// appendMapped appends r with every apostrophe made U+0027, before NFKC could make a space of U+00B4. Squared
// Japanese words (U+1F200 to U+1F2FF) are emoji; what is not UTF-8 becomes U+FFFD: neither is part of a word.
func appendMapped(dst []byte, r rune) []byte {
	switch {
	case apostrophe(r):
		r = '\''
	case 0x1F200 <= r && r <= 0x1F2FF:
		r = ' '
	}
	return utf8.AppendRune(dst, r)
}

func apostrophe(r rune) bool {
	return r == '`' || r == 0xB4 || r == 0x2BC || r == 0x2018 || r == 0x2019 || r == 0x201B || r == 0xFF07
}

// stable characters are those that normalisation leaves alone, or folds alone, wherever they stand: NFKC keeps
// them, nothing before them combines with them, and none of the rules above is about them.
func stable(r rune) bool {
	switch {
	case r <= 0xFFFF:
		return stableBMP()[r>>6]&(1<<(r&63)) != 0
	case 0x1F300 <= r && r <= 0x1FAFF:
		return true // pictures
	}
	return 0x20000 <= r && r <= 0x2A6DF // ideographs
}

var stableBMP = sync.OnceValue(func() *[1024]uint64 {
	bits := new([1024]uint64)
	for r := rune(0x80); r < 0xFFFD; r++ {
		if isStable(r) {
			bits[r>>6] |= 1 << (r & 63)
		}
	}
	return bits
})

func isStable(r rune) bool {
	if dropped(r) || apostrophe(r) || r == keycap || unicode.Is(unicode.Cs, r) {
		return false
	}
	p := norm.NFKC.PropertiesString(string(r))
	return p.BoundaryBefore() && p.Decomposition() == nil || stableComposed(r, p)
}

// stableComposed: a letter with a canonical decomposition that composes to itself again.
func stableComposed(r rune, p norm.Properties) bool {
	s := string(r)
	return p.BoundaryBefore() && norm.NFKC.IsNormalString(s) && unicode.IsLetter(r)
}

// startsSegment says that nothing before r, the first character of s, can combine with it.
func startsSegment(s string, r rune) bool {
	return r < utf8.RuneSelf || r == utf8.RuneError || norm.NFKC.PropertiesString(s).BoundaryBefore()
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z'
}

// characterScript says whether r belongs to a script that is written without spaces between words.
func characterScript(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r < 0x1000:
		return r < 0x0F00 // Thai, Lao
	case r < 0x2E80:
		return r < 0x10A0 || // Myanmar
			0x1780 <= r && r < 0x1800 || 0x19E0 <= r && r < 0x1A00 || // Khmer
			0x1950 <= r && r < 0x19E0 || 0x1A20 <= r && r < 0x1AB0 // Tai Le, New Tai Lue, Tai Tham
	case r < 0xA000:
		return r < 0x3130 || 0x31A0 <= r && r < 0x3200 || 0x3400 <= r && r < 0x4DC0 || r >= 0x4E00 // Han, kana, bopomofo
	}
	return 0xA9E0 <= r && r < 0xAA00 || 0xAA60 <= r && r < 0xAAE0 || // Myanmar, Tai Viet
		0xF900 <= r && r < 0xFB00 || 0x16FE0 <= r && r < 0x16FF0 || 0x1AFF0 <= r && r < 0x1B170 ||
		0x20000 <= r && r < 0x40000
}
