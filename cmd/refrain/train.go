package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/hashcodes/train"
	"refrain/internal/atomicfile"
	"refrain/internal/terminal"
	"refrain/internal/units"
	"refrain/text"
)

func (m *Main) train() *cobra.Command {
	t := training{main: m, config: train.Default()}
	var measure, threshold string
	cmd := &cobra.Command{
		Use:   "train [FILE...|-] --out MODEL",
		Short: "Learn a model of codes from posts",
		Long: "Read posts and learn codes for their most frequent words, so that searches of such posts look at fewer\n" +
			"candidates. Which events there are does not depend on the model, only how fast they are found. Posts should\n" +
			"come in the order of time: the latest eleventh of the sentences is kept aside to measure with.\n" +
			"Learners: direct, ours, has the fewest false candidates; " + strings.Join(train.Learners[1:], ", ") +
			" are there to compare with.",
		Example: "  refrain train posts.jsonl --out posts.model\n" +
			"  refrain train --bits 32 --threshold 0.6 --vocab 3000 2015.jsonl.zst 2016.jsonl.zst --out posts.model\n" +
			"  refrain detect --model posts.model --threshold 0.6 2017.jsonl.zst",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if t.config.Measure, err = parseMeasure(measure, threshold); err != nil {
				return err
			}
			if err := t.check(); err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{"-"}
			}
			return t.run(cmd.Context(), args)
		},
	}
	f, c := cmd.Flags(), &t.config
	f.StringVar(&c.Learner, "learner", c.Learner, strings.Join(train.Learners, ", "))
	f.IntVar(&c.Bits, "bits", c.Bits, "bits of a signature: 32, 64, 128 or 256")
	f.IntVar(&c.Ones, "ones", c.Ones, "bits that a token sets, at most; the model may do with fewer")
	addMeasure(f, &measure)
	f.StringVar(&threshold, "threshold", c.Measure.Threshold.Decimal(),
		"similarity that searches will ask for, as a decimal or a fraction")
	f.IntVar(&c.Vocabulary, "vocab", c.Vocabulary, "words that get codes of their own, at most: the most frequent")
	f.IntVar(&t.sentences, "sentences", train.DefaultSentences,
		"distinct sentences to learn from, at most: drawn evenly from all")
	addMinTokens(f, &t.minTokens)
	f.Uint64Var(&c.Seed, "seed", c.Seed, "of the random choices: the same seed and posts give the same model")
	f.StringVar(&t.out, "out", "", "file to write the model to")
	t.in.add(f)
	return cmd
}

// training is one run of the command.
type training struct {
	main                 *Main
	in                   inputFlags
	config               train.Config
	sentences, minTokens int
	out                  string
}

// maxSentences is more than any machine holds.
const maxSentences = 1 << 32

// check says what is wrong with the flags before anything is read.
func (t *training) check() error {
	c := &t.config
	switch {
	case t.out == "":
		return usage("--out is missing: say which file to write the model to")
	case reserved(t.out):
		return usage("--out %s: --model %s would not mean this file: choose another name, or ./%s", t.out, t.out, t.out)
	case t.sentences < 1 || t.sentences > maxSentences:
		return usage("--sentences %d: want 1 to %d", t.sentences, maxSentences)
	case c.Vocabulary < 1:
		return usage("--vocab %d: want 1 or more", c.Vocabulary)
	case t.minTokens < 0:
		return usage("--min-tokens %d: want 0 or more", t.minTokens)
	}
	if err := c.CheckLearner(); err != nil {
		return usage("--%w", err)
	}
	if _, err := hashcodes.NewMD5(c.Bits, c.Ones); err != nil {
		return usage("--bits %d --ones %d: %w", c.Bits, c.Ones, err)
	}
	return nil
}

func (t *training) run(ctx context.Context, files []string) error {
	mode, err := t.replaceable(files)
	if err == nil {
		err = atomicfile.Check(filepath.Dir(t.out)) // that no file can be made is better known before the work than after
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w", t.out, err)
	}
	model, report, err := t.learn(ctx, files)
	if ctx.Err() != nil {
		return errors.New("interrupted: no model was written")
	}
	if err != nil {
		return err
	}
	if err := atomicfile.Write(t.out, mode, model.Write); err != nil {
		return fmt.Errorf("--out %s: %w", t.out, err)
	}
	return t.summarise(model, report)
}

