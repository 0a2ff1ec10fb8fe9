package migrate

import (
	"slices"

	"refrain/feed"
	"refrain/topic"
)

// dealer deals sentences out to another number of partitions: each by the hash of its token set, as split does.
//
// A watermark speaks of what stands before it in its partition. The sentences before it go to several partitions now, and
// those of one new partition come from several old ones. So a writer's clock is written when all old partitions have
// shown it, into all new ones, as split does with the posts of a batch.
type dealer struct {
	partitions int // new
	writers    map[uint64]*clocks
	old        int
}

// clocks are the last watermarks of one writer.
type clocks struct {
	last    []*topic.Watermark // per old partition, nil: none yet
	written topic.Watermark
}

func newDealer(old, partitions int) *dealer {
	return &dealer{partitions: partitions, old: old, writers: map[uint64]*clocks{}}
}

// deal makes one record for each new partition that some sentence of r belongs to.
func (d *dealer) deal(r topic.Record) ([]topic.Record, error) {
	b, err := topic.DecodeBatch(r.Data)
	if err != nil {
		return nil, err
	}
	if b.Canary != nil { // nobody waits for it any more
		return nil, nil
	}
	parts := make([][]feed.Sentence, d.partitions)
	for i := range b.Sentences {
		p := b.Sentences[i].Group.Partition(d.partitions)
		parts[p] = append(parts[p], b.Sentences[i])
	}
	var out []topic.Record
	short := b.TooShort
	for p, sentences := range parts {
		if len(sentences) > 0 {
			out = append(out, d.record(r, p, topic.Batch{Sentences: sentences, TooShort: short, TextVersion: b.TextVersion}))
			short = 0
		}
	}
	if short > 0 {
		out = append(out, d.record(r, 0, topic.Batch{TooShort: short, TextVersion: b.TextVersion}))
	}
	return d.appendWatermarks(out, r, &b), nil
}

func (d *dealer) record(r topic.Record, p int, b topic.Batch) topic.Record {
	r.Partition, r.Data = p, b.Append(nil)
	return r
}

// appendWatermarks adds what b says of its writer's clock, once all old partitions have said it.
func (d *dealer) appendWatermarks(out []topic.Record, r topic.Record, b *topic.Batch) []topic.Record {
	if b.Watermark == nil {
		return out
	}
	w := d.writers[b.Watermark.Writer]
	if w == nil {
		w = &clocks{last: make([]*topic.Watermark, d.old)}
		d.writers[b.Watermark.Writer] = w
	}
	w.last[r.Partition] = b.Watermark
	if slices.Contains(w.last, nil) {
		return out
	}
	now := w.lowest()
	if now == w.written {
		return out
	}
	w.written = now
	for p := range d.partitions {
		out = append(out, d.record(r, p, topic.Batch{Watermark: &now, TextVersion: b.TextVersion}))
	}
	return out
}

// lowest is the clock that all old partitions have reached. The writer is idle where it is idle in all of them.
func (c *clocks) lowest() topic.Watermark {
	lowest := *c.last[0]
	for _, m := range c.last[1:] {
		if m.Time < lowest.Time {
			lowest.Time, lowest.Source = m.Time, m.Source
		}
		lowest.Newest = min(lowest.Newest, m.Newest)
		lowest.Idle = lowest.Idle && m.Idle
	}
	return lowest
}
