package webhook

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"refrain/feed"
	"refrain/publish"
)

// BatchType is the CloudEvents type of several events in one.
const BatchType = "dev.refrain.reuse.batch.v1"

// maxBatchBytes ends a batch before it has all the events it might have: receivers bound what they read.
const maxBatchBytes = 1 << 20

// delivery is what one request carries: an event, or a batch of them.
type delivery struct {
	lane    *lane
	events  []publish.Event
	batch   bool // sent as a batch, of however many
	attempt int  // made so far
	counted int  // failures that were no outage's
	first   time.Time
	failed  time.Time // the last failure
	due     time.Time // of the next attempt
	reason  string    // why it was given up
}

// id is the webhook-id: the same for the same content, in every attempt and after every restart.
func (d *delivery) id() string {
	if !d.batch && d.events[0].ID != "" {
		return d.events[0].ID
	}
	var h xxh3.Hasher
	for i := range d.events {
		fmt.Fprintf(&h, "%d:%s", len(d.events[i].ID), d.events[i].ID)
		if d.events[i].ID == "" {
			h.Write(d.events[i].Data)
		}
	}
	return fmt.Sprintf("%x", h.Sum128().Bytes())
}

// body is what is sent and signed.
func (d *delivery) body() []byte {
	if !d.batch {
		return d.events[0].Data
	}
	type data struct {
		Events []json.RawMessage `json:"events"`
	}
	b := struct {
		SpecVersion string `json:"specversion"`
		Type        string `json:"type"`
		Source      string `json:"source"`
		ID          string `json:"id"`
		Time        string `json:"time,omitempty"`
		ContentType string `json:"datacontenttype"`
		DataSchema  string `json:"dataschema,omitempty"`
		Data        data   `json:"data"`
	}{SpecVersion: "1.0", Type: BatchType, ID: d.id(), ContentType: "application/json"}
	b.Source, b.Time, b.DataSchema = d.attributes()
	for i := range d.events {
		b.Data.Events = append(b.Data.Events, d.events[i].Data)
	}
	body, err := json.Marshal(b)
	if err != nil {
		panic(fmt.Sprintf("webhook: an event that was read as JSON is none: %v", err))
	}
	return body
}

// array is the events as a JSON array.
func (d *delivery) array() []byte {
	body := []byte{'['}
	for i := range d.events {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, d.events[i].Data...)
	}
	return append(body, ']')
}

// attributes are those that a batch has from its events: the source of the first, and a schema beside its schema; the time of
// the latest.
func (d *delivery) attributes() (source, latest, schema string) {
	var last time.Time
	for i := range d.events {
		var a struct{ Type, Source, Time, DataSchema string }
		_ = json.Unmarshal(d.events[i].Data, &a) // an attribute of another kind is as good as none
		if i == 0 {
			source = a.Source
			if base, ok := strings.CutSuffix(a.DataSchema, feed.SchemaFile(a.Type)); ok {
				schema = base + feed.SchemaFile(BatchType)
			}
		}
		if t, err := time.Parse(time.RFC3339, a.Time); err == nil && !t.Before(last) {
			last, latest = t, a.Time
		}
	}
	return source, latest, schema
}

// trace is the traceparent of the first event that has one.
func (d *delivery) trace() string {
	for i := range d.events {
		if d.events[i].Trace != "" {
			return d.events[i].Trace
		}
	}
	return ""
}

// prune takes out the events that show a post which has been deleted since, and returns them. A batch that loses
// one is another batch, with another id.
func (d *delivery) prune(deleted publish.Deleted) (removed []publish.Event) {
	if deleted == nil {
		return nil
	}
	retained := make([]publish.Event, 0, len(d.events))
	for i := range d.events {
		if e := d.events[i]; e.Clear(deleted) {
			retained = append(retained, e)
		} else {
			removed = append(removed, e)
		}
	}
	d.events = retained
	return removed
}

// byDue is a heap of deliveries, the next one due at its top.
type byDue []*delivery

var _ heap.Interface = (*byDue)(nil)

func (q byDue) Len() int           { return len(q) }
func (q byDue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q byDue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *byDue) Push(x any)        { *q = append(*q, x.(*delivery)) }
func (q *byDue) Pop() any {
	last := len(*q) - 1
	d := (*q)[last]
	*q = slices.Delete(*q, last, last+1)
	return d
}

// makeDue makes everything due at once that has failed since a time.
func (q byDue) makeDue(since, now time.Time) {
	for _, d := range q {
		if !d.failed.Before(since) {
			d.due = now
		}
	}
	heap.Init(&q)
}

// batch collects events until there are enough of them or the first has waited long enough.
type batch struct {
	events []publish.Event
	bytes  int
	due    time.Time // when the first event has waited long enough
}

func (b *batch) add(e publish.Event, now time.Time, wait time.Duration) {
	if len(b.events) == 0 {
		b.due = now.Add(wait)
	}
	b.events = append(b.events, e)
	b.bytes += len(e.Data)
}

// flush empties b into a delivery.
func (b *batch) flush() *delivery {
	d := &delivery{events: b.events, batch: true}
	*b = batch{}
	return d
}
