package text

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// foldASCII folds ASCII: capitals to small letters, and the grave accent, which writers use as an apostrophe,
// to U+0027.
var foldASCII = func() (t [utf8.RuneSelf]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] += 'a' - 'A'
		}
	}
	t['`'] = '\''
	return t
}()

// foldLimit covers Latin, Greek, Cyrillic and Armenian.
const foldLimit = 0x590

// foldTable holds the folding of every character below foldLimit, 0 where it is more than one character.
var foldTable = sync.OnceValue(func() *[foldLimit]rune {
	t := new([foldLimit]rune)
	for r := range rune(foldLimit) {
		if f := cases.Fold().String(string(r)); utf8.RuneCountInString(f) == 1 {
			t[r], _ = utf8.DecodeRuneInString(f)
		}
	}
	return t
})

// plainLeads is how many bytes, from 0xC2 on, begin the characters of plainFold: U+0080 to U+057F.
const plainLeads = 0xD6 - 0xC2

// plainFold holds, by their two bytes, the two bytes that each stable character below U+0580 folds to; zeros for
// those that are not stable or fold to anything else.
var plainFold = sync.OnceValue(func() *[plainLeads][64][2]byte {
	t := new([plainLeads][64][2]byte)
	for r := rune(0x80); r < 0x80+64*plainLeads; r++ {
		f, simple := foldRune(r)
		if stable(r) && simple && utf8.RuneLen(f) == 2 {
			utf8.EncodeRune(t[r>>6-2][r&0x3F][:], f)
		}
	}
	return t
})

// foldRune folds one character, or says that its folding is not a single one.
func foldRune(r rune) (folded rune, simple bool) {
	if r < foldLimit {
		f := foldTable()[r]
		return f, f != 0 || r == 0
	}
	if caseless(r) {
		return r, true
	}
	if f, ok := foldCherokee(r); ok {
		return f, true
	}
	f := cases.Fold().String(string(r))
	folded, size := utf8.DecodeRuneInString(f)
	return folded, size == len(f)
}

// foldCherokee folds to capitals, as Unicode has it for this script alone; the library folds to and fro.
func foldCherokee(r rune) (folded rune, ok bool) {
	switch {
	case 0x13A0 <= r && r <= 0x13F5:
		return r, true
	case 0x13F8 <= r && r <= 0x13FD:
		return r - 8, true
	case 0xAB70 <= r && r <= 0xABBF:
		return r - 0xAB70 + 0x13A0, true
	}
	return r, false
}

// caseless names the great blocks without case, so that most characters need no look-up.
func caseless(r rune) bool {
	return r < 0x10A0 || 0x1100 <= r && r < 0x13A0 || 0x2000 <= r && r < 0x2100 || 0x2E00 <= r && r < 0xA640 ||
		0xAC00 <= r && r < 0xFB00 || 0x1F000 <= r || unicode.In(r, unicode.Mn, unicode.Mc)
}

// appendFolded appends the full case folding of r, apostrophes made one.
func appendFolded(dst []byte, r rune) []byte {
	if apostrophe(r) {
		return append(dst, '\'')
	}
	if f, simple := foldRune(r); simple {
		return utf8.AppendRune(dst, f)
	}
	for _, f := range cases.Fold().String(string(r)) {
		if apostrophe(f) { // U+0149
			f = '\''
		}
		dst = utf8.AppendRune(dst, f)
	}
	return dst
}
