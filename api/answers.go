package api

import (
	"refrain/feed"
	"refrain/lookup"
)

// The JSON of the index's answers.

type occurrenceJSON struct {
	Source   string    `json:"source"`
	Post     string    `json:"post"`
	Author   string    `json:"author"`
	Sentence int       `json:"sentence"`
	Time     feed.Time `json:"time"`
}

type reuseJSON struct {
	Source     string           `json:"source"`
	Post       string           `json:"post"`
	Repeats    []repeatOfJSON   `json:"repeats"`
	RepeatedBy []repeatedByJSON `json:"repeatedBy"`
	Total      int              `json:"repeatedByTotal"`
	Next       string           `json:"next,omitempty"`
}

// likenessJSON has the words of the event.
type likenessJSON struct {
	Jaccard    float64 `json:"jaccard"`
	Measure    string  `json:"measure,omitempty"`
	Similarity float64 `json:"similarity,omitempty"`
}

type repeatOfJSON struct {
	Event    string `json:"event"`
	Sentence int    `json:"sentence"`
	Group    string `json:"group"`
	likenessJSON
	Identical bool            `json:"identical"`
	Earlier   *occurrenceJSON `json:"earlier,omitempty"`
	Text      string          `json:"text,omitempty"`
}

// repeatedByJSON has the sentence twice: where the list is read for its own, and in the occurrence it is of.
type repeatedByJSON struct {
	Event    string `json:"event"`
	Sentence int    `json:"sentence"`
	Group    string `json:"group"`
	likenessJSON
	Later occurrenceJSON `json:"later"`
	Text  string         `json:"text,omitempty"`
}

type textJSON struct {
	Group            string           `json:"group"`
	Text             string           `json:"text,omitempty"`
	First            *firstJSON       `json:"first,omitempty"`
	Last             *feed.Time       `json:"last,omitempty"`
	Occurrences      int              `json:"occurrences"`
	Authors          int              `json:"authors"`
	AuthorsEstimated bool             `json:"authorsEstimated"`
	RepeatedBy       []repeatedByJSON `json:"repeatedBy"`
	Total            int              `json:"repeatedByTotal"`
	Next             string           `json:"next,omitempty"`
}

type firstJSON struct {
	Source string    `json:"source"`
	Post   string    `json:"post"`
	Time   feed.Time `json:"time"`
}

type authorJSON struct {
	Source string           `json:"source"`
	Author string           `json:"author"`
	Reuse  []repeatedByJSON `json:"reuse"`
}

func repeatOfList(list []lookup.RepeatOf) []repeatOfJSON {
	out := make([]repeatOfJSON, len(list))
	for i := range list {
		r := &list[i]
		out[i] = repeatOfJSON{
			Event: r.Event.String(), Sentence: r.Sentence, Group: r.Group.String(), likenessJSON: likenessJSON(r.Likeness),
			Identical: r.Identical, Earlier: occurrenceOf(r.Earlier), Text: r.Text,
		}
	}
	return out
}

func occurrenceOf(p *lookup.Occurrence) *occurrenceJSON {
	if p == nil {
		return nil
	}
	return &occurrenceJSON{p.Source, p.Post, p.Author, p.Sentence, p.Time}
}

func repeatedByList(list []lookup.RepeatedBy) []repeatedByJSON {
	out := make([]repeatedByJSON, len(list))
	for i := range list {
		r := &list[i]
		out[i] = repeatedByJSON{
			Event: r.Event.String(), Sentence: r.Later.Sentence, Group: r.Group.String(), likenessJSON: likenessJSON(r.Likeness),
			Later: *occurrenceOf(&r.Later), Text: r.Text,
		}
	}
	return out
}

func reuseAnswer(r *lookup.Reuse) reuseJSON {
	return reuseJSON{
		Source: r.Source, Post: r.Post, Repeats: repeatOfList(r.RepeatOf),
		RepeatedBy: repeatedByList(r.RepeatedBy), Total: r.Total, Next: r.Next,
	}
}

func firstAnswer(f *feed.First) *firstJSON {
	if f == nil {
		return nil
	}
	return &firstJSON{f.Source, f.Post, f.Time}
}

func textAnswer(t *lookup.Text) textJSON {
	answer := textJSON{
		Group: t.Group.String(), Text: t.Text, First: firstAnswer(t.First), Occurrences: t.Occurrences, Authors: t.Authors,
		AuthorsEstimated: t.AuthorsEstimated, RepeatedBy: repeatedByList(t.RepeatedBy), Total: t.Total, Next: t.Next,
	}
	if t.Total > 0 {
		answer.Last = &t.Last
	}
	return answer
}
