// Package quota says how much one sender, and one source of its posts, may cause.
//
// What is limited are bytes that posts take on the disk, posts, sentences, and events found for them, each a second.
// For every limit there is a bucket that fills at that rate and holds a burst of it. What something costs is known
// only when it is done: how many sentences a text has, how many events a post gives. So a bucket may go below empty,
// by whatever one batch takes, and while any of a sender's is below empty its next batch is refused (HTTP) or waits
// (feeds). Nothing is ever taken by half, and no batch is too large to be let in.
//
// A sender is who presents a token, everybody without one together, or a feed of the configuration (Kafka, NATS, files,
// firehoses). A source is what the posts say of themselves, so it is counted for each sender apart: nobody uses up the
// quota of another by borrowing its name, and whoever makes up names is still held by the quota of its token.
//
// All of it is in memory and in one process: a restart forgives debts, and each of several processes counts for itself.
package quota

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// Usage is what was caused.
type Usage struct{ Bytes, Posts, Sentences, Events int64 }

// Add adds other to u.
func (u *Usage) Add(other Usage) {
	u.Bytes += other.Bytes
	u.Posts += other.Posts
	u.Sentences += other.Sentences
	u.Events += other.Events
}

// Sub is Add undone.
func (u *Usage) Sub(other Usage) {
	u.Add(Usage{-other.Bytes, -other.Posts, -other.Sentences, -other.Events})
}

// Limits are rates a second; 0: no limit.
type Limits struct {
	Bytes, Posts, Sentences, Events float64
	// Share is of bytes too, but counts only while the topic is Tight: what one sender may fill it with.
	Share float64
}

// Names are the limits that there are.
func (l *Limits) Names() (names []string) {
	for i, rate := range l.rates() {
		if rate > 0 {
			names = append(names, limitNames[i])
		}
	}
	return names
}

// Config says who may cause how much.
type Config struct {
	// Burst is how much of each limit may come at once, above 0, and EventBurst how much of that of events, which cost far
	// more than what causes them.
	Burst, EventBurst time.Duration

	Token, Feed, Source Limits            // where nothing else is said
	Tokens, Sources     map[string]Limits // by name
	// Tight says that room in the topic is short. It is asked when a sender has used up its Share, and may take a moment.
	Tight func() bool
	// ShareAge, above 0, is how long a record stays in the topic at most. Who has sent nothing for so long has nothing in it,
	// and owes nothing of its Share, however much has passed through before.
	ShareAge time.Duration

	MaxSources int // sources of one sender that are counted apart at a time, 1 or more; further ones are counted together
	Now        func() time.Time
}

// Default limits nothing.
func Default() Config {
	return Config{
		Burst: time.Hour, EventBurst: 10 * time.Minute, Tight: func() bool { return true }, ShareAge: 24 * time.Hour,
		MaxSources: 10_000, Now: time.Now,
	}
}

// Quotas counts. It may be used by several goroutines.
type Quotas struct {
	cfg   Config
	start time.Time
	seed  maphash.Seed

	mu      sync.Mutex
	senders map[Sender]*account
}

// New counts from now on.
func New(cfg Config) *Quotas {
	return &Quotas{cfg: cfg, start: cfg.Now(), seed: maphash.MakeSeed(), senders: map[Sender]*account{}}
}

// Admit is nil where a sender may send a batch with posts of these sources now, else it says what is exceeded, and for how
// long: of several, what takes longest.
func (q *Quotas) Admit(from Sender, sources []string) *Exceeded {
	own := q.of(from)
	if !q.shareUsed(from) || !q.cfg.Tight() {
		own.Share = 0
	}
	return q.longest(from, own, sources, q.ofSource)
}

// AdmitDeletions is Admit for a batch that only deletes. A deletion counts as a post; whatever else its sender owes does
// not keep a text where it is.
func (q *Quotas) AdmitDeletions(from Sender, sources []string) *Exceeded {
	ofSource := func(source string) Limits { return Limits{Posts: q.ofSource(source).Posts} }
	return q.longest(from, Limits{Posts: q.of(from).Posts}, sources, ofSource)
}

