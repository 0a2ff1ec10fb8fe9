package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"refrain/internal/units"
)

// joiner is a program that finds all similar pairs of one collection.
type joiner struct {
	name, what string
	program    program
	args       []string
}

// yardstickJoin gives the pairs that the others are to find.
const yardstickJoin = "allpairs"

// joiners are all rows of the table, in its order: this program with each of its algorithms, then the others.
func joiners() (all []joiner) {
	for _, name := range []string{yardstickJoin, "ppjoin", "ppjoin+", "ours"} {
		all = append(all, joiner{name, "Refrain, " + name, self, []string{"join", name}})
	}
	return append(all,
		joiner{"setsimilaritysearch", "SetSimilaritySearch, Python", python, []string{"join_setsimilaritysearch.py"}},
		joiner{"stringsimjoin", "py_stringsimjoin, Cython", stringsimjoin, []string{"join_stringsimjoin.py"}},
	)
}

// joinReport is the line of JSON that a joiner prints at its end.
type joinReport struct {
	Seconds   float64 `json:"seconds"` // of the processor: from the sets in memory to the last pair
	PeakBytes int64   `json:"peakBytes"`
}

// joined is what became of a joiner on a collection.
type joined struct {
	Peer       string  `json:"peer"`
	What       string  `json:"what"`
	Collection string  `json:"collection"`
	Measure    string  `json:"measure"`
	Threshold  string  `json:"threshold"`
	Skipped    string  `json:"skipped,omitempty"`
	Pairs      int     `json:"pairs"`
	Missing    int     `json:"missing"` // pairs of the yardstick's that it has not
	Wrong      int     `json:"wrong"`   // pairs that the yardstick has not
	Wall       float64 `json:"wall"`    // seconds of the process: start, reading and writing too
	joinReport
}

const joinsUsage = `usage: peers joins [flags]   exact joins of the collections of setjoin/, all programs in turns

Run lab/bench/peers/install first; what is not installed is skipped. Flags:`

type joinOptions struct {
	options
	collections, measures string
}

func runJoins(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o joinOptions
	flags := flag.NewFlagSet("peers joins", flag.ContinueOnError)
	flags.StringVar(&o.data, "data", "", "folder of the collections (default setjoin in $REFRAIN_DATA)")
	flags.StringVar(&o.collections, "collections", "ira_2015-11,reuters_to_0331,zhihu_2022", "of NAME.sets.txt.gz")
	flags.StringVar(&o.measures, "measures", "jaccard,cosine", "some of jaccard and cosine")
	flags.StringVar(&o.thresholds, "thresholds", "0.8,0.6", "thresholds")
	flags.IntVar(&o.runs, "runs", 2, "turns, forwards and backwards; the least counts")
	flags.DurationVar(&o.limit, "limit", 10*time.Minute, "after which a program is ended")
	flags.StringVar(&o.json, "json", "", "write all figures to this file")
	o.distinct, o.copies = 1, 1
	if err := o.parse(flags, args, stderr, joinsUsage); err != nil {
		return err
	}
	results, err := o.joinAll(ctx)
	if err != nil {
		return err
	}
	if err := printJoins(stdout, results); err != nil {
		return err
	}
	return writeJSON(o.json, results)
}

// joinAll joins all collections by all measures and thresholds.
func (o *joinOptions) joinAll(ctx context.Context) (results []joined, err error) {
	folder, err := os.MkdirTemp("", "refrain-peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	p, err := newPeerDirs(folder)
	if err != nil {
		return nil, err
	}
	thresholds, err := parseThresholds(o.thresholds)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(o.collections, ",") {
		if err := unpack(filepath.Join(o.setFolder(), name+".sets.txt.gz"), p.sets()); err != nil {
			return nil, err
		}
		for measure := range strings.SplitSeq(o.measures, ",") {
			for _, t := range thresholds {
				found, err := o.inTurns(ctx, p, joined{Collection: name, Measure: measure, Threshold: fraction(t)})
				if err != nil {
					return nil, err
				}
				results = append(results, found...)
			}
		}
	}
	return results, nil
}

func (o *joinOptions) setFolder() string {
	if o.data != "" {
		return o.data
	}
	if data := os.Getenv("REFRAIN_DATA"); data != "" {
		return filepath.Join(data, "setjoin")
	}
	return filepath.Join("..", "shared", "data", "setjoin")
}

// sets is the file of the collection at hand.
func (p peerDirs) sets() string { return filepath.Join(p.folder, "sets") }

func unpack(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, unzipped)
	return errors.Join(err, out.Close())
}

