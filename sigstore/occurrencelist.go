package sigstore

import (
	"slices"
	"unsafe"

	"refrain/feed"
)

// occurrenceList holds the occurrences of a group that has more of them than a chain may be long, or that has lost some:
// records of its own, in order, and what can no longer be read from them.
type occurrenceList struct {
	cfg     *groupsConfig
	buf     []byte   // records, after a byte that keeps positions from being 0
	records []uint64 // where each begins, in the order of the feed
	frame   frame
	first   feed.First
	count   int // occurrences since the group was made
	authors authors

	cleaned uint32 // number of the last deletion that it was cleaned of; see purge
	names   *names // of the occurrences; nil: not noted

	thinAt int // len(records) at which thin is tried again
}

// newOccurrenceList makes a list of what a view shows; the first of it is the group's first.
func newOccurrenceList(v *view, f frame, cfg *groupsConfig) *occurrenceList {
	m := &occurrenceList{frame: frame{sequence: f.sequence, texts: f.texts}, cfg: cfg, thinAt: cfg.thinFrom}
	for i := range v.len() {
		m.insert(v.at(i))
	}
	return m
}

func (m *occurrenceList) at(pos uint64) []byte { return m.buf[pos:] }

func (m *occurrenceList) occurrence(o *occurrence, i int) { m.frame.decode(o, m, m.records[i]) }

func (m *occurrenceList) view() *view { return &view{list: m} }

// insert takes an occurrence in.
func (m *occurrenceList) insert(o *occurrence) {
	v := m.view()
	i := v.indexOf(o)
	if m.count == 0 || o.key().compare(m.firstKey()) < 0 {
		m.setFirst(o)
	}
	m.records = slices.Insert(m.records, i, m.write(o, v))
	m.count++
	m.authors.add(m.cfg.authorKey.hash(o.source, o.author))
	m.noteNames(o)
}

// noteNames notes the names of o where names are noted. A filter without room goes: the next deletion that reads the
// group makes another.
func (m *occurrenceList) noteNames(o *occurrence) {
	if m.names == nil {
		return
	}
	if m.names.add(o); m.names.room < 2 {
		m.names = nil
	}
}

// write appends the record of o, whose text may stand with one of the last few.
func (m *occurrenceList) write(o *occurrence, v *view) (pos uint64) {
	const recent = 4
	if len(m.buf) == 0 {
		m.buf = append(m.buf, 0)
	}
	pos = uint64(len(m.buf))
	m.buf = m.frame.encode(m.buf, o, links{text: v.textLike(o.text, recent)})
	return pos
}

func (m *occurrenceList) firstKey() key {
	return key{time: m.first.Time, source: m.first.Source, post: parsePostID(m.first.Post)}
}

// retain retains only the occurrences for which stays holds, given their indices.
func (m *occurrenceList) retain(stays func(i int, o *occurrence) bool) (removed int) {
	v := m.view()
	var retained []uint64
	for i := range m.records {
		if stays(i, v.at(i)) {
			retained = append(retained, m.records[i])
		}
	}
	if removed = len(m.records) - len(retained); removed > 0 {
		m.pack(retained)
	}
	return removed
}

// removeNamed removes what is deleted, and notes the names of what stays, if that is much.
func (m *occurrenceList) removeNamed(deleted func(*occurrence) bool) (removed int) {
	m.names = nil
	var remaining *names
	if len(m.records) >= minNamed {
		remaining = newNames(len(m.records))
	}
	removed = m.retain(func(_ int, o *occurrence) bool {
		if deleted(o) {
			return false
		}
		if remaining != nil {
			remaining.add(o)
		}
		return true
	})
	m.names = remaining
	return removed
}

// pack writes the records that are retained anew.
func (m *occurrenceList) pack(retained []uint64) {
	old := *m
	m.buf, m.records = make([]byte, 0, 1+len(retained)*(len(old.buf)/len(old.records)+1)), make([]uint64, 0, len(retained))
	v := m.view()
	var o occurrence
	for _, pos := range retained {
		old.frame.decode(&o, &old, pos)
		m.records = append(m.records, m.write(&o, v))
	}
}

// replaceFirst puts the oldest occurrence left in the place of the first.
func (m *occurrenceList) replaceFirst() {
	var o occurrence
	m.occurrence(&o, 0)
	m.setFirst(&o)
}

func (m *occurrenceList) setFirst(o *occurrence) {
	m.first = o.first()
	m.first.Source, m.first.Post, m.first.Author = cloned(m.first.Source), cloned(m.first.Post), cloned(m.first.Author)
}

func cloned(s string) string { return string([]byte(s)) }

// isDense reports whether m has grown enough since it was last thinned to be thinned again.
func (m *occurrenceList) isDense() bool { return len(m.records) >= m.thinAt }

// thin drops what no later look-up needs: occurrences before the horizon, and, of every slice of time that lies
// wholly before old, all but the first two and the last two of distinct posts. That loses no match: a slice wholly
// inside the span of a later sentence needs any two, the one that holds the sentence its first two, the one that
// holds the span's begin its last two.
func (m *occurrenceList) thin(horizon, old, slice feed.Time) (dropped int) {
	v := m.view()
	begin, limit := v.from(horizon), v.from(old)
	stay := make([]bool, v.len())
	for i := begin; i < limit; {
		n := floorDiv(v.at(i).time, slice)
		j := min(limit, v.from((n+1)*slice))
		v.retainEnds(stay, i, j)
		i = j
	}
	for i := max(limit, begin); i < len(stay); i++ {
		stay[i] = true
	}
	return m.retain(func(i int, _ *occurrence) bool { return stay[i] })
}

// retainEnds retains the first two and the last two occurrences, from i to j, of distinct posts.
func (v *view) retainEnds(stay []bool, i, j int) {
	last := j - 1
	before := last
	for k := v.at(last).key(); before >= i && v.at(before).samePost(k); {
		before--
	}
	for _, n := range []int{i, v.other(i, v.at(i).key()), before, last} {
		if n >= i && n < j {
			stay[n] = true
		}
	}
}

// floorDiv rounds down, also below zero.
func floorDiv(a, b feed.Time) feed.Time {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

const listBytes = int64(unsafe.Sizeof(occurrenceList{})) + 64 // and the names of the first

func (m *occurrenceList) bytes() int64 {
	return listBytes + int64(cap(m.buf)) + 8*int64(cap(m.records)) + m.authors.bytes() + m.names.bytes()
}
