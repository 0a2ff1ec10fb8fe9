package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"refrain/feed"
	"refrain/topic"
)

// receivedBytes bounds the records that one turn decodes, but for the last one: decoded, they take up to sixteen times as
// much.
const receivedBytes = 2 << 20

// receive reads the next records and decodes each once, for all owned partitions. What is too much for one turn stays for
// the next.
func (w *Worker) receive(ctx context.Context) ([]*item, error) {
	if err := w.openReader(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	records, err := w.fetch(ctx)
	if err != nil {
		return nil, err
	}
	items, size, sentences := make([]*item, 0, len(records)), 0, 0
	for i := range records {
		if size += len(records[i].Data); i > 0 && (size > receivedBytes || sentences >= int(w.bound)) {
			w.pending = records[i:]
			break
		}
		x, err := w.decode(&records[i])
		if err != nil {
			w.dropReader()
			if len(items) > 0 { // these first; then it is received again
				return items, nil
			}
			return nil, err
		}
		x.redelivered = w.redeliveries.of.observe(x.partition, x.position, x.stamp, x.posts())
		items = append(items, x)
		sentences += len(x.batch.Sentences)
		w.next[x.partition] = x.position + 1
	}
	if n := len(items); n > 0 && w.cfg.Sentences.Ordered() {
		w.reach(items[n-1].position + 1)
	}
	return items, nil
}

// reach notes that nothing lies below a position but what was received.
func (w *Worker) reach(position int64) {
	w.redeliveries.of.reach(position)
	for p := range w.next {
		w.next[p] = max(w.next[p], position)
	}
}

// fetch waits a little for records. Having none is no error; records that the topic has dropped are lost, and logged.
func (w *Worker) fetch(ctx context.Context) ([]topic.Record, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	if records := w.pending; len(records) > 0 {
		w.pending = nil
		return records, nil
	}
	wait, cancel := context.WithTimeout(ctx, w.cfg.Poll)
	defer cancel()
	records, err := w.reader.Fetch(wait)
	var truncated *topic.ErrTruncated
	switch {
	case err == nil:
		return records, nil
	case errors.As(err, &truncated) && truncated.Start <= w.needs(truncated.Partition):
		w.logUnobserved(truncated)
		w.next[truncated.Partition] = max(w.next[truncated.Partition], truncated.Start)
		return nil, nil
	case errors.As(err, &truncated):
		w.skipTruncated(ctx, truncated)
		return nil, nil
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return nil, nil
	}
	w.dropReader()
	return nil, fmt.Errorf("read sentence topic: %w", err)
}

// skipTruncated goes on behind records that retention has dropped before they were read.
func (w *Worker) skipTruncated(ctx context.Context, truncated *topic.ErrTruncated) {
	p := truncated.Partition
	w.cfg.Logger.Error("records of the window are lost: the sentence topic has dropped them before they were read",
		"partition", p, "from", truncated.From, "start", truncated.Start)
	w.metrics.countLost(ctx, p)
	w.next[p] = max(w.next[p], truncated.Start)
	for _, q := range w.owned {
		q.lock.Lock()
		q.skip(p, truncated.Start)
		q.lock.Unlock()
	}
	w.moved = true
}

// logUnobserved warns that records are gone that were only to be observed, for what comes after them.
func (w *Worker) logUnobserved(truncated *topic.ErrTruncated) {
	w.cfg.Logger.Warn("the sentence topic has dropped records that tell which posts without a usable time are sent "+
		"again: some may be taken for further versions",
		"partition", truncated.Partition, "from", truncated.From, "start", truncated.Start)
}

func (w *Worker) decode(r *topic.Record) (*item, error) {
	x := &item{partition: r.Partition, position: r.Position, stamp: r.Time.UnixNano(), trace: r.Trace, origin: r.Origin,
		size: len(r.Data)}
	b, err := topic.DecodeBatch(r.Data)
	switch {
	case errors.Is(err, topic.ErrBatchCorrupt):
		// It stays unreadable however often it is read, and the rest of the topic must go on.
		w.cfg.Logger.Error("unreadable sentence record left out", "partition", r.Partition, "position",
			r.Position, "error", err)
		w.metrics.corruptRecord(r.Partition)
		return x, nil
	case err != nil:
		return nil, fmt.Errorf("read sentence topic: partition %d, position %d: %w", r.Partition, r.Position, err)
	}
	x.batch = b
	x.size = decodedSize(len(r.Data), &b)
	w.checkVersion(x)
	return x, nil
}

// decodedSize is what a record of so many bytes takes once it is decoded: its sentences, one array of their tokens, and a
// copy of the record for their strings.
func decodedSize(record int, b *topic.Batch) int {
	size := record + len(b.Sentences)*int(unsafe.Sizeof(feed.Sentence{}))
	for i := range b.Sentences {
		size += 8 * len(b.Sentences[i].Tokens)
	}
	return size
}

func (w *Worker) checkVersion(x *item) {
	v := x.batch.TextVersion
	if w.warned || w.cfg.TextVersion == 0 || v == w.cfg.TextVersion {
		return
	}
	w.warned = true
	w.cfg.Logger.Warn("sentences of another version of the normalisation: repeats across versions may go unseen",
		"version", v, "want", w.cfg.TextVersion, "partition", x.partition, "position", x.position)
}

// openReader opens the reader where there is none, and again where other partitions are to be read than it does.
func (w *Worker) openReader(ctx context.Context) error {
	want := w.toRead()
	if w.reader != nil && slices.Equal(want, w.reading) {
		return nil
	}
	w.dropReader()
	from := w.redeliveries.start(w.next)
	for p, read := range want {
		if !read {
			from[p] = -1
		}
	}
	r, err := w.cfg.Sentences.Open(ctx, from)
	if err != nil {
		return fmt.Errorf("open sentence topic: %w", err)
	}
	w.reader, w.reading = r, want
	return nil
}

// toRead says which partitions to read: all, unless too much waits. Then only those whose rows are waited for, until
// half of it is gone.
func (w *Worker) toRead() []bool {
	all := slices.Repeat([]bool{true}, len(w.next))
	limit := w.cfg.MaxQueue
	if slices.Contains(w.reading, false) {
		limit /= 2
	}
	if w.queue.bytes <= limit {
		return all
	}
	awaited := w.awaited()
	if !slices.Contains(awaited, true) {
		return all
	}
	return awaited
}

// awaited are the owned partitions without which some record cannot be looked up.
func (w *Worker) awaited() []bool {
	awaited := make([]bool, len(w.next))
	for _, q := range w.owned {
		for p, items := range w.queue.parts {
			i := slices.IndexFunc(items, func(x *item) bool { return x.position >= q.state.LookupFrom[p] })
			awaited[q.id] = awaited[q.id] || i >= 0 && items[i].ends != nil && !q.holds(items[i], w.cfg.Delta)
		}
	}
	return awaited
}

func (w *Worker) dropReader() {
	w.pending = nil // they come again
	if w.reader != nil {
		w.reader.Close()
		w.reader = nil
	}
}

// unread gives records back: they will be received once more.
func (w *Worker) unread(items []*item) {
	if len(items) == 0 {
		return
	}
	for i := len(items) - 1; i >= 0; i-- {
		w.next[items[i].partition] = items[i].position
	}
	w.dropReader()
}
