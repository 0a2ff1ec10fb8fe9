package lossless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/lab/cpu"
	"refrain/lab/report"
	"refrain/text"
)

// spec says which model: that of a learner for a cell of a table.
type spec struct {
	corpus     string
	learner    string
	bits, ones int
	threshold  text.Threshold
	vocabulary int
	sentences  int
	seed       uint64
}

// String is the name of the model's file too.
func (s spec) String() string {
	name := fmt.Sprintf("%s-%s-%d-%d", s.corpus, s.learner, s.bits, s.ones)
	if s.learner == "md5" {
		return name
	}
	if s.learner == "direct" || s.learner == "opt" || s.learner == "ner" {
		name += fmt.Sprintf("-%.4g", s.threshold.Float())
	}
	return fmt.Sprintf("%s-%dw-%ds-%d", name, s.vocabulary, s.sentences, s.seed)
}

// trained is a model and what it took to learn it.
type trained struct {
	*hashcodes.Model `json:"-"`
	Wall             float64 `json:"wall"` // seconds
	CPU              float64 `json:"cpu"`
}

// trainer learns models from the earlier sets of a corpus. Those that its folder holds already are read instead, and
// those that it learns are written there, so that a table that is interrupted goes on where it was, and tables share
// their models.
type trainer struct {
	dir     string // "": none
	suffix  string // of the files' names
	earlier [][]uint64
	logf    func(format string, args ...any)
	sample  map[int]*train.Sample // by sentences
	known   map[spec]trained
}

// model learns a model, or finds it.
func (t *trainer) model(ctx context.Context, s spec) (trained, error) {
	if m, ok := t.known[s]; ok {
		return m, nil
	}
	m, err := t.make(ctx, s)
	if err != nil {
		return m, fmt.Errorf("%v: %w", s, err)
	}
	if t.known == nil {
		t.known = map[spec]trained{}
	}
	t.known[s] = m
	return m, nil
}

func (t *trainer) make(ctx context.Context, s spec) (trained, error) {
	if s.learner == "md5" {
		m, err := hashcodes.NewMD5(s.bits, s.ones)
		return trained{Model: m}, err
	}
	if m, ok, err := t.read(s); ok || err != nil {
		return m, err
	}
	m, err := t.learn(ctx, s)
	if err != nil {
		return m, err
	}
	return m, t.write(s, m)
}

// models learns those for one and for more ones. A model that was allowed more and states one is that of one: direct
// learns for every number by itself and takes the best. So it is not learned again.
func (t *trainer) models(ctx context.Context, s spec, ones []int) ([]trained, error) {
	all := make([]trained, len(ones))
	for i := len(ones) - 1; i >= 0; i-- {
		s.ones = ones[i]
		if more := slices.IndexFunc(all, func(m trained) bool { return m.Model != nil && m.Ones() <= s.ones }); more >= 0 &&
			s.learner == "direct" {
			all[i] = all[more]
			continue
		}
		var err error
		if all[i], err = t.model(ctx, s); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (t *trainer) learn(ctx context.Context, s spec) (m trained, err error) {
	if t.sample[s.sentences] == nil {
		if t.sample == nil {
			t.sample = map[int]*train.Sample{}
		}
		t.sample[s.sentences] = train.Collect(slices.Values(t.earlier), s.sentences, s.seed)
	}
	wall, used := time.Now(), cpu.Time()
	c := train.Default()
	c.Learner, c.Bits, c.Ones, c.Vocabulary, c.Seed = s.learner, s.bits, s.ones, s.vocabulary, s.seed
	c.Measure = text.Jaccard.At(s.threshold)
	c.Sources, c.Progress = []string{s.corpus}, func(line string) { t.logf("%v: %s", s, line) }
	m.Model, _, err = c.Learn(ctx, t.sample[s.sentences])
	m.Wall, m.CPU = time.Since(wall).Seconds(), (cpu.Time() - used).Seconds()
	return m, err
}

func (t *trainer) file(s spec, ext string) string {
	return filepath.Join(t.dir, s.String()+t.suffix+ext)
}

func (t *trainer) read(s spec) (m trained, ok bool, err error) {
	if t.dir == "" {
		return m, false, nil
	}
	f, err := os.Open(t.file(s, ".model"))
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	defer f.Close()
	if m.Model, err = hashcodes.Read(f); err != nil {
		return m, false, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if took, err := os.ReadFile(t.file(s, ".json")); err == nil {
		err = json.Unmarshal(took, &m)
		return m, err == nil, err
	}
	return m, true, nil
}

func (t *trainer) write(s spec, m trained) error {
	if t.dir == "" {
		return nil
	}
	took, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return err
	}
	if err := report.WriteFile(t.file(s, ".json"), append(took, '\n')); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := m.Model.Write(&b); err != nil {
		return err
	}
	return report.WriteFile(t.file(s, ".model"), b.Bytes())
}
