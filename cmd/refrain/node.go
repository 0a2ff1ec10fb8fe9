package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/config"
	"refrain/internal/memory"
	"refrain/models"
	"refrain/shard"
	"refrain/sigstore"
	"refrain/split"
	"refrain/text"
	"refrain/topic"
	"refrain/topic/jetstream"
)

// node is one process of the service: its topics, and the roles that stand between them.
type node struct {
	cfg    config.Config
	log    *slog.Logger
	server *jetstream.Server

	sentences, events, control *jetstream.Topic
	store                      topic.Store // states of the workers, cursors of the sinks

	window    detector.Config
	detectors []*detector.Detector // one a partition
	split     *split.Split
	workers   []*shard.Worker
	registry  *models.Registry
	models    *models.Keeper
}

// openNode opens the data directory and everything on it. What fails is closed again.
func openNode(ctx context.Context, cfg config.Config, log *slog.Logger) (*node, error) {
	n := &node{cfg: cfg, log: log}
	if err := n.open(ctx); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

func (n *node) open(ctx context.Context) (err error) {
	if n.window, err = windowConfig(n.cfg.Window, n.log); err != nil {
		return err
	}
	if n.server, err = jetstream.Start(jetstream.Config{Dir: n.cfg.DataDir, Sync: n.cfg.Topics.Sync, Logger: n.log}); err != nil {
		return err
	}
	if err := n.openTopics(ctx); err != nil {
		return err
	}
	n.split, err = split.New(split.Config{
		Sentences: n.sentences, Control: n.control, MinTokens: n.cfg.Window.MinTokens,
		Lateness: max(1, n.window.Lateness), Logger: n.log, // 0 would mean the default
	})
	if err != nil {
		return err
	}
	if err := n.openModels(); err != nil {
		return err
	}
	if err := n.openWorkers(ctx); err != nil {
		return err
	}
	return errors.Join(n.keepModels(), n.observe())
}

// slack is how much longer than span and lateness the topics keep their records.
const slack = time.Hour

func (n *node) openTopics(ctx context.Context) (err error) {
	keep, events := n.ages()
	topics := []struct {
		to  **jetstream.Topic
		cfg jetstream.TopicConfig
	}{
		{&n.sentences, jetstream.TopicConfig{
			Name: "sentences", Partitions: n.cfg.Topics.Partitions, MaxAge: keep,
			MaxBytes: int64(n.cfg.Topics.SentenceBytes), Discard: jetstream.DiscardNew,
			Fixed: map[string]string{
				"min_tokens":            strconv.Itoa(n.cfg.Window.MinTokens),
				"normalisation version": strconv.Itoa(text.Version),
			},
		}},
		{&n.events, jetstream.TopicConfig{Name: "events", MaxAge: events, MaxBytes: int64(n.cfg.Topics.EventBytes), Packed: true}},
		{&n.control, jetstream.TopicConfig{Name: "control", MaxAge: max(keep, events)}},
	}
	for _, t := range topics {
		t.cfg.Logger = n.log
		if *t.to, err = n.server.OpenTopic(ctx, t.cfg); err != nil {
			return err
		}
	}
	return nil
}

// ages are how long the topics keep sentences and events.
func (n *node) ages() (sentences, events time.Duration) {
	sentences = n.window.Span + n.window.Lateness + slack
	if n.cfg.Topics.EventAge > 0 {
		return sentences, time.Duration(n.cfg.Topics.EventAge)
	}
	return sentences, sentences
}

func (n *node) openWorkers(ctx context.Context) error {
	var err error
	if n.store, err = n.server.OpenStore(ctx, "state"); err != nil {
		return err
	}
	workers := min(n.cfg.Workers, n.cfg.Topics.Partitions)
	n.shareLimits()
	for _, owned := range shard.Owners(n.cfg.Topics.Partitions, workers) {
		w, err := shard.Open(ctx, shard.Config{
			Sentences: n.sentences, Events: n.events, Control: n.control, Store: n.store,
			Rows:  n.rows,
			Owned: owned, Span: n.window.Span, Lateness: n.window.Lateness, Deployment: n.cfg.Name,
			Commit: time.Second, Retention: max(n.ages()),
			TextVersion: text.Version, Logger: n.log,
		})
		if err != nil {
			return err
		}
		n.workers = append(n.workers, w)
	}
	return nil
}

// rows is an empty window for one partition.
func (n *node) rows(int) (shard.Rows, error) {
	d, err := detector.New(n.window)
	if err != nil {
		return nil, err
	}
	n.detectors = append(n.detectors, d)
	return d, nil
}

// windowConfig makes the detector's configuration of the file's.
func windowConfig(w config.Window, log *slog.Logger) (cfg detector.Config, err error) {
	if cfg.Threshold, err = text.ParseThreshold(w.Threshold); err != nil {
		return cfg, fmt.Errorf("configuration: window.threshold: %w", err)
	}
	if cfg.Engine, err = detector.NewEngine(w.Engine, log); err != nil {
		return cfg, fmt.Errorf("configuration: window.engine: %w", err)
	}
	if cfg.Model, err = hashcodes.Open(w.ModelName(), w.Bits, w.Ones); err != nil {
		return cfg, err
	}
	if cfg.Budget = int64(w.Budget); cfg.Budget == 0 {
		cfg.Budget = memory.Total() / 2
	}
	cfg.Span, cfg.Lateness = time.Duration(w.Span), time.Duration(w.Lateness)
	cfg.MaxMatches, cfg.Flood, cfg.OmitTexts = w.MaxMatches, min(w.Flood, w.MaxMatches), !w.Texts
	cfg.OnForced = warnForced(log)
	return cfg, nil
}

// warnForced logs early expiry at most once a minute.
func warnForced(log *slog.Logger) func(sigstore.Forced) {
	sometimes := rate.Sometimes{Interval: time.Minute}
	return func(f sigstore.Forced) {
		sometimes.Do(func() {
			log.Warn("the window's budget is full: texts are dropped before their time",
				"texts", f.Groups, "effective_span", f.Span.String(), "bytes", f.Bytes)
		})
	}
}

// settle waits until everything that the sentence topic holds now is through, its events in the event topic.
func (n *node) settle(ctx context.Context) error {
	_, ends, err := n.sentences.Bounds(ctx)
	if err != nil {
		return err
	}
	for _, w := range n.workers {
		if err := w.WaitFor(ctx, ends); err != nil {
			return err
		}
	}
	return nil
}

// deadLetters is the file of rejected posts in the data directory.
func (n *node) deadLetters() string { return filepath.Join(n.cfg.DataDir, "dead-letters.jsonl") }

func (n *node) close() error {
	var errs []error
	for _, w := range n.workers {
		errs = append(errs, w.Close())
	}
	if n.server != nil {
		errs = append(errs, n.server.Close())
	}
	return errors.Join(errs...)
}

// match looks a sentence up in the rows of all workers.
func (n *node) match(ctx context.Context, x feed.Sentence) ([]feed.Match, error) {
	var all []feed.Match
	for _, w := range n.workers {
		matches, err := w.Match(ctx, []feed.Sentence{x})
		if err != nil {
			return nil, err
		}
		all = append(all, matches...)
	}
	return all, nil
}

// shareLimits gives every partition its share of what the windows may hold and of what a look-up may report.
func (n *node) shareLimits() {
	p := n.cfg.Topics.Partitions
	n.window.Budget /= int64(p)
	n.window.MaxMatches = shareOfMatches(n.window.MaxMatches, p)
	n.window.Flood = (n.window.Flood + p - 1) / p
}

// shareOfMatches is how many of so many matches may be in one of p partitions: they fall on them at random, so one may
// have more than its part, but not by more than four standard deviations.
func shareOfMatches(all, p int) int {
	part := float64(all) / float64(p)
	return min(all, int(math.Ceil(part+4*math.Sqrt(part))))
}

// behind reports whether posts wait to be looked up: then what can wait should.
func (n *node) behind() bool { return slices.ContainsFunc(n.workers, (*shard.Worker).Behind) }

// now is just after the newest post in the windows: a feed may be a replay of years ago.
func (n *node) now() feed.Time {
	var newest feed.Time
	for _, d := range n.detectors {
		newest = max(newest, d.Newest())
	}
	if newest == 0 {
		return feed.FromTime(time.Now())
	}
	return newest + 1
}

// live says why the process cannot go on, ready why it should get no posts now.
func (n *node) live(context.Context) error { return n.server.Check() }

func (n *node) ready(ctx context.Context) error {
	if err := n.server.Check(); err != nil {
		return err
	}
	_, _, err := n.sentences.Bounds(ctx)
	return err
}

// texts is the number of texts in the windows.
func (n *node) texts() (texts int64) {
	for _, d := range n.detectors {
		texts += int64(d.View().Window.Groups)
	}
	return texts
}

// isDeleted reports whether a post was deleted: events that show it are not replayed.
func (n *node) isDeleted(source, post string) bool { return n.workers[0].Deleted(source, post) }