// inTurns runs all joiners, as often as asked for, and compares what they find.
func (o *joinOptions) inTurns(ctx context.Context, p peerDirs, of joined) ([]joined, error) {
	all := joiners()
	results := make([]joined, len(all))
	var truth []pair
	for turn := range o.runs {
		for i := range all {
			if turn%2 == 1 {
				i = len(all) - 1 - i
			}
			if turn > 0 && results[i].Skipped != "" {
				continue
			}
			one, pairs := o.joinOnce(ctx, p, all[i], of)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if all[i].name == yardstickJoin {
				truth = pairs
			}
			one.compare(truth, pairs)
			if turn > 0 {
				one.Seconds, one.Wall = min(one.Seconds, results[i].Seconds), min(one.Wall, results[i].Wall)
			}
			results[i] = one
			o.step("%s: %s: %.2f s, %d pairs %s", one.title(), one.What, one.Seconds, one.Pairs, one.Skipped)
		}
	}
	return results, nil
}

// joinOnce runs one joiner. One that cannot run is skipped, with the reason.
func (o *joinOptions) joinOnce(ctx context.Context, p peerDirs, j joiner, of joined) (joined, []pair) {
	of.Peer, of.What = j.name, j.what
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	out := filepath.Join(p.folder, "pairs")
	args := append(j.args[:len(j.args):len(j.args)], "--sets", p.sets(), "--measure", of.Measure,
		"--threshold", of.Threshold, "--out", out)
	began := time.Now()
	cmd, err := p.command(ctx, j.program, args)
	if err == nil {
		err = output(cmd, &of.joinReport)
	}
	of.Wall = time.Since(began).Seconds()
	var pairs []pair
	if err == nil {
		pairs, err = readPairs(out)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("not done after %v", o.limit)
	}
	if err != nil {
		of.Skipped = err.Error()
	}
	return of, pairs
}

// compare counts what one has and the other has not; both are in order.
func (j *joined) compare(truth, pairs []pair) {
	if j.Skipped != "" {
		return
	}
	j.Pairs = len(pairs)
	common := 0
	for _, p := range pairs {
		if _, found := slices.BinarySearch(truth, p); found {
			common++
		}
	}
	j.Missing, j.Wrong = len(truth)-common, len(pairs)-common
}

// printJoins prints a table a collection, measure and threshold.
func printJoins(out io.Writer, results []joined) error {
	w := &writer{out: out}
	for i, r := range results {
		if i == 0 || results[i-1].title() != r.title() {
			w.line("\n%s\n\n| | seconds | against ours | pairs | missing | wrong | peak memory |", r.title())
			w.line("|---|---|---|---|---|---|---|")
		}
		if r.Skipped != "" {
			w.line("| %s | skipped: %s | | | | | |", r.What, r.Skipped)
			continue
		}
		w.line("| %s | %s | %s | %s | %s | %s | %s |", r.What, units.Three(r.Seconds), againstOurs(r, results),
			units.Thousands(r.Pairs), units.Thousands(r.Missing), units.Thousands(r.Wrong), units.Bytes(r.PeakBytes))
	}
	return w.err
}

func (j *joined) title() string {
	return fmt.Sprintf("**%s**, %s >= %s", j.Collection, j.Measure, j.Threshold)
}

// againstOurs is how many times as long it takes.
func againstOurs(r joined, results []joined) string {
	for _, o := range results {
		if o.Peer == "ours" && o.title() == r.title() && o.Seconds > 0 {
			return units.Times(r.Seconds / o.Seconds)
		}
	}
	return "-"
}
