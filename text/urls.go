package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a range of bytes.
type span struct{ start, end int }

// findURLs appends the URLs of post in order: with a scheme, with "www.", or a bare domain with a path, as
// "t.co/xyz"; and one that is cut off at the end, as "http://t…".
func findURLs(dst []span, post string) []span {
	hints := urlHints{post: post, slash: -1}
	for i := 0; i < len(post); {
		j := hints.next(i)
		if j < 0 {
			break
		}
		minStart := 0
		if len(dst) > 0 {
			minStart = dst[len(dst)-1].end
		}
		if u, ok := urlAt(post, j, minStart); ok {
			dst = append(dst, u)
			i = u.end
		} else {
			i = j + 1
		}
	}
	return cutOffURL(dst, post)
}

// urlHints finds where in a post URLs may be. Places are asked for in rising order, so that each slash is looked for once.
type urlHints struct {
	post  string
	slash int // the first at or after the place last asked for; len(post): none
}

// next is the place of the next "/", or of a "." after "www", at or after i; -1 without any.
func (h *urlHints) next(i int) int {
	if h.slash < i {
		h.slash = len(h.post)
		if n := strings.IndexByte(h.post[i:], '/'); n >= 0 {
			h.slash = i + n
		}
	}
	for from := i; ; {
		w := strings.IndexByte(h.post[from:h.slash], '.')
		if w < 0 {
			break
		}
		from += w + 1
		if from > 3 && strings.EqualFold(h.post[from-4:from-1], "www") {
			return from - 1
		}
	}
	if h.slash == len(h.post) {
		return -1
	}
	return h.slash
}

// urlAt finds the URL around the hint at j that begins at minStart or later.
func urlAt(post string, j, minStart int) (span, bool) {
	if post[j] == '.' {
		return wwwAt(post, j, minStart)
	}
	if s := schemeStart(post, j, minStart); s >= 0 {
		return span{s, urlEnd(post, s)}, true
	}
	return bareDomainAt(post, j, minStart)
}

func wwwAt(post string, dot, minStart int) (span, bool) {
	s := dot - 3
	if s < minStart || s > 0 && isAlnum(post[s-1]) || dot+1 >= len(post) || !isAlnum(post[dot+1]) {
		return span{}, false
	}
	return span{s, urlEnd(post, s)}, true
}

// schemeStart is where the scheme before "//" at j begins, -1 if there is none. It need not follow a space:
// "см.http://t.co/x" holds a URL.
func schemeStart(post string, j, minStart int) int {
	if !strings.HasPrefix(post[j:], "//") {
		return -1
	}
	for _, scheme := range []string{"https:", "http:", "ftp:"} {
		if s := j - len(scheme); s >= minStart && strings.EqualFold(post[s:j], scheme) {
			return s
		}
	}
	return -1
}

// maxHost bounds the search for the start of a domain: no longer one exists.
const maxHost = 253

// bareDomainAt finds "host.tld/path" around the slash at j.
func bareDomainAt(post string, j, minStart int) (span, bool) {
	s := j
	for s > minStart && j-s < maxHost && (isAlnum(post[s-1]) || post[s-1] == '.' || post[s-1] == '-') {
		s--
	}
	host := post[s:j]
	dot := strings.LastIndexByte(host, '.')
	if dot < 1 || host[0] == '.' || host[0] == '-' || strings.Contains(host, "..") || !topLevel(host[dot+1:]) {
		return span{}, false
	}
	if s > 0 && (post[s-1] == '@' || post[s-1] == '_' || post[s-1] == '/') || j+1 >= len(post) || !isAlnum(post[j+1]) {
		return span{}, false
	}
	return span{s, urlEnd(post, s)}, true
}

// topLevel says whether s can end a domain: two letters, or one of the generic names that posts link to. Any
// name at all would make URLs of "he.said/she.said".
func topLevel(s string) bool {
	if len(s) == 2 {
		return isLetter(s[0]) && isLetter(s[1])
	}
	switch strings.ToLower(s) {
	case "com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "name", "mobi", "app", "dev", "news",
		"blog", "live", "link", "site", "online", "social", "xyz", "club", "shop", "store", "tech", "media", "page":
		return true
	}
	return false
}

// urlEnd is where the URL that begins at i ends: before white space, a quotation mark or a character of a
// script without spaces, and without punctuation at its end.
func urlEnd(post string, i int) int {
	start, open := i, 0
	for i < len(post) {
		if urlBytes[post[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(post[i:])
		if !urlRune(r) {
			break
		}
		open += parens(r)
		if open < 0 {
			break
		}
		i += size
	}
	for i > start && strings.IndexByte(".,;:!?'*_~", post[i-1]) >= 0 {
		i--
	}
	if strings.HasPrefix(post[i:], "…") {
		i += len("…")
	}
	return i
}

// urlBytes are the ASCII characters of URLs, brackets excepted.
var urlBytes = func() (t [256]bool) {
	for r := range rune(utf8.RuneSelf) {
		t[r] = urlRune(r) && parens(r) == 0
	}
	return t
}()

func parens(r rune) int {
	switch r {
	case '(', '[':
		return 1
	case ')', ']':
		return -1
	}
	return 0
}

func urlRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r != 0x7F && strings.IndexByte("<>\"`{}|\\^", byte(r)) < 0
	}
	return (unicode.IsLetter(r) || unicode.IsMark(r)) && !characterScript(r) && !unicode.Is(unicode.Hangul, r)
}

// cutOffURL adds what is left of a URL that the end of the post cut off before its host: "http…", "https:/…".
func cutOffURL(dst []span, post string) []span {
	end := len(strings.TrimRight(post, " \n"))
	body, ok := strings.CutSuffix(post[:end], "…")
	if !ok {
		body, ok = strings.CutSuffix(post[:end], "...")
	}
	if !ok {
		return dst
	}
	word := body[strings.LastIndexAny(body[max(0, len(body)-16):], " \n")+1+max(0, len(body)-16):]
	start := len(body) - len(word)
	if len(dst) > 0 && dst[len(dst)-1].end > start || len(word) < 3 {
		return dst
	}
	if lower := strings.ToLower(word); strings.HasPrefix("https://", lower) || strings.HasPrefix("http://", lower) {
		return append(dst, span{start, end})
	}
	return dst
}
