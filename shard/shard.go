// Package shard keeps the window across workers: who looks which sentence up in which rows, and from where on
// after a crash.
//
// The sentence topic has partitions. The unit of the window is a partition q with its rows: the sentences of q that
// have not expired. A worker owns some partitions and reads all of them; an owned sentence is inserted into the rows
// of its partition, and every sentence is looked up in the rows of every owned one.
//
// The rule: of any two sentences, the one appended later is looked up in rows that hold the one appended earlier.
// So every pair is found, by the owner of the earlier-appended one, whatever the order of their event times, because
// a look-up goes both ways in event time. In a topic with one order over its partitions the rule is free: a worker
// goes through the records in that order. Elsewhere, before x is looked up in the rows of q, q has been inserted up
// to its end as reported after x was received, or up to a record stamped more than δ after x.
//
// What a worker must remember is, for every q, the position L[p] up to which each partition p has been looked up in
// q's rows, the watermarks that those look-ups have observed, and the position from which q must be replayed to have
// its rows again. The three are stored together, after the events they stand for are durable, and are never mixed with
// those of another moment: see State. docs/design/0002-who-reports-a-pair.md has the argument.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package shard

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"refrain/feed"
	"refrain/sigstore"
	"refrain/text"
	"refrain/topic"
)

// Rows is the window of one partition: detector.Partition. A look-up goes both ways in event time; whether x itself
// has been inserted makes no difference to it.
type Rows interface {
	Insert(x *feed.Sentence) bool // false: a redelivery, nothing changed
	// EachMatch hands on one match after the other, each for the time of the call: a look-up may find very many.
	EachMatch(x *feed.Sentence, found func(*feed.Match))
	// EachMatchFrom is EachMatch for a threshold that is at least that of the rows.
	EachMatchFrom(least text.Threshold, x *feed.Sentence, found func(*feed.Match))
	// EachNewMatch leaves out what an earlier look-up has reported, where sentences are inserted and looked up in one order.
	EachNewMatch(x *feed.Sentence, found func(*feed.Match))
	// Expect says which sentences will be looked up next. Some may be left out.
	Expect(xs []*feed.Sentence)
	Advance(w feed.Time) // may drop what is older than w - span - lateness
	// Delete removes the posts that are gone, and DeleteAuthor what an author has said so far, but for what stays (nil:
	// nothing does): nothing finds it any more from now on. Its memory comes free as PurgeSome looks through some rows at
	// a time, until that is false, and asks gone meanwhile. posts are those that are gone and were in no Delete before.
	Delete(gone sigstore.Gone, posts []feed.Name)
	DeleteAuthor(source, author string, stays sigstore.Stays)
	PurgeSome(rows int) (more bool)
	// Probe looks x up as EachMatch does, for its cost alone: what it finds is thrown away, and it counts nowhere.
	Probe(x *feed.Sentence)
	// Publish brings up to date what others may ask about the rows meanwhile.
	Publish()

	// Len is how many texts there are, about.
	Len() int
	// Capture captures the rows as they are; nil: not now. See sigstore.Capture.
	Capture() *sigstore.Capture
	// Restore makes empty rows what they were when they were captured, and returns the pieces that it has opened. After an
	// error they are empty. gone is asked which posts are deleted, from the first Advance or Delete after it on.
	Restore(head io.Reader, open func(piece string) (io.ReadCloser, error), gone sigstore.Gone) ([]*sigstore.Piece, error)
}

// DeadLetters is publish.DeadLetters.
type DeadLetters interface {
	Write(origin, reason string, event []byte) error
}

