package jetstream

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"refrain/topic"
)

// leaseValue is what a key of the bucket holds: of a process, or of a part that one has.
type leaseValue struct {
	Worker  string `json:"worker"`
	Process string `json:"process"`
	Parts   int    `json:"parts"` // how many it deals out
	// Since is the revision of the process's first sign of life, 0 in that one: revisions are one order for all keys.
	Since uint64 `json:"since,omitempty"`
}

// leaseEntry is the last that is known of a key.
type leaseEntry struct {
	leaseValue
	revision uint64
	deleted  bool
	changed  time.Duration // when its revision last changed, on the view's clock
	changes  int           // how often it did while we looked
}

// first is the revision since which the process has been there.
func (e *leaseEntry) first() uint64 {
	if e.Since > 0 {
		return e.Since
	}
	return e.revision
}

// leaseView is what one process knows of the bucket, and what it concludes.
//
// Its clock counts time only in which this process has seen its own signs of life come back through the watch, one by one:
// who has given none meanwhile is dead, and not the server, the connection or this process. No two clocks are compared.
type leaseView struct {
	group, worker, process string
	parts                  int
	ttl, renew             time.Duration

	entries map[string]*leaseEntry
	clock   time.Duration
	seen    time.Time // when our own sign of life was last seen
}

func newLeaseView(cfg LeaseConfig, process string) *leaseView {
	return &leaseView{group: cfg.Group, worker: cfg.Member, process: process, parts: cfg.Parts, ttl: cfg.TTL, renew: cfg.Renew,
		entries: map[string]*leaseEntry{}}
}

func (v *leaseView) processKey(process string) string { return v.group + ".process." + process }
func (v *leaseView) partKey(part int) string          { return v.group + ".part." + strconv.Itoa(part) }

// value is what this process writes.
func (v *leaseView) value() []byte {
	x := leaseValue{Worker: v.worker, Process: v.process, Parts: v.parts}
	if e := v.entries[v.processKey(v.process)]; e != nil && !e.deleted {
		x.Since = e.first()
	}
	data, err := json.Marshal(x)
	if err != nil {
		panic(err) // two strings and a number
	}
	return data
}

// revision is what an update of the key must name: 0 while there has never been one.
func (v *leaseView) revision(key string) uint64 {
	if e := v.entries[key]; e != nil {
		return e.revision
	}
	return 0
}

// observe takes up an entry of the watch at time now. What is not newer than what is known says nothing.
func (v *leaseView) observe(e js.KeyValueEntry, now time.Time) error {
	value, deleted := leaseValue{}, e.Operation() != js.KeyValuePut
	if !deleted {
		if err := json.Unmarshal(e.Value(), &value); err != nil {
			return fmt.Errorf("key %s of bucket %s is not ours: %w", e.Key(), e.Bucket(), err)
		}
	}
	if e.Key() == v.processKey(v.process) && !deleted {
		v.tick(now)
	}
	v.set(e.Key(), value, e.Revision(), deleted)
	return nil
}

func (v *leaseView) tick(now time.Time) {
	if !v.seen.IsZero() {
		v.clock += min(now.Sub(v.seen), v.renew)
	}
	v.seen = now
}

func (v *leaseView) set(key string, value leaseValue, revision uint64, deleted bool) {
	old := v.entries[key]
	if old != nil && old.revision >= revision {
		return
	}
	e := &leaseEntry{leaseValue: value, revision: revision, deleted: deleted, changed: v.clock}
	if old != nil && !old.deleted {
		e.changes = old.changes + 1
	}
	v.entries[key] = e
}

// processes are the live ones, and the keys of those that are dead.
func (v *leaseView) processes() (live map[string]*leaseEntry, dead []string) {
	live = map[string]*leaseEntry{}
	for key, e := range v.entries {
		switch {
		case e.deleted || !strings.HasPrefix(key, v.group+".process."):
		case e.Process != v.process && v.clock-e.changed > v.ttl:
			dead = append(dead, key)
		default:
			live[e.Process] = e
		}
	}
	return live, dead
}

// holders are the processes that have their names, of those that deal out as many parts: of two of one name the one that
// came first.
func (v *leaseView) holders(live map[string]*leaseEntry) map[string]*leaseEntry {
	out := map[string]*leaseEntry{}
	for _, e := range live {
		if e.Parts != v.parts {
			continue
		}
		if o := out[e.Worker]; o == nil || e.first() < o.first() {
			out[e.Worker] = e
		}
	}
	return out
}

// namesake is another process that has our name, nil without one. It lives when it has given two signs of life since we
// came: one may have been under way when it died.
func (v *leaseView) namesake(live map[string]*leaseEntry) (e *leaseEntry, lives bool) {
	h := v.holders(live)[v.worker]
	if h == nil || h.Process == v.process {
		return nil, false
	}
	return h, h.changes >= 2
}

// should are the parts that are ours to have.
func (v *leaseView) should(live map[string]*leaseEntry) []int {
	h := v.holders(live)
	if e := h[v.worker]; e == nil || e.Process != v.process {
		return nil
	}
	if e, _ := v.stranger(live); e != nil {
		return nil
	}
	var names []string
	for name := range h {
		names = append(names, name)
	}
	return topic.Deal(v.parts, names)[v.worker]
}

// isSpare reports whether this process has its name, and there are more processes than parts.
func (v *leaseView) isSpare(live map[string]*leaseEntry) bool {
	e := v.holders(live)[v.worker]
	return e != nil && e.Process == v.process && len(v.should(live)) == 0
}

// stranger is a live process that came before us and deals out another number of parts, nil without one.
func (v *leaseView) stranger(live map[string]*leaseEntry) (e *leaseEntry, lives bool) {
	me := live[v.process]
	for _, e := range live {
		if me != nil && e.Parts != v.parts && e.first() < me.first() {
			return e, e.changes >= 2
		}
	}
	return nil, false
}

// held are the parts whose leases are ours.
func (v *leaseView) held() (parts []int) {
	for p := range v.parts {
		if e := v.entries[v.partKey(p)]; e != nil && !e.deleted && e.Process == v.process {
			parts = append(parts, p)
		}
	}
	return parts
}

// step is what is to be done now: leases to give up, and to take where nobody that lives has them.
func (v *leaseView) step(live map[string]*leaseEntry) (release, claim []int) {
	should, held := v.should(live), v.held()
	for _, p := range held {
		if !slices.Contains(should, p) {
			release = append(release, p)
		}
	}
	for _, p := range should {
		if e := v.entries[v.partKey(p)]; e == nil || e.deleted || live[e.Process] == nil {
			claim = append(claim, p)
		}
	}
	return release, claim
}
