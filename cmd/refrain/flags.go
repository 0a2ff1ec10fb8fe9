package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"refrain/detector"
	"refrain/hashcodes"
	"refrain/ingest/file"
	"refrain/ingest/mapping"
	"refrain/internal/units"
	"refrain/text"
)

// inputFlags say which posts to read.
type inputFlags struct {
	mapping.Config
	format, records, encoding, source string
	strict                            bool
	batch                             int
}

func (f *inputFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.format, "format", "",
		"jsonl, json, text (one post a line), csv (or tabs, semicolons) or xml (RSS, Atom); by default by the file itself")
	to.StringVar(&f.records, "records", "", "where the posts are in a file of JSON, as data or chats.list.messages")
	to.StringVar(&f.Map, "map", "",
		"other field names: ours=theirs, as in text=full_text|text,id=uri,author=user.name; + joins: text=title+body")
	to.StringVar(&f.Preset, "preset", "", "the export of a platform: "+strings.Join(mapping.PresetNames(), ", "))
	to.BoolVar(&f.HTML, "html", false, "texts are HTML: compare what a reader sees of it")
	to.StringVar(&f.Timezone, "tz", "", "zone of times without an offset, as Europe/Berlin or UTC; without it they are refused")
	to.StringVar(&f.TimeFormat, "time-format", "", "what times look like, as strftime has it: '%d.%m.%Y %H:%M'")
	to.StringVar(&f.encoding, "encoding", "", "of a file that is not UTF-8, as windows-1252, utf-16 or shift_jis")
	to.StringVar(&f.source, "source", "", "source of the posts that name none")
	to.BoolVar(&f.strict, "strict", false, "stop at the first malformed line instead of skipping it")
	to.IntVar(&f.batch, "batch", 500, "posts read and handed on at once")
}

// addMeta adds what only those need who write events.
func (f *inputFlags) addMeta(to *pflag.FlagSet) {
	to.StringSliceVar(&f.Keep, "keep", nil,
		"fields of a post that its events have too, in later.meta: as in url,user.followers")
	to.StringVar(&f.Link, "link", "", "template of a post's address, for later.link: as in https://x.com/{author}/status/{id}")
}

// flagged is an error of a mapping with the flag that it is about.
func (f *inputFlags) flagged(err error) error {
	if wrong := (*mapping.Error)(nil); errors.As(err, &wrong) {
		name := strings.ReplaceAll(wrong.Key, "_", "-")
		if name == "timezone" {
			name = "tz"
		}
		return usage("--%s: %w", name, wrong.Err)
	}
	return err
}

func (m *Main) open(f *inputFlags, args []string) (*file.Source, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	path := "-"
	if len(args) > 0 {
		path = args[0]
	}
	cfg := file.Config{
		Path: path, Stdin: m.Stdin, Format: f.format, RecordsAt: f.records, Encoding: f.encoding,
		SourceName: f.source, Strict: f.strict, BatchPosts: f.batch, OnRecognised: m.announceFormat,
	}
	if err := f.flagged(f.File(&cfg)); err != nil {
		return nil, err
	}
	return file.Open(cfg)
}

// announceFormat says what a file was found to be, whose name does not say it.
func (m *Main) announceFormat(path, what string) {
	fmt.Fprintf(m.Stderr, "refrain: %s: read as %s\n", path, what)
}

// check refuses what cannot be meant.
func (f *inputFlags) check() error {
	if f.format != "" && !slices.Contains(file.Formats, f.format) {
		return usage("--format %q: want %s", f.format, strings.Join(file.Formats, ", "))
	}
	if err := file.CheckEncoding(f.encoding); err != nil {
		return usage("--encoding %w", err)
	}
	if f.batch < 1 {
		return usage("--batch %d: want 1 or more", f.batch)
	}
	return nil
}

// modelFlags say which codes signatures are made of.
type modelFlags struct {
	name       string // default, md5, or a file
	bits, ones int    // of md5
	flags      *pflag.FlagSet
}

func (f *modelFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.name, "model", "default",
		"codes of words: default, which is built in, md5, which are hashed, or a model's file; the events are the same")
	to.IntVar(&f.bits, "bits", hashcodes.DefaultBits,
		"bits of a signature of hashed codes: 32, 64, 128 or 256; with this or --ones alone the model is md5")
	to.IntVar(&f.ones, "ones", hashcodes.DefaultOnes, "bits that a token sets, at most, of hashed codes")
	f.flags = to
}

func (f *modelFlags) model() (*hashcodes.Model, error) {
	switch {
	case f.hashed():
		model, err := hashcodes.NewMD5(f.bits, f.ones)
		if err != nil {
			return nil, usage("--bits %d --ones %d: %w", f.bits, f.ones, err)
		}
		return model, nil
	case f.sized():
		return nil, usage("--bits and --ones are those of hashed codes: leave them out with --model %s, which has its "+
			"own, or say --model md5", f.name)
	case f.name == "-":
		return nil, usage("model -: a model is read from a file, not from stdin")
	}
	return hashcodes.Open(f.name, f.bits, f.ones)
}

// hashed says whether the codes are md5's: asked for by name, or by nothing but their size.
func (f *modelFlags) hashed() bool {
	return f.name == "md5" || f.sized() && !f.flags.Changed("model")
}

// sized says whether flags gave the size of the codes.
func (f *modelFlags) sized() bool {
	return f.flags != nil && (f.flags.Changed("bits") || f.flags.Changed("ones"))
}

// reserved says whether a file of that name cannot be named as a model: the name means something else.
func reserved(name string) bool { return name == "default" || name == "md5" || name == "-" }

