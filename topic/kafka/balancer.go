package kafka

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"refrain/topic"
)

// nameTaken is given to a member in place of partitions: an assignment carries nothing but their numbers.
const nameTaken = -1

// groupMember is what a member tells the one that deals.
type groupMember struct {
	Worker  string `json:"worker"`
	Process string `json:"process"`
	// Since is the group's generation that this process has been a member from, without a break; 0: not yet.
	Since int32 `json:"since"`
	// Attempt counts the process's requests to join: one that was given up stays in the group until its session ends.
	Attempt int `json:"attempt"`
}

// before says who of two of one name has it: of processes the one that has been there longer, of attempts the last.
func (m groupMember) before(o groupMember) bool {
	switch {
	case m.Process == o.Process:
		return m.Attempt > o.Attempt
	case (m.Since == 0) != (o.Since == 0):
		return m.Since != 0
	case m.Since != o.Since:
		return m.Since < o.Since
	}
	return m.Process < o.Process
}

// balancer deals the partitions out by topic.Deal. The broker picks the member that does it for all.
type balancer struct {
	topic  string
	parts  int
	logger *slog.Logger

	mu sync.Mutex
	me groupMember
}

var _ kafka.GroupBalancer = (*balancer)(nil)

func newBalancer(cfg GroupConfig) *balancer {
	// Of two that began at once, the one that started first has the name.
	process := fmt.Sprintf("%016x-%s", time.Now().UnixNano(), rand.Text())
	return &balancer{topic: cfg.Topic, parts: cfg.Parts, logger: cfg.Logger,
		me: groupMember{Worker: cfg.Member, Process: process}}
}

// ProtocolName carries the number of partitions, so that the broker refuses a worker that was told another.
func (b *balancer) ProtocolName() string { return fmt.Sprintf("refrain-1-%d", b.parts) }

// UserData is asked for with every request to join.
func (b *balancer) UserData() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.me.Attempt++
	return json.Marshal(b.me)
}

// joined notes that this process is a member of a generation.
func (b *balancer) joined(generation int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.me.Since == 0 {
		b.me.Since = generation
	}
}

// lost notes that it was not a member for a while.
func (b *balancer) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.me.Since = 0
}

// AssignGroups implements kafka.GroupBalancer. Every member is in the answer: the library cannot read an empty one.
func (b *balancer) AssignGroups(members []kafka.GroupMember, _ []kafka.Partition) kafka.GroupMemberAssignments {
	out := kafka.GroupMemberAssignments{}
	holders := b.holders(members, out)
	for worker, parts := range topic.Deal(b.parts, slices.Collect(maps.Keys(holders))) {
		out[holders[worker]] = map[string][]int{b.topic: parts}
	}
	return out
}

// holders are the ids of the members that have their names, by name. The others are answered: with nothing those that are the
// same process, given up.
func (b *balancer) holders(members []kafka.GroupMember, out kafka.GroupMemberAssignments) map[string]string {
	told := map[string]groupMember{}
	ids := map[string]string{}
	for _, m := range members {
		out[m.ID] = map[string][]int{b.topic: {}}
		var g groupMember
		if err := json.Unmarshal(m.UserData, &g); err != nil || g.Worker == "" {
			b.logger.Error("kafka: a member of the group does not say who it is: it gets nothing", "member", m.ID, "error", err)
			continue
		}
		if first, ok := told[g.Worker]; !ok || g.before(first) {
			told[g.Worker], ids[g.Worker] = g, m.ID
		}
	}
	b.refuse(members, told, out)
	return ids
}

// refuse tells the processes whose name is another's.
func (b *balancer) refuse(members []kafka.GroupMember, told map[string]groupMember, out kafka.GroupMemberAssignments) {
	for _, m := range members {
		var g groupMember
		if json.Unmarshal(m.UserData, &g) != nil || g.Process == told[g.Worker].Process {
			continue
		}
		b.logger.Warn("kafka: two processes call themselves by one name: the later one gets nothing", "worker", g.Worker)
		out[m.ID] = map[string][]int{b.topic: {nameTaken}}
	}
}
