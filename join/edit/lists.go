package edit

// lists say which rows have a token in their prefix: rows of one collection, each list ascending.
type lists struct {
	ends []uint32 // by token: where its list ends, and that of the next token begins; one more in front
	rows []uint32
}

func (l *lists) of(token uint32) []uint32 { return l.rows[l.ends[token]:l.ends[token+1]] }

// listsOf sorts the rows of one collection by the tokens of their prefixes.
func (t *tier) listsOf(side uint8) lists {
	l := lists{ends: make([]uint32, 1<<t.bits+1)}
	t.eachToken(side, func(_ int, token uint32) { l.ends[token+1]++ })
	for token := range len(t.counts) {
		l.ends[token+1] += l.ends[token]
	}
	l.rows = make([]uint32, l.ends[len(l.ends)-1])
	next := append([]uint32{}, l.ends...)
	t.eachToken(side, func(row int, token uint32) {
		l.rows[next[token]] = uint32(row)
		next[token]++
	})
	return l
}

// eachToken visits the tokens of the prefixes of one collection, row by row.
func (t *tier) eachToken(side uint8, visit func(row int, token uint32)) {
	for i := range t.rows {
		if t.rows[i].side == side {
			for _, token := range t.prefix(i) {
				visit(i, token)
			}
		}
	}
}
