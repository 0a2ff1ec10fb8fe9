package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"refrain/ingest"
	"refrain/internal/rotated"
	"refrain/topic/lines"
)

// Logs of lines: what was refused, and what was delivered. One process keeps them in its data directory. Several that share
// topics keep them there too, since nobody goes from machine to machine to look for a post that was refused.
type lineLog struct {
	name, file, topic string
	maxBytes          func(*Config) int64 // of the topic, which servers of NATS set aside
}

var (
	deadPosts = lineLog{"posts", "dead-letters.jsonl", "dead-letters", letterBytes}
	deadSunk  = lineLog{"events", "dead-events.jsonl", "dead-events", letterBytes}
	attempts  = lineLog{"deliveries", "webhooks.log", "deliveries", func(*Config) int64 { return deliveryLogBytes * (deliveryLogs + 1) }}
)

// The delivery log keeps its size: the file and two older ones.
const (
	deliveryLogBytes = 16 << 20
	deliveryLogs     = 2
)

func letterBytes(c *Config) int64 { return int64(c.DeadLetters.Bytes) }

// openDeadLetters opens a file of dead letters in the data directory, or the topic that is in its place.
func (n *node) openDeadLetters(ctx context.Context, of lineLog) (*ingest.DeadLetters, error) {
	if !n.cfg.onBroker() {
		return ingest.OpenDeadLetters(ingest.DeadLetterConfig{
			Name: of.name, Path: filepath.Join(n.cfg.DataDir, of.file),
			MaxBytes: int64(n.cfg.DeadLetters.Bytes), Old: n.cfg.DeadLetters.Files, Logger: n.log,
		})
	}
	log, in, err := n.openLog(ctx, of)
	if err != nil {
		return nil, err
	}
	letters, err := ingest.ShareDeadLetters(of.name, log)
	if err != nil {
		return nil, err
	}
	n.letterDrops = append(n.letterDrops, &letterDrops{topic: in, name: of.topic, letters: letters, log: n.log, known: -1})
	return letters, nil
}

func (n *node) openLog(ctx context.Context, of lineLog) (*lines.Log, openTopic, error) {
	t, err := n.broker.openTopic(ctx, topicSpec{name: of.topic, partitions: 1, maxBytes: of.maxBytes(&n.cfg)})
	if err != nil {
		return nil, nil, err
	}
	log, err := lines.New(of.topic, t)
	return log, t, err
}

// deliveryLog is that of the webhooks.
type deliveryLog interface {
	io.WriteCloser
	Backward(before string, visit func(line []byte, place string) bool) error
}

// openDeliveryLog opens the log of what webhooks were sent. On a broker it is written behind the deliveries: they do not
// wait for it.
func (n *node) openDeliveryLog(ctx context.Context) (deliveryLog, error) {
	if !n.cfg.onBroker() {
		return rotated.Open(rotated.Config{Path: filepath.Join(n.cfg.DataDir, attempts.file), MaxBytes: deliveryLogBytes, Old: deliveryLogs})
	}
	log, _, err := n.openLog(ctx, attempts)
	if err != nil {
		return nil, err
	}
	return sharedDeliveries{lines.NewWriteBehind(attempts.topic, log, n.log), log}, nil
}

// sharedDeliveries is written at one end and read at the other.
type sharedDeliveries struct {
	*lines.WriteBehind
	log *lines.Log
}

func (d sharedDeliveries) Backward(before string, visit func(line []byte, place string) bool) error {
	return d.log.Backward(before, visit)
}

// letterDrops notices that a topic of dead letters has dropped some to make room for others, whoever wrote those.
type letterDrops struct {
	topic   openTopic
	name    string
	letters *ingest.DeadLetters
	log     *slog.Logger
	known   int64 // how many it had ever dropped; -1: not known yet
}

// lettersEvery is how often it looks.
const lettersEvery = time.Minute

func (n *node) watchLetters(ctx context.Context) error {
	look := func(ctx context.Context) {
		for _, d := range n.letterDrops {
			d.poll(ctx)
		}
	}
	look(ctx)
	return every(ctx, lettersEvery, look)
}

func (d *letterDrops) poll(ctx context.Context) {
	size, err := d.topic.Size(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Warn("topic: retrying size", "topic", d.name, "error", err)
		}
		return
	}
	if dropped := size.Dropped - d.known; d.known >= 0 && dropped > 0 {
		d.letters.Dropped(dropped)
		d.log.Error("the oldest dead letters are dropped to make room for others", "topic", d.name, "letters", dropped,
			"hint", "fetch them in time (refrain topics print), or raise dead_letters.bytes")
	}
	d.known = size.Dropped
}

// PrintedLogs are the names that PrintLog knows.
var PrintedLogs = []string{deadPosts.topic, deadSunk.topic, attempts.topic}

// PrintLog writes the lines of one of PrintedLogs to w, the oldest first: those in the data directory, or on the broker. A
// service may be running.
func PrintLog(ctx context.Context, cfg Config, name string, w io.Writer) (err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	of, err := findLog(name)
	if err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	each := func(line []byte) error {
		_, err := w.Write(append(line[:len(line):len(line)], '\n'))
		return err
	}
	if !cfg.onBroker() {
		return printFiles(&cfg, of, each)
	}
	n := &node{cfg: cfg, log: cfg.Logger, now: time.Now}
	defer func() { err = errors.Join(err, n.close()) }()
	if n.broker, err = n.openBroker(ctx); err != nil {
		return err
	}
	log, _, err := n.openLog(ctx, of)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = log.Close() })() // the error of ctx says what happened
	return log.Forward(each)
}

func findLog(name string) (lineLog, error) {
	for _, of := range []lineLog{deadPosts, deadSunk, attempts} {
		if of.topic == name {
			return of, nil
		}
	}
	return lineLog{}, fmt.Errorf("%q: want one of %q", name, PrintedLogs)
}

func printFiles(cfg *Config, of lineLog, each func([]byte) error) error {
	path := filepath.Join(cfg.DataDir, of.file)
	if _, err := os.Stat(path); err != nil {
		return err
	}
	file, err := rotated.Open(rotated.Config{Path: path, MaxBytes: 1, Old: max(cfg.DeadLetters.Files, deliveryLogs)})
	if err != nil {
		return err
	}
	return errors.Join(file.Forward(each), file.Close())
}
