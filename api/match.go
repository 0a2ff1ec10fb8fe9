package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"

	"refrain/feed"
)

// matchRequest is the body of POST /v1/match. The threshold may be a number or a string.
type matchRequest struct {
	Text      *string         `json:"text"`
	Lang      string          `json:"lang"`
	Threshold json.RawMessage `json:"threshold"`
}

// matchAnswer is the answer: every sentence of the text, each with the data of the events it would give.
type matchAnswer struct {
	Sentences []matchSentence `json:"sentences"`
	// Partial is left out, with what is missing, where every part of the window was looked in.
	Partial           bool  `json:"partial,omitempty"`
	MissingPartitions []int `json:"missingPartitions,omitempty"`
}

type matchSentence struct {
	Sentence int         `json:"sentence"`
	Start    int         `json:"start"`
	End      int         `json:"end"`
	Text     string      `json:"text"`
	Compared bool        `json:"compared"`
	Matches  []matchData `json:"matches"`
	// Truncated is left out where it is false, as in nearly all answers.
	Truncated bool `json:"truncated,omitempty"`
}

func (a *handlers) match(r *http.Request) (matchAnswer, error) {
	answer := matchAnswer{Sentences: []matchSentence{}}
	q, err := readQuery(r)
	if err != nil {
		return answer, err
	}
	q.Limit = a.Limits.MatchResults
	end, err := a.turns.begin(r)
	if err != nil {
		return answer, err
	}
	defer end()
	ctx, cancel := context.WithTimeoutCause(r.Context(), a.Limits.MatchTimeout, errHeld)
	defer cancel()
	found, err := a.Matcher.Match(ctx, q)
	if errors.Is(err, context.DeadlineExceeded) {
		err = context.Cause(ctx)
	}
	if err != nil {
		return answer, err
	}
	answer.Partial, answer.MissingPartitions = len(found.Missing) > 0, found.Missing
	for i := range found.Sentences {
		s, err := sentenceJSON(&found.Sentences[i], q.Text)
		if err != nil {
			return answer, err
		}
		answer.Sentences = append(answer.Sentences, s)
	}
	return answer, nil
}

// errBody says that a body is not what is wanted.
var errBody = fmt.Errorf("%w: body", ErrInput)

func readQuery(r *http.Request) (Query, error) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	var m matchRequest
	if err := d.Decode(&m); err != nil {
		return Query{}, bodyError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Query{}, fmt.Errorf("%w: something follows the JSON object", errBody)
	}
	if m.Text == nil {
		return Query{}, fmt.Errorf("%w: text is missing", errBody)
	}
	threshold, err := thresholdText(m.Threshold)
	return Query{Text: *m.Text, Lang: m.Lang, Threshold: threshold}, err
}

func bodyError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("%w: %s", errBody, wantType(wrong))
	}
	return fmt.Errorf("%w: %w", errBody, err)
}

// wantType says in the words of JSON what stands where something else should.
func wantType(e *json.UnmarshalTypeError) string {
	want := map[reflect.Kind]string{reflect.Struct: "an object", reflect.String: "a string", reflect.Bool: "true or false"}[e.Type.Kind()]
	return fmt.Sprintf("%s: want %s, not %s", cmp.Or(e.Field, "JSON"), want, e.Value)
}

// thresholdText returns 0.8 and "4/5" as they are written.
func thresholdText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "", nil
	}
	var n json.Number
	if raw[0] != '"' && string(raw) != "null" && json.Unmarshal(raw, &n) == nil {
		return n.String(), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || s == "" { // null too
		return "", fmt.Errorf("%w: threshold: want a number, or a string such as 4/5; leave it out for the server's own", errBody)
	}
	return s, nil
}

func sentenceJSON(s *Sentence, text string) (matchSentence, error) {
	if s.Start < 0 || s.End < s.Start || s.End > len(text) {
		return matchSentence{}, fmt.Errorf("match: sentence %d: bytes %d to %d of %d", s.Index, s.Start, s.End, len(text))
	}
	m := matchSentence{
		Sentence: s.Index, Start: s.Start, End: s.End, Text: text[s.Start:s.End], Compared: s.Compared,
		Matches: make([]matchData, len(s.Matches)), Truncated: s.Truncated,
	}
	for i := range s.Matches {
		m.Matches[i] = matchData(s.Matches[i])
	}
	return m, nil
}

// matchData is the data of the event that a match would be: the same words here as in the event.
type matchData feed.Match

// MarshalJSON implements json.Marshaler.
func (m *matchData) MarshalJSON() ([]byte, error) {
	var event struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal((*feed.Match)(m).AppendEvent(nil, ""), &event); err != nil {
		return nil, fmt.Errorf("match: %w", err)
	}
	return event.Data, nil
}
