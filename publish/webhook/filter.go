package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"refrain/feed"
	"refrain/publish"
	"refrain/text"
)

// Filter says which matches an endpoint wants. Its zero value wants all; retractions pass every filter.
type Filter struct {
	Threshold      text.Threshold // least similarity, by the measure of the window; its zero value: any
	Languages      []string       // of the later post; en takes en-GB too; none: any
	MinOccurrences int            // of the repeated text by then
	OtherAuthors   bool           // not what authors repeat of themselves
}

// shown is what filters look at.
type shown struct {
	Data struct {
		Jaccard     float64 `json:"jaccard"`
		Measure     string  `json:"measure"`
		Similarity  float64 `json:"similarity"`
		Occurrences int     `json:"occurrences"`
		SameAuthor  bool    `json:"sameAuthor"`
		Later       struct {
			Lang string `json:"lang"`
		} `json:"later"`
	} `json:"data"`
}

// wants reports whether an event goes to the endpoint. Kinds of events that are not known here do not.
func (f *Filter) wants(e *publish.Event) (bool, error) {
	if e.Type != feed.ReuseType {
		return e.Type == feed.RetractedType, nil
	}
	var s shown
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return false, fmt.Errorf("event: %w", err)
	}
	d := &s.Data
	match := feed.Match{Jaccard: d.Jaccard, Measure: d.Measure, Similarity: d.Similarity}
	return f.reaches(match.Value()) && f.speaks(d.Later.Lang) && d.Occurrences >= f.MinOccurrences &&
		!(f.OtherAuthors && d.SameAuthor), nil
}

// reaches compares two floats that are each the nearest to their number: as exact as comparing fractions, and for a
// cosine with thresholds of some digits.
func (f *Filter) reaches(similarity float64) bool {
	return f.Threshold.Den == 0 || similarity >= f.Threshold.Float()
}

func (f *Filter) speaks(lang string) bool {
	return len(f.Languages) == 0 || slices.ContainsFunc(f.Languages, func(want string) bool {
		head, rest := lang[:min(len(lang), len(want))], lang[min(len(lang), len(want)):]
		return want != "" && strings.EqualFold(head, want) && (rest == "" || rest[0] == '-' || rest[0] == '_')
	})
}
