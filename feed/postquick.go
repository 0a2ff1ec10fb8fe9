package feed

import (
	"bytes"
	"math/bits"
	"unicode/utf8"
)

// quick reads what nearly every line is: one flat object whose strings hold nothing unusual. It reports false for
// every other line and for whatever may be a mistake, and leaves the judgement to the decoder that knows all the
// rules and the words for them. So it need not be complete, only right where it says true; FuzzDecodePost holds the
// two to each other.
func (d *PostDecoder) quick(p *Post) bool {
	s := scanner{in: d.line}
	if s.next() != '{' {
		return false
	}
	for {
		if s.next() != '"' {
			return false
		}
		name, form := s.text()
		if name == nil || form != plain || s.next() != ':' || !d.quickMember(p, &s, name) {
			return false
		}
		switch s.next() {
		case ',':
		case '}':
			return s.next() == 0 && s.at > len(s.in) && d.quickEnd(p)
		default:
			return false
		}
	}
}

// quickMember reads the value of one member.
func (d *PostDecoder) quickMember(p *Post, s *scanner, name []byte) bool {
	begin := s.at
	kind, value, form := s.value()
	if kind == 0 {
		return false // at may be beyond the end
	}
	m := d.fields.root.find(name)
	if m == nil || !m.isField() && m.children == nil {
		return d.quickOther(m, kind, name, s.in[begin:s.at], value, form)
	}
	if m.children != nil || d.seen[m.field] {
		return false
	}
	d.seen[m.field] = true
	switch {
	case kind == 'n':
		return true
	case kind == '"':
		value, ok := d.clean(value, form)
		d.given[m.field] = true
		return ok && d.store(p, m.field, value) == nil
	case kind == '0' && (m.field == FieldID || m.field == FieldAuthor || m.field == FieldCreatedAt):
		d.given[m.field] = true
		return d.store(p, m.field, value) == nil
	}
	return false
}

// quickOther judges a member that is no field of the post, and stores it for a slot or for Meta if m says so.
func (d *PostDecoder) quickOther(m *member, kind byte, name, raw, value []byte, form form) bool {
	if d.others == len(d.otherNames) {
		return false
	}
	for _, other := range d.otherNames[:d.others] {
		if string(other) == string(name) {
			return false
		}
	}
	d.otherNames[d.others] = name
	d.others++
	if form != plain {
		if _, ok := d.clean(value, form); !ok {
			return false
		}
	}
	if m != nil {
		d.setValue(m, bytes.TrimLeft(raw, " \t\r\n"))
	}
	return true
}

// clean is the value of a string as UTF-8, valid until the next call.
func (d *PostDecoder) clean(value []byte, form form) ([]byte, bool) {
	if form&nonASCII != 0 && !utf8.Valid(value) {
		return nil, false
	}
	if form&escaped == 0 {
		return value, true
	}
	var ok bool
	d.scratch, ok = unescape(d.scratch[:0], value)
	return d.scratch, ok
}

func (d *PostDecoder) quickEnd(p *Post) bool {
	if d.combine(p) != nil || p.ID == "" || !d.given[FieldText] {
		return false
	}
	d.makeMeta(p)
	return true
}

// form says what a string in JSON holds besides plain ASCII.
type form uint8

const (
	plain    form = 0
	escaped  form = 1 << iota // backslashes
	nonASCII                  // bytes beyond ASCII
)

// scanner walks through JSON. Behind the end of its input, and where it finds a mistake, it gives 0.
type scanner struct {
	in []byte
	at int
}

// next skips white space and takes the byte behind it; 0 at the end, and then at is beyond it.
func (s *scanner) next() byte {
	for s.at < len(s.in) {
		c := s.in[s.at]
		s.at++
		if c > ' ' {
			return c
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return 0
		}
	}
	s.at++
	return 0
}

// value takes a string, number, true, false or null. Kind is the first byte of it, '0' for every number, 't' for both
// booleans, 0 for anything else; value is what stands between the quotes, or the literal.
func (s *scanner) value() (kind byte, value []byte, form form) {
	c := s.next()
	begin := s.at - 1
	switch {
	case c == '"':
		value, form = s.text()
		if value == nil {
			return 0, nil, 0
		}
		return '"', value, form
	case c == 'n':
		return s.literal('n', "ull")
	case c == 't':
		return s.literal('t', "rue")
	case c == 'f':
		return s.literal('t', "alse")
	case c == '-' || '0' <= c && c <= '9':
		s.at = begin
		if !s.number() {
			return 0, nil, 0
		}
		return '0', s.in[begin:s.at], plain
	}
	return 0, nil, 0
}

