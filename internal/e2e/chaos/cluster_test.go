// Package chaos runs a deployment of several processes on a broker, takes its parts away and gives them back while posts
// come in, and wants exactly the events of detect.
package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// broker is what keeps the topics. Nodes are numbered from 1; one that is shared with other tests has none that may be
// taken away.
type broker struct {
	kind  string // the key of the configuration: kafka or nats
	addrs []string
	nodes *devservers.Cluster
}

func sharedKafka(t *testing.T) broker {
	return broker{kind: "kafka", addrs: strings.Split(devservers.Kafka(t), ",")}
}

func sharedNATS(t *testing.T) broker {
	return broker{kind: "nats", addrs: strings.Split(devservers.NATS(t), ",")}
}

func (b *broker) yaml() string {
	key := map[string]string{"kafka": "brokers", "nats": "servers"}[b.kind]
	return fmt.Sprintf("%s: {%s: [%s]}", b.kind, key, strings.Join(b.addrs, ", "))
}

// deployment is several processes that share topics.
type deployment struct {
	t     *testing.T
	rng   *rand.Rand
	name  string
	yaml  string
	nodes []*node
	down  map[int]bool // brokers that do not run
	b     broker
}

// node is one process.
type node struct {
	*e2e.Process
	name   string
	roles  string
	paused bool
}

// settings are the times of a deployment: real ones, or those of a run that is to be short.
type settings struct{ grace, session time.Duration }

var (
	scaled = settings{grace: 5 * time.Second, session: 2 * time.Second}
	actual = settings{grace: time.Minute, session: 10 * time.Second}
)

func newDeployment(t *testing.T, b broker, seed uint64, s settings) *deployment {
	d := &deployment{t: t, rng: rand.New(rand.NewPCG(seed, 1)), name: devservers.Name(t), down: map[int]bool{}, b: b}
	d.yaml = fmt.Sprintf(`
window: {max_hold: 2000d}
topics: {name: %[1]s, partitions: 8, %[2]s}
cluster: {handover_grace: %[3]v, session: %[4]v}
lookup:
  store: redis
  retention: 1000h
  redis: {url: "redis://%[5]s/0", prefix: "%[1]s:"}
`, d.name, b.yaml(), s.grace, s.session, devservers.Redis(t))
	return d
}

// add starts a process.
func (d *deployment) add(name, roles string) *node {
	d.t.Helper()
	n := &node{Process: e2e.New(d.t, e2e.WithYAML(d.t, d.yaml), "REFRAIN_WORKER="+name, "REFRAIN_ROLES="+roles), name: name, roles: roles}
	d.nodes = append(d.nodes, n)
	n.launch()
	return n
}

// launch starts the process and does not wait until it is ready.
func (n *node) launch() {
	n.TB.Helper()
	n.Launch()
}

// with are the nodes that have a role.
func (d *deployment) with(role string) (some []*node) {
	for _, n := range d.nodes {
		if strings.Contains(n.roles, role) {
			some = append(some, n)
		}
	}
	return some
}

// kill ends a process as a power cut of its machine does.
func (d *deployment) kill(n *node) {
	if n.Cmd == nil {
		return
	}
	n.resume()
	_ = n.Kill(syscall.SIGKILL) // it may have been on its way out
}

// pause stops a process where it is; its connections stay.
func (n *node) pause() {
	if n.Cmd != nil && !n.paused {
		n.paused = n.Cmd.Process.Signal(syscall.SIGSTOP) == nil
	}
}

func (n *node) resume() {
	if n.paused {
		_ = n.Cmd.Process.Signal(syscall.SIGCONT)
		n.paused = false
	}
}

// restore makes everything run that is part of the deployment, and waits until it is ready.
func (d *deployment) restore() {
	d.t.Helper()
	for n := range d.down {
		d.b.nodes.Start(n)
		delete(d.down, n)
	}
	for _, n := range d.nodes {
		n.resume()
		if n.Cmd == nil {
			n.launch()
		}
	}
	for _, n := range d.nodes {
		n.AwaitReady(2 * time.Minute)
	}
}
