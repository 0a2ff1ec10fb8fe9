package output

import (
	"cmp"
	"slices"

	"refrain/feed"
	"refrain/text"
)

// top counts the events of each group. It holds one entry for every text that is repeated.
type top struct {
	rows
	n       int
	measure text.Measure
	texts   map[feed.Hash]*reused
}

// reused is a text and what is known of its repeats.
type reused struct {
	group   feed.Hash
	events  int
	authors estimate
	first   feed.First
	last    feed.Time
	text    string
}

var topColumns = []column{
	{name: "repeats", width: 8, right: true}, {name: "authors", width: 8, right: true}, {name: "authorsEstimated"},
	{name: "first", width: timeWidth}, {name: "last", width: timeWidth}, {name: "firstAuthor"}, {name: "firstPost"}, {name: "firstSource"},
	{name: "group", width: idWidth}, {name: "text", width: last},
}

func newTop(n int, measure text.Measure, to rows) *top {
	return &top{rows: to, n: n, measure: measure, texts: map[feed.Hash]*reused{}}
}

func (t *top) Write(matches []feed.Match) error {
	for i := range matches {
		m := &matches[i]
		r := t.texts[m.Group]
		if r == nil {
			r = &reused{group: m.Group, first: m.First, text: m.Earlier.Text}
			t.texts[m.Group] = r
		}
		r.events++
		r.authors = estimate{max(r.authors.n, m.Authors), r.authors.rough || m.AuthorsEstimated}
		r.last = max(r.last, m.Later.Time)
	}
	return nil
}

// Close prints the texts that are repeated most, leaving out those that a text above them matches.
func (t *top) Close() error {
	for _, r := range t.best() {
		err := t.row(r.events, r.authors, r.authors.rough, r.first.Time.String(), r.last.String(),
			r.first.Author, r.first.Post, r.first.Source, r.group.String(), r.text)
		if err != nil {
			return err
		}
	}
	return t.close()
}

func (t *top) best() []*reused {
	all := make([]*reused, 0, len(t.texts))
	for _, r := range t.texts {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *reused) int {
		return cmp.Or(cmp.Compare(b.events, a.events), cmp.Compare(a.first.Time, b.first.Time), cmp.Compare(a.text, b.text))
	})
	var best []*reused
	var sets [][]uint64
	var splitter text.Splitter
	for _, r := range all {
		set := text.Set(splitter.AppendIDs(nil, r.text))
		if len(set) > 0 && near(sets, set, t.measure) {
			continue
		}
		best, sets = append(best, r), append(sets, set)
		if len(best) == t.n {
			break
		}
	}
	return best
}

// near reports whether a set of tokens is as similar to another one as the measure asks for.
func near(sets [][]uint64, set []uint64, m text.Measure) bool {
	return slices.ContainsFunc(sets, func(s []uint64) bool {
		return len(s) > 0 && m.Reaches(text.Intersection(s, set), len(s), len(set))
	})
}