// Config says what a worker works on. Sentences, Events, Store, Rows, Owned, Span and Lateness are the caller's, Default
// has the rest.
type Config struct {
	Sentences topic.Topic
	Events    topic.Topic // partitioned by the later post
	Control   topic.Topic // tombstones, in partition 0; nil: posts are never deleted
	Store     topic.Store
	// DeadLetters takes the events that are too large for the event topic. Nil: such an event is an error, and the worker
	// goes no further.
	DeadLetters DeadLetters
	// Rows returns the empty window of an owned partition. Open calls it once for each, in the order of Owned, and
	// nothing else does: after a turn that failed the worker goes on with the rows it has. So they may be made
	// beforehand, one for each partition. An Open that fails leaves them empty, unless there are Snapshots, and they may be
	// given again; a worker that has taken a turn does not. While there is a worker, others use them by Worker.Locked.
	Rows func(partition int) (Rows, error)

	// Tombstones are what the workers of a process know of deletions; nil: the worker has its own.
	Tombstones *Tombstones
	// Redeliveries are shared by the workers of a process. One that comes later, from where nobody remembers them any more,
	// makes its own. nil: the worker has its own.
	Redeliveries *Redeliveries

	// Caused is told of the events that are reported for a sentence of a source, with the origin of its record, one of more
	// than 4 KiB as several; nil: nobody is. After a restart it may be told of some again. Several goroutines call it.
	Caused func(origin, source string, events int)
	// Spent is told what look-ups have cost, once their events are durable; nil: nobody is. It must not block.
	Spent func([]Spent)

	// Snapshots are shared by the workers of a process; nil: rows are replayed at each start.
	Snapshots *Snapshots

	Owned          []int // the partitions of the sentence topic that this worker owns
	Span, Lateness time.Duration
	Deployment     feed.Deployment // who found the matches

	Delta         time.Duration // δ: how much higher a record's stamp may be than that of one appended after it, 0 or more
	Silence       time.Duration // a writer without watermarks for so long counts as dead: see Watermarks
	MaxHold       time.Duration // how far behind the fastest source partition the slowest may hold the window, 0 or more
	Poll          time.Duration // how long a turn waits for records
	ControlPoll   time.Duration // the control topic is read this often, at most once a turn
	Commit        time.Duration // the state is stored this often; 0: at every turn that has moved
	OlderInterval time.Duration // this often a state is kept beside the current one, 60 of them
	MaxQueue      int           // bytes of records that wait for rows before reading is narrowed, 1 or more
	MaxEvents     int           // events of a partition that wait to be made durable together, 1 or more
	EventBytes    int           // bytes of them, 1 or more; where the topic refuses them so many more wait at most: see spill
	Redelivery    time.Duration // see Redeliveries; unused where those are given
	Retention     time.Duration // tombstones older than this are forgotten: what the topics keep; 0: never
	Parallel      bool          // serve the owned partitions by a goroutine each

	// Canary is told of a canary whose second post has found the first in the partition that both were written to, once the
	// events found before it are durable. It must not block. Nil: nobody is told.
	Canary func(Canary)

	progressed *broadcast    // told when look-ups have got further; nil: the worker has its own
	number     *atomic.Int64 // among the workers of a crew, which changes

	TextVersion int // of the normalisation; records of another are looked up all the same, and warned of; 0: any

	Now    func() time.Time
	Logger *slog.Logger
}

// Default is the configuration but for what the worker works on.
func Default() Config {
	return Config{
		Delta: 10 * time.Second, Silence: 2 * time.Minute, MaxHold: 24 * time.Hour, Poll: 100 * time.Millisecond, ControlPoll: 100 * time.Millisecond,
		OlderInterval: time.Minute, MaxQueue: 64 << 20, MaxEvents: 8192, EventBytes: 1 << 20, Redelivery: time.Hour,
		Now: time.Now, Logger: slog.Default(),
	}
}

func (c *Config) validate() error { return errors.Join(append(c.missing(), c.outOfBounds()...)...) }

func (c *Config) missing() (errs []error) {
	missing := func(absent bool, what string) {
		if absent {
			errs = append(errs, errors.New("no "+what))
		}
	}
	missing(c.Sentences == nil, "sentence topic")
	missing(c.Events == nil, "event topic")
	missing(c.Store == nil, "store")
	missing(c.Rows == nil, "rows")
	missing(len(c.Owned) == 0, "owned partition")
	missing(c.Span <= 0, "span")
	missing(c.Now == nil, "clock")
	missing(c.Logger == nil, "logger")
	return errs
}

func (c *Config) outOfBounds() (errs []error) {
	atLeast := func(value, atLeast int64, what string) {
		if value < atLeast {
			errs = append(errs, fmt.Errorf("%s is %d: want %d or more", what, value, atLeast))
		}
	}
	atLeast(int64(c.Lateness), 0, "lateness")
	atLeast(int64(c.Delta), 0, "delta")
	atLeast(int64(c.Silence), 1, "silence")
	atLeast(int64(c.MaxHold), 0, "max hold")
	atLeast(int64(c.Poll), 1, "poll")
	atLeast(int64(c.ControlPoll), 0, "control poll")
	atLeast(int64(c.Commit), 0, "commit")
	atLeast(int64(c.OlderInterval), 1, "older interval")
	atLeast(int64(c.MaxQueue), 1, "max queue")
	atLeast(int64(c.MaxEvents), 1, "max events")
	atLeast(int64(c.EventBytes), 1, "event bytes")
	atLeast(int64(c.Retention), 0, "retention")
	return errs
}

// Owners deals partitions out to workers: the partitions of each, evenly, every partition to one.
func Owners(partitions, workers int) [][]int {
	owned := make([][]int, workers)
	for q := range partitions {
		owned[q%workers] = append(owned[q%workers], q)
	}
	return owned
}
