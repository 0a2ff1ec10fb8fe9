package output

import (
	"fmt"
	"strings"

	"refrain/feed"
)

// events are a table with a row for each.
type events struct{ rows }

var eventColumns = []column{
	{name: "group", width: idWidth}, {name: "similarity", width: 10, right: true},
	{name: "time", width: timeWidth}, {name: "author", width: 16}, {name: "post"}, {name: "source"}, {name: "link"},
	{name: "firstTime"}, {name: "firstAuthor"}, {name: "firstPost"}, {name: "firstSource"},
	{name: "occurrences", width: 11, right: true}, {name: "authors", width: 7, right: true}, {name: "authorsEstimated"},
	{name: "earlierTime"}, {name: "earlierAuthor"}, {name: "earlierPost"}, {name: "earlierSource"},
	{name: "sameAuthor"}, {name: "earlierText"}, {name: "text", width: last}, {name: "event"},
}

func (e events) Write(matches []feed.Match) error {
	for i := range matches {
		m := &matches[i]
		later, earlier, first := &m.Later, &m.Earlier, &m.First
		err := e.row(
			m.Group.String(), decimal(m.Value()), later.Time.String(), later.Author, later.Post, later.Source, later.Link,
			first.Time.String(), first.Author, first.Post, first.Source, m.Occurrences, estimate{m.Authors, m.AuthorsEstimated}, m.AuthorsEstimated,
			earlier.Time.String(), earlier.Author, earlier.Post, earlier.Source, m.SameAuthor, earlier.Text, later.Text, m.ID.String(),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func (e events) Close() error { return e.close() }

// posts are those of one text: the first one, and each that repeats it.
type posts struct {
	rows
	group string // the beginning of its id
	begun bool
}

var postColumns = []column{
	{name: "group"}, {name: "time", width: timeWidth}, {name: "author", width: 20}, {name: "similarity", width: 10, right: true},
	{name: "post", width: 20}, {name: "source"}, {name: "link"}, {name: "text", width: last},
}

func (p *posts) Write(matches []feed.Match) error {
	for i := range matches {
		m := &matches[i]
		if !strings.HasPrefix(m.Group.String(), p.group) {
			continue
		}
		if err := p.first(m); err != nil {
			return err
		}
		o := &m.Later
		if err := p.row(m.Group.String(), o.Time.String(), o.Author, decimal(m.Value()), o.Post, o.Source, o.Link, o.Text); err != nil {
			return err
		}
	}
	return nil
}

// first prints the first post of the text before those that repeat it.
func (p *posts) first(m *feed.Match) error {
	if p.begun {
		return nil
	}
	p.begun = true
	f := &m.First
	return p.row(m.Group.String(), f.Time.String(), f.Author, decimal(1), f.Post, f.Source, "", m.Earlier.Text)
}

func (p *posts) Close() error { return p.close() }

// decimal is a similarity; people see as many digits of it as they compare.
type decimal float64

func (d decimal) String() string { return fmt.Sprintf("%.3f", float64(d)) }
