// Package sim runs split and shard through interleavings that a real cluster would take years to show.
//
// A simulation is one feed, made from a seed, on its way through the real code of both packages over an in-process
// topic. Everything that may happen at any moment is decided by the same seed: who takes the next turn, which
// records of an append become visible before which, what a reader gets to see of which partition, when an append
// fails half-way, when a worker dies (before, between and after any insertion, look-up, event and commit), when its
// partitions go to another while it goes on, what is delivered again. There are no goroutines and no clocks, so a
// seed that fails fails again.
//
// A live feed has posts without a usable time, which the source sends again: stamped anew, within the time that makes it
// a redelivery and beyond it, after an append that failed half-way too.
//
// Afterwards the ids of the events are compared with the definition of a match: nothing may be lost, nothing
// invented; after a power cut that goes for the sentences that the sentence topic still has. The feed keeps to what the
// promise asks for, as tightly as it can: a post may be up to lateness behind the newest that any clock can have seen.
// Where sources are far apart, each keeps to its own clock, as long as it is not idle and not more than max_hold behind.
//
// The package knows split and shard only as Writer and Worker, so that the tests of both can run it with a rule of
// theirs broken.
package sim

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"refrain/feed"
	"refrain/sigstore"
	"refrain/text"
	"refrain/topic"
)

// Writer is split.Split.
type Writer interface {
	Write(ctx context.Context, posts []feed.Post, partition string) error
	Tick(ctx context.Context, now time.Time)
	Expect(ctx context.Context, partitions []string) error
	Touch(partition string)
	Delete(ctx context.Context, deleted []feed.Tombstone) error
}

// Worker is shard.Worker.
type Worker interface {
	Step(ctx context.Context) error
	WaitFor(ctx context.Context, ends []int64) error
	Needed() []int64
}

// Crew is shard.Crew: one process whose partitions come and go.
type Crew interface {
	Worker
	Assign(partitions []int)
}

// Rows is shard.Rows.
type Rows interface {
	Insert(x *feed.Sentence) bool
	EachMatch(x *feed.Sentence, found func(*feed.Match))
	EachMatchFrom(least text.Threshold, x *feed.Sentence, found func(*feed.Match))
	EachNewMatch(x *feed.Sentence, found func(*feed.Match))
	Expect(xs []*feed.Sentence)
	Advance(w feed.Time)
	Delete(gone sigstore.Gone, posts []feed.Name)
	DeleteAuthor(source, author string, stays sigstore.Stays)
	PurgeSome(rows int) (more bool)
	Probe(x *feed.Sentence)
	Publish()
	Len() int
	Capture() *sigstore.Capture
	Restore(head io.Reader, open func(piece string) (io.ReadCloser, error), gone sigstore.Gone) ([]*sigstore.Piece, error)
}

// Files is shard.SnapshotFiles.
type Files interface {
	Names() ([]string, error)
	Write(name string, write func(io.Writer) error) error
	Open(name string) (io.ReadCloser, error)
	Link(from, to string) error
	Remove(name string) error
}

// Env is what a Writer or Worker finds around it. Every call of anything in it may fail, or end the caller's life.
type Env struct {
	Sentences, Events, Control topic.Topic
	Store                      topic.Store
	Rows                       func(partition int) (Rows, error) // of Subject.Rows, breakable
	Owned                      []int
	Now                        func() time.Time
	Span, Lateness, Delta      time.Duration
	Redelivery                 time.Duration
	// Process holds what the workers of a process share, nil at first; it is nil where each is a process.
	Process             *any
	MaxHold             time.Duration
	MinTokens           int
	MaxQueue, MaxEvents int
	Name                string        // of the process, for a crew
	Workers             int           // of a crew
	Grace               time.Duration // how long a crew leaves a partition to its last owner
	Snapshots           Files         // of a crew; nil: it has none
	SnapshotEvery       int           // sentences
	Life                string        // of two lives never the same
}

// Subject is what is simulated.
type Subject struct {
	Writer func(Env) (Writer, error)
	Worker func(Env) (Worker, error)
	// Crew, where it is not nil, is simulated in place of Worker: partitions change hands one by one.
	Crew func(Env) (Crew, error)
	Rows func(t text.Threshold, span, lateness time.Duration) (Rows, error)
	// TopicRetention is how long the topic retains a record; nil: as long as the window and its sources want, and
	// retentionMargin.
	TopicRetention func(span, lateness, maxHold time.Duration) time.Duration
}

