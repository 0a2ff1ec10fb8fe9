package edit

// lists say which rows have a token in their prefix: rows of one collection, each list ascending.
type lists struct {
	begins []uint32 // by token: where its list begins, which is where the one before it ends; one more at the end
	rows   []uint32
}

func (l *lists) of(token uint32) []uint32 { return l.rows[l.begins[token]:l.begins[token+1]] }

// listsOf sorts the rows of one collection by the tokens of their prefixes: counts how long each list is, two places
// behind its own, so that their sums are where the next list begins; which moves on to its end as the list is filled.
func (t *tier) listsOf(side uint8) lists {
	begins := make([]uint32, len(t.counts)+2)
	t.eachToken(side, func(_ int, token uint32) { begins[token+2]++ })
	for i := 1; i < len(begins); i++ {
		begins[i] += begins[i-1]
	}
	rows := make([]uint32, begins[len(begins)-1])
	t.eachToken(side, func(row int, token uint32) {
		rows[begins[token+1]] = uint32(row)
		begins[token+1]++
	})
	return lists{begins, rows}
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
