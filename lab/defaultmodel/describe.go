package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/text"
)

// recipe is what the model says about how it came about: the learner's report, and what went into it.
type recipe struct {
	train.Report
	Measured []measured `json:"measured"`
	Corpora  []share    `json:"corpora"`
	Files    []input    `json:"files"`
}

// measured is what searches cost at a threshold, with the validation sets among all sets of the mixture, as in the report.
type measured struct {
	Threshold string     `json:"threshold"`
	Before    train.Cost `json:"before"` // md5 of as many bits and ones
	After     train.Cost `json:"after"`
}

// share is what a corpus gave to the mixture.
type share struct {
	Name      string `json:"name"`
	Language  string `json:"language"`
	Seen      int    `json:"seen"`      // sentences
	Sentences int    `json:"sentences"` // distinct ones in the mixture
}

// input is a file of the data.
type input struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

var thresholds = []text.Threshold{{Num: 1, Den: 2}, {Num: 3, Den: 5}, {Num: 7, Den: 10}, {Num: 4, Den: 5}, {Num: 9, Den: 10}}

// queries are as many as the learner measures with.
const queries = 2000

// describe puts the recipe into the model.
func describe(ctx context.Context, data string, readings []*reading, s *train.Sample, m *hashcodes.Model,
	report *train.Report) (*hashcodes.Model, error) {
	md5, err := hashcodes.NewMD5(bits, ones)
	if err != nil {
		return nil, err
	}
	r := recipe{Report: *report}
	all, sample := slices.Concat(s.Learning, s.Validation), s.Validation[:min(queries, len(s.Validation))]
	for _, t := range thresholds {
		r.Measured = append(r.Measured, measured{t.String(), train.Count(ctx, md5, text.Jaccard.At(t), sample, all),
			train.Count(ctx, m, text.Jaccard.At(t), sample, all)})
	}
	for _, x := range readings {
		r.Corpora = append(r.Corpora, share{x.corpus.name, x.corpus.language, x.sample.Seen,
			len(x.sample.Learning) + len(x.sample.Validation)})
	}
	if r.Files, err = inputs(data); err != nil {
		return nil, err
	}
	recipeJSON, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	about := m.Description()
	about.TrainedOn = string(recipeJSON)
	return hashcodes.New(about, slices.Collect(m.Entries()))
}

// inputs are the files of all corpora, each once.
func inputs(data string) (files []input, err error) {
	for _, path := range paths() {
		sum, err := digest(filepath.Join(data, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		files = append(files, input{path, sum})
	}
	return files, nil
}

func paths() (list []string) {
	for _, c := range corpora {
		list = append(list, c.files...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}
