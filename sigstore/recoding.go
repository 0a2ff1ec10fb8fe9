package sigstore

// recoding is a change of codes under way. A second index is given the window's rows, block by block in their order,
// while the first goes on answering; rows that are added meanwhile stand behind them, so their turn comes too. When it
// has all rows it takes the place of the first, at once. No search ever sees signatures of two models.
type recoding struct {
	to     Coding
	codes  tokenCodes
	coded  int // token numbers below it have their codes
	index  Index
	rows   *rows    // the index's
	block  int      // place among the window's blocks of the one whose rows are next
	opened bool     // the index has it
	row    uint32   // the next one there
	tokens []uint32 // scratch
}

// codeSome computes the codes of the tokens that the window had when the change began, several for a row.
func (r *recoding) codeSome(rows int) (done int) {
	const tokensPerRow = 8
	d := r.rows.tokens
	to := min(d.len(), r.coded+tokensPerRow*rows)
	done = (to - r.coded) / tokensPerRow
	for ; r.coded < to; r.coded++ {
		r.codes.set(uint32(r.coded), d.id(uint32(r.coded)))
	}
	return done
}

// next gives the index its next row; false when it has all.
func (r *recoding) next() bool {
	bs := r.rows.blocks
	for {
		b := bs.nth(r.block)
		if !r.opened {
			r.index.Open()
			r.opened = true
		}
		if int(r.row) < b.rows {
			break
		}
		if b == bs.current() {
			return false
		}
		r.block, r.row, r.opened = r.block+1, 0, false
	}
	// A dead row has no tokens: nothing is near it. They are copied, since the index may read those of other rows meanwhile.
	r.tokens = append(r.tokens[:0], r.rows.Tokens(Row{bs.first() + uint32(r.block), r.row})...)
	r.index.Add(r.tokens, r.rows.Signature(r.tokens))
	r.row++
	return true
}

// drop drops the oldest block, before the window does.
func (r *recoding) drop() {
	if !r.opened && r.block == 0 {
		r.index.Open()
	}
	r.index.Drop()
	if r.block > 0 {
		r.block--
		return
	}
	r.row, r.opened = 0, false
}

func (r *recoding) bytes() int64 {
	if r == nil {
		return 0
	}
	return r.codes.bytes() + r.index.Bytes()
}
