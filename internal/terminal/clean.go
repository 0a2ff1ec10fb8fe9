package terminal

import (
	"strings"
	"unicode"
)

// Clean returns s as it may be shown: on one line, without anything that a terminal obeys. White space of any
// kind becomes a space, other control characters their picture (␛), bytes that are no UTF-8 the replacement
// character; characters that turn the direction of text, and other invisible ones, are left out. Joiners stay:
// emoji and some scripts need them.
func Clean(s string) string {
	var b strings.Builder
	for _, r := range s { // invalid UTF-8 arrives as U+FFFD
		switch {
		case r == '\u200c' || r == '\u200d':
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('␡')
		case unicode.Is(unicode.Cc, r):
			b.WriteRune(unicode.ReplacementChar)
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// CleanLines is Clean of each line.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
