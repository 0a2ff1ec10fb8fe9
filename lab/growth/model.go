package growth

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// Model says what the sentences of a feed are like. It is fitted to a real one; see Fit.
type Model struct {
	Command    string      `json:"command"` // that made it
	Data       string      `json:"data"`    // that it was fitted to
	SliceRows  int         `json:"sliceRows"`
	Components []Component `json:"components"`
}

// Component is a part of the feed: the sentences of one file that are in one script.
type Component struct {
	Name      string    `json:"name"`
	Script    string    `json:"script"`    // components of one script share their words
	Rows      int       `json:"rows"`      // distinct sentences that it was fitted to
	Shares    []float64 `json:"shares"`    // of the rows of each slice of the feed; after the last comes the first
	Sizes     []float64 `json:"sizes"`     // share of the sentences that have so many distinct tokens
	Curve     Curve     `json:"curve"`     // how frequent its tokens are, by rank
	Spread    float64   `json:"spread"`    // of its ranks around those of its script: standard deviation of the logarithm
	Together  float64   `json:"together"`  // share of tokens that are there because of the one before
	Copies    Copies    `json:"copies"`    // sentences that are an earlier one with few changes
	Echoes    Copies    `json:"echoes"`    // sentences that take some tokens of an earlier one
	Topics    Topics    `json:"topics"`    // sentences about what is talked about just then
	Templates Templates `json:"templates"` // sentences made of a text that comes again and again
}

// Copies are sentences made of an earlier one of their component, a few or many sentences back: any distance is as
// likely as twice that.
type Copies struct {
	Share float64 `json:"share"` // of the sentences
	Keep  float64 `json:"keep"`  // share of the tokens that they keep
}

// Topics are texts that sentences are made of for some time: the newest most of all, one four times as far back half as
// often.
type Topics struct {
	Copies
	Every float64 `json:"every"` // sentences after which there is a new one
}

// Templates are texts that sentences are made of at any time. The one of rank j is as frequent as (Offset + j)^-1.5.
type Templates struct {
	Copies
	Offset float64 `json:"offset"`
}

//go:embed model.json
var fitted []byte

// Fitted is the model of the shared data set.
var Fitted = sync.OnceValue(func() *Model {
	m, err := ReadModel(fitted)
	if err != nil {
		panic(fmt.Sprintf("model.json: %v", err)) // the tests read it too
	}
	return m
})

// ReadModel reads what Model.Write wrote.
func ReadModel(from []byte) (*Model, error) {
	m := &Model{}
	d := json.NewDecoder(bytes.NewReader(from))
	d.DisallowUnknownFields()
	return m, d.Decode(m)
}