func (s *scanner) literal(kind byte, rest string) (byte, []byte, form) {
	if !bytes.HasPrefix(s.in[s.at:], []byte(rest)) {
		return 0, nil, 0
	}
	s.at += len(rest)
	return kind, s.in[s.at-len(rest)-1 : s.at], plain
}

// number takes a number as RFC 8259 has it.
func (s *scanner) number() bool {
	s.consume('-')
	if !s.consume('0') && s.digits() == 0 {
		return false
	}
	if s.consume('.') && s.digits() == 0 {
		return false
	}
	if s.consume('e') || s.consume('E') {
		if !s.consume('+') {
			s.consume('-')
		}
		return s.digits() > 0
	}
	return true
}

func (s *scanner) consume(c byte) bool {
	if s.at < len(s.in) && s.in[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) digits() int {
	begin := s.at
	for s.at < len(s.in) && '0' <= s.in[s.at] && s.in[s.at] <= '9' {
		s.at++
	}
	return s.at - begin
}

// text takes a string behind its opening quote, and the closing one. It is nil where there is none, or where a control
// character stands in it.
func (s *scanner) text() (value []byte, form form) {
	begin := s.at
	for i := begin; ; {
		n, high := clear8(s.in[i:])
		i += n
		if high {
			form |= nonASCII
		}
		if i >= len(s.in) {
			return nil, 0
		}
		switch c := s.in[i]; {
		case c == '"':
			s.at = i + 1
			return s.in[begin:i:i], form
		case c == '\\' && i+1 < len(s.in):
			form |= escaped
			i += 2
		default:
			return nil, 0
		}
	}
}

const (
	eachOne  = 0x0101010101010101
	eachHigh = 0x8080808080808080
)

// clear8 counts the bytes at the beginning of b that stand for themselves in a JSON string, eight at a time: none of
// them a quote, a backslash or a control character. High says that some are beyond ASCII.
func clear8[T ~string | ~[]byte](b T) (n int, high bool) {
	var seen uint64
	for ; n+8 <= len(b); n += 8 {
		w := load8(b, n)
		if m := firstSpecial(w); m != 0 {
			k := bits.TrailingZeros64(m)
			seen |= w & (1<<k - 1)
			return n + k/8, seen&eachHigh != 0
		}
		seen |= w
	}
	high = seen&eachHigh != 0
	for ; n < len(b) && b[n] != '"' && b[n] != '\\' && b[n] >= ' '; n++ {
		high = high || b[n] >= utf8.RuneSelf
	}
	return n, high
}

// firstSpecial has the high bit set in the first byte of w that is a quote, a backslash or a control character, and in no
// byte before it. (The subtractions may borrow, but only from bytes behind a hit.)
func firstSpecial(w uint64) uint64 {
	quote, slash := w^eachOne*'"', w^eachOne*'\\'
	return ((quote-eachOne)&^quote | (slash-eachOne)&^slash | (w-eachOne*' ')&^w) & eachHigh
}

func load8[T ~string | ~[]byte](b T, i int) uint64 {
	b = b[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// unescape appends the text that s, the inside of a JSON string, stands for. It reports false for an escape that does
// not exist and for half a surrogate pair.
func unescape(dst, s []byte) ([]byte, bool) {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...), true
		}
		dst = append(dst, s[:i]...)
		if s = s[i:]; len(s) < 2 {
			return dst, false
		}
		if s[1] == 'u' {
			r, n := unicodeEscape(s)
			if n == 0 {
				return dst, false
			}
			dst, s = utf8.AppendRune(dst, r), s[n:]
			continue
		}
		c := escapes[s[1]]
		if c == 0 {
			return dst, false
		}
		dst, s = append(dst, c), s[2:]
	}
}

// escapes are the characters that a backslash and one more stand for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unicodeEscape reads "\u0041", or a pair of them, at the beginning of s. Size is 0 where there is none.
func unicodeEscape(s []byte) (r rune, size int) {
	r, ok := hex4(s)
	switch {
	case !ok || 0xDC00 <= r && r < 0xE000:
		return 0, 0
	case r < 0xD800 || r >= 0xE000:
		return r, 6
	}
	low, ok := hex4(s[6:])
	if !ok || low < 0xDC00 || low >= 0xE000 {
		return 0, 0
	}
	return (r-0xD800)<<10 + low - 0xDC00 + 0x10000, 12
}

// hex4 reads the "\u" and four digits at the beginning of s.
func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var v rune
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
