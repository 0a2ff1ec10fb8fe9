package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func lineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 || r == '\v' || r == '\f'
}

// cutSentences: first version.
func cutSentences(dst []span, post string, start int, urls []span) []span {
	url := 0
	for i := start; i < len(post); {
		for url < len(urls) && urls[url].end <= i {
			url++
		}
		if url < len(urls) && urls[url].start <= i {
			i = urls[url].end
			continue
		}
		r, size := utf8.DecodeRuneInString(post[i:])
		i += size
		cut := lineBreak(r) || strings.ContainsRune("。！？", r)
		if strings.ContainsRune(".!?", r) && (i == len(post) || post[i] == ' ') {
			cut = true
		}
		if cut {
			dst = appendTrimmed(dst, post, start, i)
			start = i
		}
	}
	return appendTrimmed(dst, post, start, len(post))
}

func appendTrimmed(dst []span, post string, start, end int) []span {
	s := strings.TrimLeftFunc(post[start:end], unicode.IsSpace)
	start = end - len(s)
	if s = strings.TrimRightFunc(s, unicode.IsSpace); s != "" {
		dst = append(dst, span{start, start + len(s)})
	}
	return dst
}
