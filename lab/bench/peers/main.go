// Command peers runs what a user could pick instead, on the same sentences and in the same run, one thread each, and
// prints a Markdown table of speed, recall, precision and memory.
//
//	lab/bench/peers/install        # once: the others' libraries, into a cache directory
//	go run ./lab/bench/peers       # about ten minutes
//	go run ./lab/bench/peers table5
//
// Every peer is a process of its own and gets the same rows: the sentences of all files mixed in proportion. It says
// which earlier rows each row is similar to. What LSH and the Hamming indexes propose is verified by Jaccard on the
// token sets, in the peer, and that is timed too. A peer that cannot run is named, with the reason, and left out.
//
// "table5" is the paper's Table 5: 2,000 queries against 0.1 to 1 M signatures. "joins" are exact joins of whole
// collections.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"refrain/hashcodes"
	"refrain/internal/terminal"
	"refrain/text"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run is the program: its tables, and the processes of our own engines and joins that it starts.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	switch {
	case len(args) > 1 && args[0] == "engine":
		return runEngine(ctx, args[1], args[2:], stdout)
	case len(args) > 1 && args[0] == "join":
		return runJoiner(ctx, args[1], args[2:], stdout)
	case len(args) > 0 && args[0] == "joins":
		return runJoins(ctx, args[1:], stdout, stderr)
	case len(args) > 0 && args[0] == "table5":
		return runTable5(ctx, args[1:], stdout, stderr)
	default:
		return runCompare(ctx, args, stdout, stderr)
	}
}

// options are the settings of both tables.
type options struct {
	data, sentences  string
	distinct, copies int
	minTokens        int
	bits, ones       int
	json, keep       string
	runs, maxRows    int // table5: runs of a figure, rows

	thresholds, only string
	radius           int
	limit            time.Duration
	slowRows, sample int

	rows, usual int // of the collection: how many, and the size that nine of ten do not exceed
	stderr      io.Writer
	status      *terminal.Status
}

// progress shows how far the work is, on a terminal.
type progress func(format string, args ...any)

func (o *options) common(flags *flag.FlagSet) {
	flags.StringVar(&o.data, "data", "", "folder of posts, *.jsonl[.gz|.zst] (default $REFRAIN_DATA/stream, or "+
		"../shared/data/stream)")
	flags.StringVar(&o.sentences, "sentences", "", "instead: a `file` of what refrain sentences prints, - for stdin")
	flags.IntVar(&o.copies, "copies", 2, "take a text that comes again so many times at most; 1: all texts distinct")
	flags.IntVar(&o.minTokens, "min-tokens", 4, "least number of words of a sentence, as in detect")
	flags.StringVar(&o.json, "json", "", "write all figures to this file")
	flags.StringVar(&o.keep, "keep", "", "put the arrays that the peers read into this folder and leave them")
}

func (o *options) parse(flags *flag.FlagSet, args []string, stderr io.Writer, usage string) error {
	o.stderr, o.status = stderr, terminal.NewStatus(stderr, terminal.Detect(stderr))
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q (--help lists the flags)", flags.Arg(0))
	}
	if o.distinct < 1 || o.copies < 1 {
		return errors.New("--distinct and --copies want at least 1")
	}
	return nil
}

// step says on stderr what is done and what it took.
func (o *options) step(format string, args ...any) {
	o.status.Clear()
	fmt.Fprintf(o.stderr, format+"\n", args...)
}

// progress is progress, drawn at most ten times a second.
func (o *options) progress() progress {
	var last atomic.Int64
	return func(format string, args ...any) {
		now := time.Now().UnixMilli()
		if before := last.Load(); o.status.Active() && now-before > 100 && last.CompareAndSwap(before, now) {
			o.status.Set(fmt.Sprintf(format, args...))
		}
	}
}

// collect reads the sentences, mixes, numbers, signs and writes them.
func (o *options) collect(ctx context.Context, folder string) (*collection, error) {
	began := time.Now()
	streams, err := o.read(ctx)
	if err != nil {
		return nil, err
	}
	c := mix(streams, o.distinct, o.copies, o.maxRows)
	if c.rows() == 0 {
		return nil, errors.New("there is no sentence to compare")
	}
	c.number()
	if err := c.sign(o.bits, o.ones); err != nil {
		return nil, err
	}
	o.rows, o.usual = c.rows(), c.quantile(0.9)
	o.step("collected %d rows of %d distinct sets in %.0f s", c.rows(), c.distinct, time.Since(began).Seconds())
	if c.distinct < o.distinct && o.maxRows == 0 {
		o.step("there are no more: %d distinct were asked for", o.distinct)
	}
	return c, c.write(folder)
}

func (o *options) read(ctx context.Context) ([]*stream, error) {
	if o.sentences == "" {
		return readFolder(ctx, o.folder(), o.minTokens, o.progress())
	}
	in, name := io.Reader(os.Stdin), "stdin"
	if o.sentences != "-" {
		f, err := os.Open(o.sentences)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, filepath.Base(o.sentences)
	}
	s, err := readSentences(in, name, o.progress())
	return []*stream{s}, err
}

func (o *options) folder() string {
	if o.data != "" {
		return o.data
	}
	if data := os.Getenv("REFRAIN_DATA"); data != "" {
		return filepath.Join(data, "stream")
	}
	return filepath.Join("..", "shared", "data", "stream")
}

