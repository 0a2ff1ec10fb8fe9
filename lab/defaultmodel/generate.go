package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/text"
)

// What the model is.
const (
	learner  = "direct"
	bits     = 64
	ones     = 1
	seed     = 1
	maxWords = 10_000
)

// threshold is lower than what most searches ask for: at 0.8 hashed codes of 64 bits have next to no false candidates, so
// there is nothing to learn from. Codes learned at 0.7 were no better at 0.7, and worse below (docs/models.md).
var threshold = text.Threshold{Num: 3, Den: 5}

// generated are the two files.
type generated struct{ model, list []byte }

// generate makes the model and its list of words.
func generate(ctx context.Context, data string, progress func(string)) (*generated, error) {
	out, err := readExclusions()
	if err != nil {
		return nil, err
	}
	readings, err := readAll(data, progress)
	if err != nil {
		return nil, err
	}
	names := map[uint64]string{}
	for _, w := range allowed(readings, out) {
		names[text.ID(w)] = w
	}
	progress(fmt.Sprintf("%d words may be in the vocabulary", len(names)))
	sample := mix(readings)
	c := train.Default()
	c.Learner, c.Bits, c.Ones, c.Vocabulary, c.Seed = learner, bits, ones, maxWords, seed
	c.Measure = text.Jaccard.At(threshold)
	c.Words, c.Progress = func(id uint64) bool { return names[id] != "" }, progress
	model, report, err := c.Learn(ctx, sample)
	if err != nil {
		return nil, err
	}
	model, err = describe(ctx, data, readings, sample, model, report)
	if err != nil {
		return nil, err
	}
	return files(model, names)
}

// files writes the model, and its words in the order of the alphabet.
func files(model *hashcodes.Model, names map[uint64]string) (*generated, error) {
	var b bytes.Buffer
	err := model.Write(&b)
	if err != nil {
		return nil, err
	}
	var list []string
	for e := range model.Entries() {
		list = append(list, names[e.Token])
	}
	slices.Sort(list)
	return &generated{b.Bytes(), []byte(strings.Join(list, "\n") + "\n")}, nil
}

// readAll reads the corpora side by side.
func readAll(data string, progress func(string)) ([]*reading, error) {
	readings := make([]*reading, len(corpora))
	errs := make([]error, len(corpora))
	free := make(chan bool, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range corpora {
		readings[i] = &reading{corpus: &corpora[i], data: data}
		all.Go(func() {
			free <- true
			defer func() { <-free }()
			errs[i] = readings[i].read(seed)
			progress(fmt.Sprintf("%s: %d sentences, %d words", corpora[i].name, readings[i].sample.Seen, len(readings[i].words)))
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", corpora[i].name, err)
		}
	}
	return readings, nil
}

// mix makes one sample of those of the corpora. What each keeps aside is shuffled, since learners measure with the
// first of it.
func mix(readings []*reading) *train.Sample {
	var s train.Sample
	for _, r := range readings {
		s.Learning = append(s.Learning, r.sample.Learning...)
		s.Validation = append(s.Validation, r.sample.Validation...)
		s.Seen += r.sample.Seen
	}
	v := s.Validation
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
	return &s
}
