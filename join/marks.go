package join

// marks are the tokens of a row, as bits: so another row's tokens can be looked up in any order.
type marks struct {
	bits   []uint64 // by rank
	tokens []uint32 // that are marked
}

func newMarks(s *sets) marks { return marks{bits: make([]uint64, (len(s.numbers)+63)/64)} }

// set marks the tokens of a row, and none of another.
func (m *marks) set(tokens []uint32) {
	for _, token := range m.tokens {
		m.bits[token/64] = 0
	}
	for _, token := range tokens {
		m.bits[token/64] |= 1 << (token % 64)
	}
	m.tokens = tokens
}

// count counts the tokens that are marked.
func (m *marks) count(tokens []uint32) (n int) {
	for _, token := range tokens {
		n += int(m.bits[token/64] >> (token % 64) & 1)
	}
	return n
}

// any reports whether one is.
func (m *marks) any(tokens []uint32) bool {
	for _, token := range tokens {
		if m.bits[token/64]>>(token%64)&1 != 0 {
			return true
		}
	}
	return false
}

// atLeast counts the tokens that are marked, unless they are fewer than needed.
func (m *marks) atLeast(tokens []uint32, needed int) (n int, ok bool) {
	const atOnce = 8
	for n+len(tokens) >= needed {
		if len(tokens) <= atOnce {
			n += m.count(tokens)
			return n, n >= needed
		}
		n += m.count(tokens[:atOnce])
		tokens = tokens[atOnce:]
	}
	return 0, false
}
