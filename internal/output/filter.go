package output

import (
	"strings"

	"refrain/feed"
	"refrain/text"
)

// Filter says which events whoever reads them wants to see. The zero value wants all.
type Filter struct {
	OtherAuthors   bool                // not what authors repeat of themselves
	MinAuthors     int                 // only texts of so many authors, as far as is known when the event is made
	Languages      []string            // only posts in these: en is en-GB too
	ExcludeAuthors map[string]struct{} // not what these repeat
	ExcludeTexts   *Texts              // not what is like one of these
}

func (f *Filter) allows(m *feed.Match) bool {
	if f.OtherAuthors && m.SameAuthor || m.Authors < f.MinAuthors {
		return false
	}
	if _, out := f.ExcludeAuthors[m.Later.Author]; out {
		return false
	}
	return f.inLanguages(m.Later.Lang) && !f.ExcludeTexts.match(m)
}

func (f *Filter) inLanguages(language string) bool {
	if len(f.Languages) == 0 {
		return true
	}
	for _, l := range f.Languages {
		if rest, ok := strings.CutPrefix(strings.ToLower(language), strings.ToLower(l)); ok && (rest == "" || rest[0] == '-' || rest[0] == '_') {
			return true
		}
	}
	return false
}

// Texts are some that a reader does not want to hear of. A text is like one of them by the measure of the run.
type Texts struct {
	measure  text.Measure
	splitter text.Splitter
	sets     [][]uint64
	by       map[uint64][]int // token -> sets that have it
}

// NewTexts returns those of lines; empty ones are none.
func NewTexts(lines []string, m text.Measure) *Texts {
	t := &Texts{measure: m, by: map[uint64][]int{}}
	for _, line := range lines {
		set := text.Set(t.splitter.AppendIDs(nil, line))
		for _, token := range set {
			t.by[token] = append(t.by[token], len(t.sets))
		}
		t.sets = append(t.sets, set)
	}
	return t
}

// match reports whether the later or the repeated sentence is like one of the texts.
func (t *Texts) match(m *feed.Match) bool {
	return t != nil && (t.isSimilar(m.Later.Text) || t.isSimilar(m.Earlier.Text))
}

func (t *Texts) isSimilar(sentence string) bool {
	set := text.Set(t.splitter.AppendIDs(nil, sentence))
	common := map[int]int{}
	for _, token := range set {
		for _, i := range t.by[token] {
			common[i]++
		}
	}
	for i, n := range common {
		if t.measure.Reaches(n, len(t.sets[i]), len(set)) {
			return true
		}
	}
	return false
}
