package prefix

// lists are the postings of the tokens of one generation.
//
// The list of a token is one chunk, which is replaced by one of the next class when it is full. A list that outgrows
// that is cut in pieces: its head leads to a directory of further lists, one for each bucket of sizes, which grow
// larger and go on as chains of chunks. Nothing in here is taken out again, and nothing points into it.
type lists struct {
	heads   []*heads
	pages   []*page
	used    int               // units of the last page
	free    [largest + 1]link // by class: chunks that are not in use, each with a link to the next in its first word
	buckets *buckets
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

func (l *lists) chunk(k link) chunk { return l.memory(k.unit(), units[k.class()]) }

// directory is the memory of a directory.
func (l *lists) directory(k link) chunk { return l.memory(k.unit(), directoryUnits) }

func (l *lists) memory(unit, n int) chunk {
	begin := unit % pageUnits * unitWords
	return l.pages[unit/pageUnits][begin : begin+n*unitWords]
}

// add adds a posting to a token's list.
func (l *lists) add(token uint32, p posting) {
	h := l.headOf(token)
	if h.class() != directory {
		if l.put(h, p, maxListClass) {
			return
		}
		l.makeDirectory(h)
	}
	l.addTo(*h, p)
}

// put adds p to the chunk of a list, or a larger one in its place. It reports false if that is full and of the last
// class.
func (l *lists) put(h *link, p posting, last int) bool {
	if *h == 0 {
		*h = l.alloc(0)
	}
	n, c := capacity[h.class()], l.chunk(*h)
	free := c.free(n)
	if free == 0 {
		if h.class() == last {
			return false
		}
		free = capacity[h.class()+1] - n
		*h = l.enlarge(*h)
		n, c = n+free, l.chunk(*h)
	}
	c.add(n, free, p)
	return true
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

// makeDirectory makes a directory of a list of one chunk.
func (l *lists) makeDirectory(h *link) {
	c := l.chunk(*h)
	d := newLink(l.fresh(directoryUnits), directory)
	n := capacity[maxListClass]
	for i := range n {
		l.addTo(d, c.at(n, i))
	}
	l.release(*h)
	*h = d
}

// addTo adds a posting to the list of its bucket.
func (l *lists) addTo(directory link, p posting) {
	d, b := l.directory(directory), l.buckets.of[p.meta.size()]
	h := link(half(d[b/2], int(b%2)))
	if !l.put(&h, p, largest) {
		full := h
		h = l.alloc(tail)
		l.chunk(h).setNext(full)
		l.put(&h, p, largest)
	}
	setHalf(&d[b/2], int(b%2), uint32(h))
}

// alloc returns an empty chunk.
func (l *lists) alloc(class int) link {
	k := l.free[class]
	if k == 0 {
		return newLink(l.fresh(units[class]), class)
	}
	c := l.chunk(k)
	l.free[class] = link(c[0])
	clear(c)
	return k
}

func (l *lists) release(k link) {
	l.chunk(k)[0] = uint64(l.free[k.class()])
	l.free[k.class()] = k
}

// fresh is the number of the first of so many units that were never used, in no more lines of the cache than need be.
func (l *lists) fresh(n int) int {
	lines := min(n&-n, 4)
	at := (l.used + lines - 1) / lines * lines
	if len(l.pages) == 0 || at+n > pageUnits {
		l.addPage()
		at = (l.used + lines - 1) / lines * lines
	}
	l.spare(l.used, at)
	l.used = at + n
	return (len(l.pages)-1)*pageUnits + at
}

func (l *lists) addPage() {
	if len(l.pages) > 0 {
		l.spare(l.used, pageUnits)
	}
	l.pages = append(l.pages, new(page))
	l.used = 0
	if len(l.pages) == 1 {
		l.used = 1 // unit 0 is not given out
	}
}

// spare makes free chunks of units of the last page that are left over.
func (l *lists) spare(from, to int) {
	for class := largest; from < to; {
		if units[class] > to-from {
			class--
			continue
		}
		l.release(newLink((len(l.pages)-1)*pageUnits+from, class))
		from += units[class]
	}
}

// full reports whether there are hardly any numbers left for units.
func (l *lists) full() bool { return len(l.pages) >= 1<<(32-classBits)/pageUnits-1024 }

func (l *lists) bytes() int64 {
	n := 8 * (int64(cap(l.pages)) + int64(cap(l.heads)) + pageWords*int64(len(l.pages)))
	for _, h := range l.heads {
		if h != nil {
			n += 4 * headsPerPage
		}
	}
	return n
}
