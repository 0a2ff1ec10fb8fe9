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

// Filter says which events an endpoint wants. Its zero value wants all; of what is behind Types, retractions pass all.
type Filter struct {
	Types          []string       // of events, as feed.ReuseType; none: all
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
	if len(f.Types) > 0 && !slices.Contains(f.Types, e.Type) {
		return false, nil
	}
	if e.Type != feed.ReuseType {
		return e.Type == feed.RetractedType, nil
	}
	var s shown
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return false, fmt.Errorf("event: %w", err)
	}
	d := &s.Data
	match := feed.Match{Jaccard: d.Jaccard, Measure: d.Measure, Similarity: d.Similarity}
	return f.reaches(&match) && f.speaks(d.Later.Lang) && d.Occurrences >= f.MinOccurrences &&
		!(f.OtherAuthors && d.SameAuthor), nil
}

// types are those that there are.
var types = []string{feed.ReuseType, feed.RetractedType}

func (f *Filter) validate() error {
	for _, t := range f.Types {
		if !slices.Contains(types, t) {
			return fmt.Errorf("event type %q: want %s", t, strings.Join(types, " or "))
		}
	}
	return nil
}

// reaches decides as the window would.
func (f *Filter) reaches(m *feed.Match) bool {
	by, _ := text.ParseSimilarity(m.Measure) // "" is Jaccard; one of a later version is compared like it
	return f.Threshold.Den == 0 || by.At(f.Threshold).ReachesValue(m.Value())
}

func (f *Filter) speaks(lang string) bool {
	return len(f.Languages) == 0 || slices.ContainsFunc(f.Languages, func(want string) bool {
		head, rest := lang[:min(len(lang), len(want))], lang[min(len(lang), len(want)):]
		return want != "" && strings.EqualFold(head, want) && (rest == "" || rest[0] == '-' || rest[0] == '_')
	})
}
