package prefix

// key is one token of a set or two, in the set's order, as the set sees it. A list is of the rows that have a key,
// whatever they pass over.
//
// # Keys of two tokens
//
// Let x of n tokens and y be partners, and t1, t2, ... the o tokens that they have in common, in order. Of x's tokens
// at most n - o are not common, so before any common one x passes over at most n - o that are not: fewer than its
// prefix, n - c + 1, where c <= o is the least number that it has in common with any partner. The same holds for y. So
//
//	(t1)      is a key of both, and both pass over fewer tokens than their prefix ([PPJ] Lemma 1), and
//	(t1, t2)  too, if o >= 2 (the l-prefix lemma, for l = 2).
//
// A row is posted under its keys of one token that pass over fewer than its prefix. Where the list of such a key was
// cut by token, it is posted under all its keys of two that begin so instead, if c >= 2, and so may be a row that the
// list has by then; otherwise it stays with the key of one. A search asks for the list of each of its keys of one
// token and, where that was cut, for those of two as well. So it meets y: y is in the list of (t1), or else its c is
// at least 2, then so is o, and y is in the list of (t1, t2). When a list was cut matters to neither.
//
// # Sizes and cells
//
// y's posting under a key says its size m and how many tokens it passes over, q; those cannot be common, nor can the p
// that x passes over. So o(n, m) <= n - p and o(n, m) <= m - q, for both kinds of keys, and y is where a search with a
// key that passes over p looks: in a list that was cut by size, in the slots of the sizes m with o(n, m) <= n - p, and
// in one that was cut by cells, in the cells of those sizes, up to q = m - o(n, m). Cells are those of the key of one
// token, also where they have been cut by token after. As t2 comes behind t1 a key of two passes over no fewer tokens
// than that of one: so a search asks for keys of two as long as their p allows the cell. Counts of 15 and more are
// one, on both sides.
//
// # What is moved
//
// By size and by cell all postings of a list are moved; by token the rows of its newest chunk, and what is behind that
// stays with the key of one. Rows that are dead or dropped are left out: a dead row stays dead, and nobody asks for
// it. The window has all rows but the one that is being added, and no list that is cut while that is posted has it: it
// is put into a list of its own tokens only after that was cut.
//
// A key of one token that passes over p has up to prefix - p of two. The last tokens of a prefix, the commonest ones,
// have the fewest, and rows that would have more than maxKeys stay with the key of one, as those with c = 1 do.
//
// A slot of a node is of all tokens with a hash. Rows of other keys in it are looked at in vain.
type key struct {
	passed uint8 // tokens before the last that are not of the key
	length uint8 // 1 or 2
}

// last is the place of the last token in the set.
func (k key) last() int { return int(k.passed) + int(k.length) - 1 }

// capped is how many tokens a posting says that the key passes over.
func (k key) capped() int { return min(int(k.passed), lastPassed) }

// longer is the key with the next token as well, the first of those that begin with k.
func (k key) longer() key { return key{k.passed, k.length + 1} }

// entry is a row that is being posted.
type entry struct {
	meta   meta
	row    uint32   // from the generation's first on
	tokens []uint32 // its rarest, in order: of its prefix, and one more where a list has been cut by token
	prefix int
	size   int
}

func (e *entry) posting(k key) posting { return posting{e.meta, newRowPosition(e.row, k.capped())} }

// goesOn reports whether the row has keys of one token more than k: all its partners have so many in common with it,
// and the keys are not too many.
func (e *entry) goesOn(k key) bool {
	return int(k.length) <= e.size-e.prefix && e.prefix-int(k.passed) <= maxKeys
}

// knows reports whether the tokens of longer keys are at hand.
func (e *entry) knows() bool { return len(e.tokens) > e.prefix }

// cutFrom is the class of the full chunk with which a list that was cut so often is cut for this row.
func (e *entry) cutFrom(k key, done int) int {
	if c := cuts[done]; c.by != byToken || e.goesOn(k) {
		return c.class
	}
	return nodeClass
}
