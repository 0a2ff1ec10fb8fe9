package sigstore

import (
	"io"

	"refrain/hashcodes"
)

// Codes are what rows are signed with and found by: a model, the radii that it asks for, and an engine for both.
type Codes struct {
	Model  *hashcodes.Model
	Bounds *hashcodes.Bounds
	Engine Engine
}

// recoding is a change of codes under way. A second index is given the window's rows, block by block in their order,
// while the first goes on answering; rows that are born meanwhile stand behind them, so their turn comes too. When it
// has all rows it takes the place of the first, at once. No search ever sees signatures of two models.
//
// It is also what the second index knows of the window: its rows, signed with the codes to come.
type recoding struct {
	window  *Window
	to      Codes
	codes   codes
	coded   int // token numbers below it have their codes
	index   Index
	block   int    // place among the window's blocks of the one whose rows are next
	opened  bool   // the index has it
	row     uint32 // the next one there
	sig     hashcodes.Signature
	adopted bool     // the window has these codes itself
	tokens  []uint32 // scratch
}

// Recode begins to change the codes, in place of a change under way. Nothing happens until RecodeSome is called.
func (w *Window) Recode(to Codes) {
	w.abandon()
	r := &recoding{window: w, to: to, codes: newCodes(to.Model), sig: make(hashcodes.Signature, to.Model.Words())}
	r.index = to.Engine(r)
	for range w.blocks.dropped { // blocks are numbered alike
		r.index.Open()
		r.index.Drop()
	}
	w.tokens.next, w.recoding = &r.codes, r
}

// RecodeSome goes on with a change of codes by about so many rows. It is false when there is none under way any more:
// it is complete, or it was given up because both indexes together exceed the budget. Model tells which.
func (w *Window) RecodeSome(rows int) (more bool) {
	r := w.recoding
	if r == nil {
		return false
	}
	rows -= r.codeSome(rows)
	for ; rows > 0; rows-- {
		if !r.next() {
			r.adopt()
			return false
		}
	}
	if w.overBudget() {
		w.abandon()
	}
	return w.recoding != nil
}

// Model is what the window's codes are of.
func (w *Window) Model() *hashcodes.Model { return w.cfg.Model }

// codeSome computes the codes of the tokens that the window had when the change began, several for a row.
func (r *recoding) codeSome(rows int) (done int) {
	const tokensPerRow = 8
	d := r.window.tokens
	to := min(len(d.tokens), r.coded+tokensPerRow*rows)
	done = (to - r.coded) / tokensPerRow
	for ; r.coded < to; r.coded++ {
		r.codes.set(uint32(r.coded), d.id(uint32(r.coded)))
	}
	return done
}

// next gives the index its next row; false when it has all.
func (r *recoding) next() bool {
	w := r.window
	for {
		b := w.blocks.all[r.block]
		if !r.opened {
			r.index.Open()
			r.opened = true
		}
		if int(r.row) < b.rows {
			break
		}
		if b == w.blocks.current() {
			return false
		}
		r.block, r.row, r.opened = r.block+1, 0, false
	}
	// A dead row has no tokens: nothing is near it.
	r.tokens = append(r.tokens[:0], w.Tokens(Row{w.blocks.dropped + uint32(r.block), r.row})...) // the index may ask for others meanwhile
	r.index.Add(r.tokens, r.Signature(r.tokens))
	r.row++
	return true
}

// Frequencies, Tokens and Signature are for the index: what the window says, but signed with the codes to come.
func (r *recoding) Frequencies() []uint32 { return r.window.Frequencies() }

func (r *recoding) Tokens(row Row) []uint32 { return r.window.Tokens(row) }

func (r *recoding) Signature(tokens []uint32) hashcodes.Signature {
	if r.adopted {
		return r.window.Signature(tokens)
	}
	clear(r.sig)
	for _, n := range tokens {
		r.codes.addTo(r.sig, n)
	}
	return r.sig
}

// drop forgets the oldest block, before the window does.
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

// adopt makes the codes the window's.
func (r *recoding) adopt() {
	w, old := r.window, r.window.index
	w.recoding, r.adopted = nil, true
	w.cfg.Model, w.cfg.Bounds, w.cfg.Engine = r.to.Model, r.to.Bounds, r.to.Engine
	w.tokens.adopt(&r.codes)
	w.index = r.index
	w.makeScratch()
	w.batch, w.prepared = batch{}, prepared{}
	closeIndex(old)
	r.codes, r.sig, r.tokens = codes{}, nil, nil
}

// abandon gives a change of codes up.
func (w *Window) abandon() {
	if w.recoding == nil {
		return
	}
	closeIndex(w.recoding.index)
	w.recoding, w.tokens.next = nil, nil
}

func (r *recoding) bytes() int64 {
	if r == nil {
		return 0
	}
	return r.codes.bytes() + r.index.Bytes()
}

// closeIndex ends an index that holds more than memory.
func closeIndex(x Index) {
	if c, ok := x.(io.Closer); ok {
		_ = c.Close() // what it held is gone either way
	}
}
