package api

import (
	"refrain/feed"
	"refrain/lookup"
)

// The JSON of the index's answers.

type placeJSON struct {
	Source   string    `json:"source"`
	Post     string    `json:"post"`
	Author   string    `json:"author"`
	Sentence int       `json:"sentence"`
	Time     feed.Time `json:"time"`
}

type reuseJSON struct {
	Source     string           `json:"source"`
	Post       string           `json:"post"`
	Repeats    []repeatJSON     `json:"repeats"`
	RepeatedBy []repetitionJSON `json:"repeatedBy"`
	Total      int              `json:"repeatedByTotal"`
	Next       string           `json:"next,omitempty"`
}

type repeatJSON struct {
	Event     string     `json:"event"`
	Sentence  int        `json:"sentence"`
	Group     string     `json:"group"`
	Jaccard   float64    `json:"jaccard"`
	Identical bool       `json:"identical"`
	Earlier   *placeJSON `json:"earlier,omitempty"`
	Text      string     `json:"text,omitempty"`
}

// repetitionJSON has the sentence twice: where the list is read for its own, and in the place it is of.
type repetitionJSON struct {
	Event    string    `json:"event"`
	Sentence int       `json:"sentence"`
	Group    string    `json:"group"`
	Jaccard  float64   `json:"jaccard"`
	Later    placeJSON `json:"later"`
	Text     string    `json:"text,omitempty"`
}

type textJSON struct {
	Group            string           `json:"group"`
	Text             string           `json:"text,omitempty"`
	First            *firstJSON       `json:"first,omitempty"`
	Last             *feed.Time       `json:"last,omitempty"`
	Occurrences      int              `json:"occurrences"`
	Authors          int              `json:"authors"`
	AuthorsEstimated bool             `json:"authorsEstimated"`
	RepeatedBy       []repetitionJSON `json:"repeatedBy"`
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
	Reuse  []repetitionJSON `json:"reuse"`
}

func repeatsJSON(list []lookup.Repeat) []repeatJSON {
	out := make([]repeatJSON, len(list))
	for i := range list {
		r := &list[i]
		out[i] = repeatJSON{
			Event: r.Event.String(), Sentence: r.Sentence, Group: r.Group.String(), Jaccard: r.Jaccard,
			Identical: r.Identical, Earlier: placed(r.Earlier), Text: r.Text,
		}
	}
	return out
}

func placed(p *lookup.Place) *placeJSON {
	if p == nil {
		return nil
	}
	return &placeJSON{p.Source, p.Post, p.Author, p.Sentence, p.Time}
}

func repetitionsJSON(list []lookup.Repetition) []repetitionJSON {
	out := make([]repetitionJSON, len(list))
	for i := range list {
		r := &list[i]
		out[i] = repetitionJSON{
			Event: r.Event.String(), Sentence: r.Later.Sentence, Group: r.Group.String(), Jaccard: r.Jaccard,
			Later: *placed(&r.Later), Text: r.Text,
		}
	}
	return out
}

func reuseAnswer(r *lookup.Reuse) reuseJSON {
	return reuseJSON{
		Source: r.Source, Post: r.Post, Repeats: repeatsJSON(r.Repeats),
		RepeatedBy: repetitionsJSON(r.RepeatedBy), Total: r.Total, Next: r.Next,
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
		AuthorsEstimated: t.AuthorsEstimated, RepeatedBy: repetitionsJSON(t.RepeatedBy), Total: t.Total, Next: t.Next,
	}
	if t.Total > 0 {
		answer.Last = &t.Last
	}
	return answer
}
