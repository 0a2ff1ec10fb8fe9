package sigstore

import "refrain/hashcodes"

// recode begins to change the codes, in place of a change under way. Nothing happens until recodeSome is called.
func (s *Searcher) recode(to Coding) {
	s.abandon()
	r := &recoding{to: to, codes: newTokenCodes(to.Model)}
	r.rows = &rows{blocks: s.blocks, tokens: s.tokens, codes: &r.codes, sig: make(hashcodes.Signature, to.Model.Words())}
	r.index = to.Engine(r.rows)
	for range s.blocks.first() { // blocks are numbered alike
		r.index.Open()
		r.index.Drop()
	}
	s.tokens.expect(&r.codes)
	s.recoding = r
}

// recodeSome goes on with a change of codes by about so many rows. It is false when there is none under way any more.
func (s *Searcher) recodeSome(rows int) (more bool) {
	r := s.recoding
	if r == nil {
		return false
	}
	for rows -= r.codeSome(rows); rows > 0; rows-- {
		if !r.next() {
			s.adopt(r)
			return false
		}
	}
	return true
}

// recodeAnew begins with a change of codes under way once more: all numbers are others now.
func (s *Searcher) recodeAnew() {
	if s.recoding != nil {
		s.recode(s.recoding.to)
	}
}

// adopt makes the codes those in use.
func (s *Searcher) adopt(r *recoding) {
	old := s.index
	s.coding, s.index, s.recoding = r.to, r.index, nil
	s.tokens.adopt(&r.codes)
	r.rows.codes = nil
	s.makeScratch()
	s.batch, s.prepared = batch{}, prepared{} // what was asked of the old index is void
	closeIndex(old)
}

// abandon gives a change of codes up.
func (s *Searcher) abandon() {
	if s.recoding == nil {
		return
	}
	closeIndex(s.recoding.index)
	s.tokens.expect(nil)
	s.recoding = nil
}
