package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name of a mention in characters: Weibo allows 30, others fewer or need spaces anyway.
const maxName = 30

// mentionEnd is where the mention at text[i] == '@' ends, 0 if there is none: the sign, not after a letter,
// digit or sign that makes an address of it, then letters, digits and underscores, with dots and hyphens
// inside ("@alice.example.social").
func mentionEnd(text []byte, start, i int) int {
	if i > start && joinsName(text[start:i]) {
		return 0
	}
	j := i + 1
	for count := 0; j < len(text) && count < maxName; count++ {
		r, size := utf8.DecodeRune(text[j:])
		if !nameRune(r) && !(j > i+1 && (r == '.' || r == '-') && j+1 < len(text) && isAlnum(text[j+1])) {
			break
		}
		j += size
	}
	if j == i+1 {
		return 0
	}
	return j
}

// hashtagEnd is where the hashtag at text[i] == '#' ends, 0 if there is none. A tag has at least one letter.
func hashtagEnd(text []byte, start, i int) int {
	if i > start && joinsName(text[start:i]) {
		return 0
	}
	if end := topicEnd(text, i); end > 0 {
		return end
	}
	letters, plain := false, plainLetters()
	j := i + 1
	for j < len(text) {
		if plain.at(text, j) {
			letters = true
			j += 2
			continue
		}
		r, size := utf8.DecodeRune(text[j:])
		if !nameRune(r) {
			break
		}
		letters = letters || unicode.IsLetter(r)
		j += size
	}
	if !letters {
		return 0
	}
	return j
}

// joinsName says whether text ends in a character that would make one word of itself and a following sign. A
// character of a script without spaces does not.
func joinsName(text []byte) bool {
	r, _ := utf8.DecodeLastRune(text)
	return (nameRune(r) || r == '@' || r == '#' || r == '&') && !characterScript(r)
}

func nameRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || isAlnum(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) && r != keycap
}

// skipRepostPrefixes returns where the text begins after any number of "RT @name:" at its start. The colon may be
// missing, as old clients left it out.
func skipRepostPrefixes(post string) int {
	body := 0
	for {
		i := skipSpace(post, body)
		if !strings.HasPrefix(post[i:], "RT") {
			return body
		}
		j := skipSpace(post, i+2)
		if !strings.HasPrefix(post[j:], "@") && !strings.HasPrefix(post[j:], "＠") {
			return body
		}
		_, size := utf8.DecodeRuneInString(post[j:])
		end := nameEnd(post, j+size)
		if end == j+size {
			return body
		}
		body = skipColon(post, end)
	}
}

// nameEnd is where the raw name at i ends.
func nameEnd(post string, i int) int {
	start := i
	for count := 0; i < len(post) && count < 2*maxName; count++ {
		r, size := utf8.DecodeRuneInString(post[i:])
		if !nameRune(r) && !(i > start && (r == '.' || r == '-') && i+1 < len(post) && isAlnum(post[i+1])) {
			break
		}
		i += size
	}
	return i
}

func skipColon(post string, i int) int {
	j := skipSpace(post, i)
	for _, colon := range []string{":", "："} {
		if strings.HasPrefix(post[j:], colon) {
			return j + len(colon)
		}
	}
	return i
}

// skipSpace returns where the first character at or after i is that is not white space on the same line.
func skipSpace(post string, i int) int {
	for i < len(post) {
		r, size := utf8.DecodeRuneInString(post[i:])
		if !unicode.IsSpace(r) || lineBreak(r) {
			break
		}
		i += size
	}
	return i
}