func addMinTokens(to *pflag.FlagSet, value *int) {
	to.IntVar(value, "min-tokens", text.DefaultMinTokens, "least number of words of a sentence that is compared")
}

func addThreshold(to *pflag.FlagSet, value *string) {
	to.StringVar(value, "threshold", text.DefaultThreshold.Decimal(), "least similarity, as a decimal or a fraction")
}

func addMeasure(to *pflag.FlagSet, value *string) {
	to.StringVar(value, "measure", text.Jaccard.String(),
		"similarity of two sentences by their distinct words: "+strings.Join(text.Similarities, ", "))
}

// parseMeasure reads both flags.
func parseMeasure(measure, threshold string) (m text.Measure, err error) {
	if m.Similarity, err = text.ParseSimilarity(measure); err == nil {
		err = m.Similarity.Check()
	}
	if err != nil {
		return m, usage("--%w", err) // which names the measure
	}
	if m.Threshold, err = text.ParseThreshold(threshold); err != nil {
		return m, usage("--threshold: %w", err)
	}
	return m, nil
}

// repeatFlags say what counts as a repeat.
type repeatFlags struct{ measure, threshold, span, lateness string }

func (f *repeatFlags) add(to *pflag.FlagSet) {
	window := detector.Default()
	addMeasure(to, &f.measure)
	addThreshold(to, &f.threshold)
	to.StringVar(&f.span, "span", units.FormatDuration(window.Span), "how far back a repeat may lie: 90m, 24h, 7d")
	to.StringVar(&f.lateness, "lateness", units.FormatDuration(window.Lateness),
		"how far behind the newest posts a post may come")
}

// window is the default one with what the flags say.
func (f *repeatFlags) window() (cfg detector.Config, err error) {
	cfg = detector.Default()
	measure, err := parseMeasure(f.measure, f.threshold)
	if err != nil {
		return cfg, err
	}
	cfg.Similarity, cfg.Threshold = measure.Similarity, measure.Threshold
	if cfg.Span, err = units.ParseDuration(f.span); err != nil {
		return cfg, usage("--span: %w", err)
	}
	if cfg.Lateness, err = units.ParseDuration(f.lateness); err != nil {
		return cfg, usage("--lateness: %w", err)
	}
	return cfg, nil
}

// windowFlags say what counts as a match, and how the window is kept.
type windowFlags struct {
	repeatFlags
	budget, engine        string
	minTokens, maxMatches int
	texts                 bool
	partitions, workers   int
	model                 modelFlags
}

func (f *windowFlags) add(to *pflag.FlagSet) {
	f.repeatFlags.add(to)
	addMinTokens(to, &f.minTokens)
	to.IntVar(&f.maxMatches, "max-matches", 0,
		"texts that one look-up reports, at most; 0: all, which of n variants of one text are n²/2")
	to.BoolVar(&f.texts, "texts", true,
		"keep the texts, to show the earlier one in events; --texts=false saves a third of the memory")
	to.StringVar(&f.budget, "budget", "0", "bytes the window and the unpacking of FILE may hold, as in 512MB; 0: no limit")
	to.StringVar(&f.engine, "engine", detector.DefaultEngine,
		"how candidates are found: auto, prefix, scan or cuda (GPUs, as CUDA_VISIBLE_DEVICES says); the events are the same")
	to.IntVar(&f.partitions, "partitions", 1, "windows to cut the feed into; the events are the same")
	to.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "goroutines that serve the partitions")
	f.model.add(to)
}

// config checks the flags; what the caller may tell is in the error. There will be so many windows at once at most.
func (f *windowFlags) config(ctx context.Context, windows int) (cfg detector.Config, err error) {
	if cfg, err = f.window(); err != nil {
		return cfg, err
	}
	if cfg.Budget, err = units.ParseBytes(f.budget); err != nil {
		return cfg, usage("--budget: %w", err)
	}
	if err = units.CheckBudget(cfg.Budget); err != nil {
		return cfg, usage("--budget %q is %w; 0 is no limit", f.budget, err)
	}
	if cfg.Span < time.Millisecond || cfg.Lateness < 0 {
		return cfg, usage("--span wants 1ms or more, --lateness 0 or more")
	}
	const maxPartitions = 1024 // as in serve; each is a window of its own
	switch {
	case f.minTokens < 0 || f.maxMatches < 0:
		return cfg, usage("--min-tokens %d, --max-matches %d: want 0 or more", f.minTokens, f.maxMatches)
	case f.partitions < 1 || f.partitions > maxPartitions:
		return cfg, usage("--partitions %d: want 1 to %d", f.partitions, maxPartitions)
	case f.workers < 1:
		return cfg, usage("--workers %d: want 1 or more", f.workers)
	}
	if !slices.Contains(detector.Engines, f.engine) {
		return cfg, usage("--engine %q: want %s", f.engine, strings.Join(detector.Engines, ", "))
	}
	cfg.MaxMatches, cfg.Flood, cfg.OmitTexts = f.maxMatches, f.maxMatches, !f.texts
	cfg.MaxLater, cfg.FloodLater = f.maxMatches, f.maxMatches
	if cfg.Model, err = f.model.model(); err != nil {
		return cfg, err
	}
	dealer := detector.DefaultDealer()
	dealer.Engine, dealer.GPUs.Windows = f.engine, windows
	if cfg.Dealer, err = detector.NewDealer(ctx, dealer); err != nil { // until the process ends
		return cfg, fmt.Errorf("--engine %w", err)
	}
	return cfg, nil
}