// longest is what is exceeded for longest of a sender's own limits and those of its sources.
func (q *Quotas) longest(from Sender, own Limits, sources []string, ofSource func(string) Limits) *Exceeded {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	a := q.account(from)
	limit, wait := a.own.owed(own, now, q.bursts())
	longest := exceeded(from, "", limit, wait)
	for _, source := range sources {
		limit, wait := a.source(q.hash(source)).owed(ofSource(source), now, q.bursts())
		if longest == nil || seconds(wait) > longest.Wait {
			if e := exceeded(from, source, limit, wait); e != nil {
				e.Kind = KindSource
				longest = e
			}
		}
	}
	return longest
}

// Hurries reports whether a sender has sent, or caused, more than its quota gives in so short a time as pace, whatever burst
// it may have; underWay is what is to be charged still. A feed has no quota of its own: it may be hurrying always.
func (q *Quotas) Hurries(from Sender, pace time.Duration, underWay Usage) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, own := pace.Seconds(), q.of(from)
	own.Share = 0
	b, now := q.account(from).own, q.now()
	b.charge(own, now, underWay)
	_, wait := b.owed(own, now, [limits]float64{p, p, p, p, p})
	return wait > 0 || from.Kind() == KindFeed
}

// Charge counts what a sender's posts have caused, by source. A sender that was never admitted here is not counted: it
// cannot be refused here either, and its name may be as old as the topic.
func (q *Quotas) Charge(from Sender, bySource map[string]Usage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for source, u := range bySource {
		q.charge(from, source, u)
	}
}

// ChargeEvents counts events that were found for posts of one source.
func (q *Quotas) ChargeEvents(from Sender, source string, events int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.charge(from, source, Usage{Events: int64(events)})
}

func (q *Quotas) charge(from Sender, source string, u Usage) {
	a, now := q.senders[from], q.now()
	if a == nil {
		return
	}
	a.own.charge(q.of(from), now, u)
	a.own[share] = min(a.own[share], bucket(now+q.bursts()[share]+q.cfg.ShareAge.Seconds()))
	if limits := q.ofSource(source); limits != (Limits{}) {
		a.add(q.hash(source), now, q.maxSources(source)).charge(limits, now, u)
	}
}

func (q *Quotas) shareUsed(from Sender) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.of(from).Share > 0 && q.account(from).own[share].owed(q.now(), q.bursts()[share]) > 0
}

func (q *Quotas) account(from Sender) *account {
	a := q.senders[from]
	if a == nil {
		a = &account{}
		q.senders[from] = a
	}
	return a
}

func (q *Quotas) of(from Sender) Limits {
	if from.feed() {
		return q.cfg.Feed
	}
	if l, ok := q.cfg.Tokens[from.Name()]; ok {
		return l
	}
	return q.cfg.Token
}

func (q *Quotas) ofSource(source string) Limits {
	if l, ok := q.cfg.Sources[source]; ok {
		return l
	}
	return q.cfg.Source
}

// maxSources is for a source how many there may be besides. Those with limits of their own always have a place.
func (q *Quotas) maxSources(source string) int {
	if _, named := q.cfg.Sources[source]; named {
		return math.MaxInt
	}
	return q.cfg.MaxSources
}

// now is in seconds since the start.
func (q *Quotas) now() float64 { return q.cfg.Now().Sub(q.start).Seconds() }

func (q *Quotas) bursts() [limits]float64 {
	b := q.cfg.Burst.Seconds()
	return [limits]float64{bytes: b, posts: b, sentences: b, share: b, events: q.cfg.EventBurst.Seconds()}
}

// hash is never sent anywhere, and its seed is another in each process: nobody makes two names meet.
func (q *Quotas) hash(source string) uint64 { return maphash.String(q.seed, source) }
