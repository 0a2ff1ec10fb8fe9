package migrate

import (
	"context"
	"fmt"

	"refrain/internal/retry"
	"refrain/topic"
)

// How much is appended at a time.
const (
	maxRecords = 1000
	maxBytes   = 8 << 20
)

// copyAll copies a topic that is dealt out as before.
func (cfg *Config) copyAll(ctx context.Context, name string, from, to topic.Topic) (int64, error) {
	start, end, err := from.Bounds(ctx)
	if err != nil {
		return 0, fmt.Errorf("topic of %s: %w", name, err)
	}
	if from.Partitions() != to.Partitions() {
		return 0, fmt.Errorf("topic of %s: %d partitions cannot become %d", name, from.Partitions(), to.Partitions())
	}
	return cfg.copy(ctx, name, source{from, start, end}, &appender{to: to, log: cfg.Logger}, func(r topic.Record) ([]topic.Record, error) {
		return []topic.Record{r}, nil
	})
}

func (cfg *Config) copySentences(ctx context.Context, old states) (int64, error) {
	from, to := cfg.From.Sentences, cfg.To.Sentences
	_, end, err := from.Bounds(ctx)
	if err != nil {
		return 0, fmt.Errorf("sentence topic: %w", err)
	}
	deal := func(r topic.Record) ([]topic.Record, error) { return []topic.Record{r}, nil }
	if from.Partitions() != to.Partitions() {
		deal = newDealer(from.Partitions(), to.Partitions()).deal
	}
	return cfg.copy(ctx, "sentences", source{from, old.from, end}, &appender{to: to, log: cfg.Logger}, deal)
}

// copy hands every record of a source to deal, and appends what that makes of it.
func (cfg *Config) copy(ctx context.Context, name string, from source, to *appender,
	deal func(topic.Record) ([]topic.Record, error)) (n int64, err error) {
	of := from.records()
	err = from.each(ctx, func(r topic.Record) error {
		out, err := deal(r)
		if err != nil {
			return fmt.Errorf("partition %d, position %d: %w", r.Partition, r.Position, err)
		}
		n++
		if cfg.Progress != nil && n%maxRecords == 0 {
			cfg.Progress(name, n, of)
		}
		return to.add(ctx, out)
	})
	if err == nil {
		err = to.flush(ctx)
	}
	if err != nil {
		return n, fmt.Errorf("copy the topic of %s: %w", name, err)
	}
	if cfg.Progress != nil {
		cfg.Progress(name, n, n)
	}
	return n, nil
}

// appender appends many records at a time, with the stamps that they had.
type appender struct {
	to      topic.Topic
	log     logger
	pending []topic.Record
	bytes   int
}

type logger interface{ Warn(msg string, args ...any) }

func (a *appender) add(ctx context.Context, records []topic.Record) error {
	for _, r := range records {
		a.pending = append(a.pending, r)
		a.bytes += len(r.Data)
	}
	if len(a.pending) < maxRecords && a.bytes < maxBytes {
		return nil
	}
	return a.flush(ctx)
}

// maxAttempts bounds how often an append is made: a record that is there twice is a redelivery.
const maxAttempts = 10

func (a *appender) flush(ctx context.Context) error {
	pauses := retry.Quick()
	for attempt := 1; ; attempt++ {
		err := a.to.Append(ctx, a.pending)
		if err == nil {
			a.pending, a.bytes = a.pending[:0], 0
			return nil
		}
		if attempt == maxAttempts || ctx.Err() != nil {
			return err
		}
		a.log.Warn("migrate: retrying append", "attempt", attempt, "error", err)
		if err := retry.Sleep(ctx, pauses.NextBackOff()); err != nil {
			return err
		}
	}
}
