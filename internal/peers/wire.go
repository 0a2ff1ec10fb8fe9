package peers

import (
	"encoding/json"
	"errors"
	"fmt"

	"refrain/feed"
)

// version is that of the questions and answers: processes of another one are named, not misunderstood.
const version = 1

type query struct {
	Version   int    `json:"version"`
	Text      string `json:"text"`
	Lang      string `json:"lang,omitempty"`
	Threshold string `json:"threshold,omitempty"`
	Limit     int    `json:"limit"`
}

// deletionQuery waits until nothing of before a position of the control topic is left, for so many milliseconds at most.
type deletionQuery struct {
	Version int   `json:"version"`
	Before  int64 `json:"before"`
	WaitMS  int64 `json:"waitMs"`
}

type answer struct {
	Version    int        `json:"version"`
	Partitions []int      `json:"partitions"`
	Sentences  []sentence `json:"sentences,omitempty"`
}

// sentence carries each match as the event that it would be.
type sentence struct {
	Index     int               `json:"index"`
	Matches   []json.RawMessage `json:"matches,omitempty"`
	Truncated bool              `json:"truncated,omitempty"`
}

func encode(a *Answer) ([]byte, error) {
	out := answer{Version: version, Partitions: a.Partitions}
	for i := range a.Sentences {
		s := &a.Sentences[i]
		one := sentence{Index: s.Index, Truncated: s.Truncated}
		for j := range s.Matches {
			one.Matches = append(one.Matches, s.Matches[j].AppendEvent(nil, ""))
		}
		out.Sentences = append(out.Sentences, one)
	}
	return json.Marshal(out)
}

var errVersion = errors.New("it is of another version of the program")

func decode(data []byte) (*Answer, error) {
	var in answer
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	if in.Version != version {
		return nil, fmt.Errorf("%w: answers of version %d, want %d", errVersion, in.Version, version)
	}
	a := &Answer{Partitions: in.Partitions}
	for _, s := range in.Sentences {
		one := Sentence{Index: s.Index, Truncated: s.Truncated}
		for _, raw := range s.Matches {
			m, err := feed.DecodeEvent(raw)
			if err != nil {
				return nil, fmt.Errorf("answer: sentence %d: %w", s.Index, err)
			}
			one.Matches = append(one.Matches, m)
		}
		a.Sentences = append(a.Sentences, one)
	}
	return a, nil
}
