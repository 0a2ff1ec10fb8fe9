package prefix

// seen is the set of rows that a search has seen in one generation: a hash table, whose entries bear the number of the
// search, so that it is emptied by counting on.
type seen struct {
	rows   []uint64 // search<<32 | row
	search uint32
	n      int
}

// begin empties the set. When the numbers wrap, the entries of long ago must not count.
func (s *seen) begin() {
	s.search++
	s.n = 0
	if s.search == 0 {
		clear(s.rows)
		s.search = 1
	}
}

// add reports whether the row is new.
func (s *seen) add(row uint32) bool {
	if 2*s.n >= len(s.rows) {
		s.grow()
	}
	key := uint64(s.search)<<32 | uint64(row)
	mask := len(s.rows) - 1
	for i := int(row*0x9e3779b1>>7) & mask; ; i = (i + 1) & mask {
		if s.rows[i] == key {
			return false
		}
		if s.rows[i]>>32 != uint64(s.search) {
			s.rows[i] = key
			s.n++
			return true
		}
	}
}

func (s *seen) grow() {
	old := s.rows
	s.rows = make([]uint64, max(64, 2*len(old)))
	s.n = 0
	for _, key := range old {
		if key>>32 == uint64(s.search) {
			s.add(uint32(key))
		}
	}
}
