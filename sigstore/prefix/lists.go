package prefix

// lists are the postings of the rows of one generation, in lists by key (key.go).
//
// A list is one chunk, which is replaced by one of the next class when it is full, and beyond the largest a chain of
// chunks. One that is long is cut: then its link leads to a node of further lists (node.go). Nothing in here is taken
// out again, and nothing points into it.
type lists struct {
	heads   []*heads
	pages   []*page
	used    int               // units of the last page
	free    [largest + 1]link // by class: chunks that are not in use, each with a link to the next in its first word
	buckets *buckets
	longer  bool                   // some list has been cut by token
	entryOf func(p posting) *entry // of a posting's row, nil of one that is no more
}

// heads are the links to the lists of so many tokens.
type heads [headsPerPage]link

const headsPerPage = 4096

func (l *lists) head(token uint32) link {
	n := int(token / headsPerPage)
	if n >= len(l.heads) || l.heads[n] == nil {
		return 0
	}
	return l.heads[n][token%headsPerPage]
}

// headOf is the place of a token's head.
func (l *lists) headOf(token uint32) *link {
	n := int(token / headsPerPage)
	for n >= len(l.heads) {
		l.heads = append(l.heads, nil)
	}
	if l.heads[n] == nil {
		l.heads[n] = new(heads)
	}
	return &l.heads[n][token%headsPerPage]
}

// add posts a row under the keys of one token, or longer ones where their lists have been cut by token. A dead row, of
// no tokens, has none.
func (l *lists) add(e *entry) {
	for i, token := range e.tokens[:min(e.prefix, len(e.tokens))] {
		h := l.headOf(token)
		*h = l.put(*h, e, key{passed: uint8(i), length: 1}, 0)
	}
}

// put adds an entry to a key's list at h, which was cut so often, and returns the list's link from then on.
func (l *lists) put(h link, e *entry, k key, cuts int) link {
	if h.class() != nodeClass {
		class := e.cutFrom(k, cuts)
		if h.class() < class || h.class() == class && l.chunk(h).free(capacity[class]) > 0 {
			return l.append(h, e.posting(k))
		}
		h = l.cut(h, e.tokens[k.passed], cuts)
	}
	l.putBelow(l.node(h), e, k, cuts)
	return h
}

// append adds a posting to a list that is not cut, and returns the list's link from then on.
func (l *lists) append(h link, p posting) link {
	if h == 0 {
		h = l.alloc(0)
	}
	n := capacity[h.class()]
	free := l.chunk(h).free(n)
	if free == 0 {
		h = l.extend(h)
		n, free = capacity[h.class()], l.chunk(h).free(capacity[h.class()])
	}
	l.chunk(h).add(n, free, p)
	return h
}

// extend makes room in a full list: in a larger chunk or, after the largest, in one more.
func (l *lists) extend(full link) link {
	if full.class() < largest {
		return l.enlarge(full)
	}
	h := l.alloc(tail)
	l.chunk(h).setNext(full)
	return h
}

// behind is the chunk that follows one in its chain; 0: there is none.
func (l *lists) behind(h link) link {
	if h.class() < tail {
		return 0
	}
	return l.chunk(h).next()
}

// enlarge replaces a full chunk by one of the next class.
func (l *lists) enlarge(small link) link {
	large := l.alloc(small.class() + 1)
	from, to := l.chunk(small), l.chunk(large)
	m, n := capacity[small.class()], capacity[large.class()]
	for i := range m {
		to.set(n, n-m+i, from.at(m, i))
	}
	to[0] = uint64(m) << 8
	to.setNext(from.next())
	l.release(small)
	return large
}
