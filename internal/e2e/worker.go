package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// KafkaTopics is what the settings of topics, as YAML, say of brokers of Kafka.
func KafkaTopics(brokers ...string) string {
	return "kafka: {brokers: [" + strings.Join(brokers, ", ") + "]}"
}

// NATSTopics is likewise of NATS servers.
func NATSTopics(servers ...string) string {
	return "nats: {servers: [" + strings.Join(servers, ", ") + "]}"
}

// NewWorker makes a server of a deployment, of which all have the same configuration file: its name, and its roles as cluster.roles
// has them, split,match for example.
func NewWorker(tb testing.TB, yaml, name, roles string, settings ...string) *Process {
	tb.Helper()
	return New(tb, append([]string{WithYAML(tb, yaml), "REFRAIN_WORKER=" + name, "REFRAIN_ROLES=" + roles}, settings...)...)
}

// Pause stops a process where it is; its connections stay.
func (p *Process) Pause() error { return p.Cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on, as if nothing had been.
func (p *Process) Resume() error { return p.Cmd.Process.Signal(syscall.SIGCONT) }
