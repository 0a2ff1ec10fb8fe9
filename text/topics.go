package text

import (
	"unicode"
	"unicode/utf8"
)

// maxTopic is the longest content of a Chinese topic, in bytes.
const maxTopic = 140

// topicEnd is where the topic "#…#" at i ends, as Chinese services write it; 0 if there is none. Its content
// may hold spaces and punctuation, but it has a character of a script without spaces and no space at its ends:
// "#one #two" holds no topic.
func topicEnd[T ~string | ~[]byte](post T, i int) int {
	start := i + 1
	if !closesTopic(post[start:min(len(post), start+maxTopic+utf8.UTFMax)]) {
		return 0
	}
	wide, last := false, ' '
	for j := start; j < len(post) && j-start <= maxTopic; {
		r, size := decode(post[j:])
		switch {
		case r == '#' || r == '＃':
			if !wide || unicode.IsSpace(last) {
				return 0
			}
			return j + size
		case lineBreak(r), j == start && unicode.IsSpace(r):
			return 0
		}
		wide = wide || characterScript(r) && unicode.IsLetter(r)
		last = r
		j += size
	}
	return 0
}

// closesTopic says quickly of most hashtags that they are no topics: in what may hold the second sign, "#" or "＃",
// there is none, or the first one begins another tag.
func closesTopic[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		switch s[i] {
		case '#':
			return i > 0 && s[i-1] != ' '
		case "＃"[0]:
			return true
		}
	}
	return false
}

func decode[T ~string | ~[]byte](s T) (rune, int) {
	if c := s[0]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(string(s[:min(len(s), utf8.UTFMax)]))
}

// tagEnd makes one form of the two that a hashtag can have, "#tag" and "#tag#": in text[from:to] it drops the
// closing sign, spaces and punctuation, and returns where the token then ends.
func tagEnd(text []byte, from, to int, kind Kind) int {
	if kind != Hashtag || text[to-1] != '#' {
		return to
	}
	end := from + 1
	retained := false
	for i := from + 1; i < to; {
		r, size := decode(text[i:])
		retained = nameRune(r) && (retained || !unicode.IsMark(r)) // a mark goes with what it stands on
		if retained {
			end += copy(text[end:], text[i:i+size])
		}
		i += size
	}
	return end
}