// replaceable makes sure that the model takes no other file's place than a model's: a link is followed, and what is no
// usual file, or one of those to be read, stays. It returns the mode that the model's file gets.
func (t *training) replaceable(files []string) (os.FileMode, error) {
	if to, err := filepath.EvalSymlinks(t.out); err == nil {
		t.out = to
	}
	old, err := os.Stat(t.out)
	if errors.Is(err, os.ErrNotExist) {
		return 0o644, nil
	}
	if err != nil {
		return 0, errors.Unwrap(err)
	}
	if !old.Mode().IsRegular() {
		return 0, errors.New("is no usual file: say which file to write the model to")
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && os.SameFile(info, old) {
			return 0, errors.New("is one of the files to be read")
		}
	}
	return old.Mode().Perm(), nil
}

func (t *training) learn(ctx context.Context, files []string) (*hashcodes.Model, *train.Report, error) {
	status := terminal.NewStatus(t.main.Stderr, terminal.Detect(t.main.Stderr))
	defer status.Clear()
	var failed error
	sample := train.Collect(t.read(ctx, files, status, &failed), t.sentences, t.config.Seed)
	if failed != nil {
		return nil, nil, failed
	}
	if len(sample.Learning) == 0 {
		return nil, nil,
			errors.New("not one sentence is long enough to be learned from, or there are no posts at all; see --min-tokens")
	}
	for _, file := range files {
		t.config.Sources = append(t.config.Sources, filepath.Base(file))
	}
	t.config.Progress = func(line string) { t.report(status, line) }
	return t.config.Learn(ctx, sample)
}

// report shows how far the learner is: where no line can be redrawn, by a line for every round.
func (t *training) report(status *terminal.Status, line string) {
	if status.Active() {
		status.Set(line)
		return
	}
	fmt.Fprintln(t.main.Stderr, line)
}

// read yields the token sets of the sentences of all files; what goes wrong is in failed.
func (t *training) read(ctx context.Context, files []string, status *terminal.Status, failed *error) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		for _, file := range files {
			if *failed = t.readFile(ctx, file, status, yield); *failed != nil {
				return
			}
		}
	}
}

func (t *training) readFile(ctx context.Context, file string, status *terminal.Status, yield func([]uint64) bool) error {
	src, err := t.main.open(&t.in, []string{file})
	if err != nil {
		return err
	}
	defer src.Close()
	progress := terminal.NewProgress(status, src.Size())
	defer progress.Done()
	var splitter text.Splitter
	var sentences []feed.Sentence
	posts := int64(0)
	err = t.main.eachPost(ctx, src, func(p *feed.Post) error {
		sentences, _ = splitter.Sentences(sentences[:0], p, t.minTokens)
		for i := range sentences {
			yield(sentences[i].Tokens) // a sample takes all there are
		}
		posts++
		progress.Update(src.BytesRead(), posts)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w; no model was written", err)
	}
	return nil
}

// summarise says on stderr what the model was learned from and what it is worth.
func (t *training) summarise(model *hashcodes.Model, r *train.Report) error {
	info, err := os.Stat(t.out)
	if err != nil {
		return err
	}
	w := t.main.Stderr
	fmt.Fprintf(w, "learned from %d distinct %s of %d, picked and measured with %d later ones\n", r.Learning,
		terminal.Noun(r.Learning, "sentence"), r.Seen, r.Validation)
	hashed := fmt.Sprintf("md5-%d-%d", model.Bits(), r.HashedOnes())
	if r.Vocabulary == 0 && t.config.Learner != "md5" {
		fmt.Fprintf(w, "warning: not one word is in enough sentences for its code to be learned, so that all are "+
			"hashed, as in %s: train on more text\n", hashed)
	}
	fmt.Fprintf(w, "%s: %d %s with codes of their own, %s\n", model.Name(), model.Len(), terminal.Noun(model.Len(), "word"),
		units.FormatBytes(info.Size()))
	t.summariseGain(hashed, r)
	return nil
}

// summariseGain says what the codes gain over hashed ones, and when that is nothing to rely on.
func (t *training) summariseGain(hashed string, r *train.Report) {
	w := t.main.Stderr
	if r.After.Queries == 0 {
		fmt.Fprintln(w, "too few sentences to measure the codes")
		return
	}
	fmt.Fprintf(w, "false candidates a query at %s %s: %s, with %s %s (%d queries in %d sentences, %d matches)\n",
		cmp.Or(r.Measure, "Jaccard"), r.Threshold, units.Three(r.After.PerQuery()), hashed, units.Three(r.Before.PerQuery()), r.After.Queries,
		r.Learning+r.Validation, r.After.True)
	if t.config.Learner != "md5" && !r.After.Beats(r.Before) {
		fmt.Fprintf(w, "warning: %d false candidates in %d queries, with %s %d: no gain of 5 %% that is more than "+
			"chance makes; there is more to gain with a lower --threshold, fewer --bits or more text\n",
			r.After.False, r.After.Queries, hashed, r.Before.False)
	}
}