// retentionMargin is how much longer than the window wants the topic retains its records.
const retentionMargin = time.Hour

// Result says what came out.
type Result struct {
	Plan     string      // what the seed asked for
	Pairs    int         // events that the definition wants
	Missing  []feed.Hash // of them, those that did not come
	Invented []feed.Hash // events that no definition knows
	Crashes  int         // lives that ended early
	Cuts     int         // power cuts
	Explain  func(feed.Hash) string
}

// OK reports whether no event is missing or invented.
func (r *Result) OK() bool { return len(r.Missing)+len(r.Invented) == 0 }

// String tells what went wrong.
func (r *Result) String() string {
	s := fmt.Sprintf("%s: of %d events %d lost, %d invented", r.Plan, r.Pairs, len(r.Missing), len(r.Invented))
	for _, ids := range [][]feed.Hash{r.Missing, r.Invented} {
		for _, id := range ids[:min(2, len(ids))] {
			s += "\n\t" + r.Explain(id)
		}
	}
	return s
}

// Run simulates the interleaving of a seed. An error is something that may not happen to the code in any of them.
func Run(subject Subject, seed uint64) (*Result, error) {
	w := newWorld(subject, rand.New(rand.NewPCG(seed, 0x5eed)))
	if err := w.run(); err != nil {
		return nil, fmt.Errorf("seed %d: %s: %w", seed, &w.plan, err)
	}
	return w.judge(), nil
}

// plan is what a seed asks for.
type plan struct {
	Partitions, Sources, Workers int
	Writers                      int // each has some of the sources
	Ordered, Live                bool
	Apart                        bool // sources may be hours apart: they are expected, and may move to another writer
	Span, Lateness, Delta        time.Duration
	MaxHold                      time.Duration
	Turns                        int
	Fail, Crash, Interleave      float64 // how likely an append fails, a turn ends a life, another turn slips in
	Deletions                    bool
	Redelivery                   time.Duration
	OneProcess                   bool
	MaxQueue, MaxEvents          int
	PowerCuts                    bool
	Grace                        time.Duration // of crews
	Common                       int           // workers of each
	Snapshots                    snapshotPlan
}

// snapshotPlan says which crews have snapshots.
type snapshotPlan int

const (
	noSnapshots snapshotPlan = iota
	ownSnapshots
	sharedSnapshots
	snapshotPlans
)

func drawPlan(r *rand.Rand, crews bool) plan {
	p := plan{
		Partitions: 1 + r.IntN(5), Sources: 1 + r.IntN(3), Workers: 1 + r.IntN(3),
		Ordered: r.IntN(3) == 0, Live: r.IntN(3) == 0,
		Span: time.Duration(8+r.IntN(40)) * time.Minute, Lateness: 5 * time.Minute, Delta: 10 * time.Second,
		Turns: 30 + r.IntN(90), Deletions: r.IntN(6) == 0,
		Fail: 0.3 * r.Float64(), Crash: 0.2 * r.Float64(), Interleave: 0.5 * r.Float64(), MaxQueue: 64 << 20, MaxEvents: 8192,
	}
	p.Writers, p.Apart, p.MaxHold = 1+r.IntN(2), p.Sources > 1 && r.IntN(2) == 0, time.Duration(1+r.IntN(8))*30*time.Minute
	if r.IntN(3) == 0 {
		p.Fail, p.Crash = 0, 0
	}
	if r.IntN(2) == 0 {
		p.MaxQueue = 1 << (8 + r.IntN(6))
	}
	if r.IntN(2) == 0 {
		p.MaxEvents = 1 + r.IntN(8)
	}
	p.Redelivery, p.OneProcess = time.Duration(2+r.IntN(120))*time.Second, r.IntN(2) == 0
	p.PowerCuts = r.IntN(3) == 0
	if crews {
		p.Grace, p.Common = []time.Duration{0, time.Second, time.Minute}[r.IntN(3)], 1+r.IntN(2)
		p.Snapshots = snapshotPlan(r.IntN(int(snapshotPlans)))
	}
	return p
}

func (p *plan) String() string {
	return fmt.Sprintf("%+v", *p)
}
