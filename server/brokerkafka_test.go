package server

import (
	"testing"

	"refrain/shard"
	"refrain/topic/kafka"
)

// TestWorkersAllowForStamps: brokers take records that are stamped δ behind, and others that are stamped δ ahead; a worker that took
// the one for the older by less than both together would not wait for what was appended between them.
func TestWorkersAllowForStamps(t *testing.T) {
	cfg := Default()
	n := &node{cfg: cfg, quotas: &quotas{}}
	m := &matcher{n: n}
	if got, want := m.workerConfig().Delta, shard.Default().Delta; got != want {
		t.Errorf("in one order: %v, want %v", got, want)
	}
	n.cfg.Topics.Kafka.Brokers = []string{"127.0.0.1:9092"}
	if got, want := m.workerConfig().Delta, 2*kafka.Default().Delta; got != want {
		t.Errorf("on Kafka: %v, want %v", got, want)
	}
}
