package prefix

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