// scratch is the folder for the arrays, and how to leave it.
func (o *options) scratch() (folder string, leave func(), err error) {
	if o.keep != "" {
		return o.keep, func() {}, os.MkdirAll(o.keep, 0o755)
	}
	folder, err = os.MkdirTemp("", "refrain-peers")
	return folder, func() { os.RemoveAll(folder) }, err
}

// radiusOf is the one Hamming radius that FAISS gets. By default it loses nothing among sets of one size for nine rows of
// ten; longer ones, and partners of another size, may be farther apart.
func (o *options) radiusOf(t text.Threshold) int {
	if o.radius >= 0 {
		return o.radius
	}
	return hashcodes.Radius(text.Jaccard.At(t), o.ones, o.usual, o.usual)
}

const compareUsage = `usage: peers [flags]      speed, recall, precision and memory of all peers
       peers table5 [flags]   the paper's Table 5 (--help there lists its flags)
       peers joins [flags]    exact joins of whole collections

Run lab/bench/peers/install first; what is not installed is skipped. Flags:`

func runCompare(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	o.common(flags)
	flags.IntVar(&o.distinct, "distinct", 1_000_000, "distinct token sets to take")
	flags.StringVar(&o.thresholds, "thresholds", "0.8,0.6", "Jaccard thresholds")
	flags.StringVar(&o.only, "only", "", "run only these peers, comma-separated, and the yardstick ("+names()+")")
	flags.IntVar(&o.bits, "bits", 64, "bits of a signature, for FAISS and our own engines")
	flags.IntVar(&o.ones, "ones", 1, "ones of a token's code")
	flags.IntVar(&o.radius, "radius", -1, "Hamming radius for FAISS; -1: by the threshold and the sizes of the sets")
	flags.DurationVar(&o.limit, "limit", 30*time.Second,
		"processor time that a peer gets to match at one threshold; the yardstick may always finish")
	flags.IntVar(&o.slowRows, "slow-rows", 200_000, "rows for a peer that is slow and cannot stop halfway (minhash-lsh)")
	flags.IntVar(&o.sample, "check", 100, "rows for which the truth is checked against brute force")
	if err := o.parse(flags, args, stderr, compareUsage); err != nil {
		return err
	}
	thresholds, err := parseThresholds(o.thresholds)
	if err != nil {
		return err
	}
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	folder, leave, err := o.scratch()
	if err != nil {
		return err
	}
	defer leave()
	c, err := o.collect(ctx, folder)
	if err != nil {
		return err
	}
	results, err := o.compare(ctx, c, folder, thresholds, chosen)
	if err != nil {
		return err
	}
	summary := o.summarise(c, results)
	if err := summary.print(stdout); err != nil {
		return err
	}
	return writeJSON(o.json, summary)
}

func names() string {
	var all []string
	for _, p := range peers() {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

func parseThresholds(list string) (all []text.Threshold, err error) {
	for s := range strings.SplitSeq(list, ",") {
		t, err := text.ParseThreshold(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// chosen are the peers to run, the yardstick first, since it tells the truth.
func (o *options) chosen() (chosen []peer, err error) {
	all := peers()
	at := slices.IndexFunc(all, func(p peer) bool { return p.name == yardstick })
	chosen = append(chosen, all[at])
	all = slices.Delete(all, at, at+1)
	if o.only == "" {
		return append(chosen, all...), nil
	}
	for name := range strings.SplitSeq(o.only, ",") {
		name = strings.TrimSpace(name)
		at := slices.IndexFunc(all, func(p peer) bool { return p.name == name })
		if at >= 0 {
			chosen = append(chosen, all[at])
		} else if name != yardstick {
			return nil, fmt.Errorf("--only: there is no peer %q (there are %s)", name, names())
		}
	}
	return chosen, nil
}

// compare runs all peers at all thresholds, one after the other.
func (o *options) compare(ctx context.Context, c *collection, folder string, thresholds []text.Threshold,
	chosen []peer) (results []result, err error) {
	p, err := newPeerDirs(folder)
	if err != nil {
		return nil, err
	}
	for _, t := range thresholds {
		var truth []pair
		for _, w := range chosen {
			debug.FreeOSMemory() // of what came before, so that the peer has the machine
			o.status.Set(fmt.Sprintf("%s, threshold %s …", w.what, t))
			r, pairs, err := p.run(ctx, w, o, t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			if w.name == yardstick {
				if truth, err = o.acceptTruth(c, t, r, pairs); err != nil {
					return nil, err
				}
			}
			r.score = c.scored(truth, pairs, r.Rows, r.Every)
			o.logResult(&r)
			results = append(results, r)
		}
	}
	return results, nil
}

// acceptTruth makes what the yardstick found the truth, once it is checked.
func (o *options) acceptTruth(c *collection, t text.Threshold, r result, pairs []pair) ([]pair, error) {
	if r.Skipped != "" || r.Rows != c.rows() {
		return nil, fmt.Errorf("%s: %d of %d rows, no truth: %s", yardstick, r.Rows, c.rows(), r.Skipped)
	}
	o.status.Set("checking the truth …")
	return pairs, c.check(t, pairs, o.sample)
}

func (o *options) logResult(r *result) {
	if r.Skipped != "" {
		o.step("threshold %s: %s: skipped: %s", r.Threshold, r.What, r.Skipped)
		return
	}
	o.step("threshold %s: %s: %.2f µs a row, %d of %d pairs, %.0f s", r.Threshold, r.What, r.microseconds(), r.Found,
		r.True, r.TotalSeconds)
}

// writeJSON writes a value for machines, if a file is named.
func writeJSON(path string, value any) error {
	if path == "" {
		return nil
	}
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
