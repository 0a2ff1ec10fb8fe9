// Package outages runs a deployment of several processes at a rate of posts, takes away what they need for minutes, and
// measures what that costs: memory of every process, what clients are answered, how late events are. Afterwards exactly the
// events of detect must be there.
package outages

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// broker is what keeps the topics.
type broker interface {
	yaml() string // of topics
	Kill()        // all of its nodes at once, with SIGKILL
	Start()
	Pause()    // it is there and answers nothing
	Continue() // as if nothing had been
}

// single is a broker of one node.
type single struct {
	*devservers.Server
	topics string
}

func (s single) yaml() string { return s.topics }

type cluster struct {
	*devservers.Cluster
	topics string
}

func (c cluster) yaml() string { return c.topics }
func (c cluster) Kill()        { c.KillAll() }
func (c cluster) Start()       { c.StartAll() }
func (c cluster) Pause() {
	for n := range 3 {
		c.Cluster.Pause(n + 1)
	}
}
func (c cluster) Continue() {
	for n := range 3 {
		c.Cluster.Continue(n + 1)
	}
}

// oneNode is for machines that do not bear three brokers beside all else.
var oneNode = flag.Bool("outages.single", false, "brokers of one node also in a full run")

// startBroker starts a broker of one node, or of three in a full run.
func startBroker(t *testing.T, kind string) broker {
	three := *e2e.Full && !*oneNode
	switch {
	case kind == "kafka" && three:
		c := devservers.StartKafka3(t)
		return cluster{c, e2e.KafkaTopics(c.Addrs()...)}
	case kind == "kafka":
		return oneKafka(t)
	case three:
		c := devservers.StartNATS3(t)
		return cluster{c, e2e.NATSTopics(c.Addrs()...)}
	default:
		s := devservers.StartNATS(t)
		return single{s, e2e.NATSTopics(s.Addr())}
	}
}

func oneKafka(t *testing.T) single {
	s := devservers.StartKafka(t)
	return single{s, e2e.KafkaTopics(s.Addr())}
}

// budget is what the windows of a process may hold, and headroom what it may take besides: DESIGN, promise 5.
const (
	budget   = 256 << 20
	headroom = 300 << 20
)

// partitions of the window.
const partitions = 16

// deployment is several processes that share topics.
type deployment struct {
	t     *testing.T
	name  string
	yaml  string
	procs []*process
}

// process is one of them.
type process struct {
	*e2e.Process
	name, roles string
	pid         atomic.Int64 // 0: it does not run
}

// grace and session of a deployment are the real ones in a full run.
func times() (grace, session time.Duration) {
	if *e2e.Full {
		return time.Minute, 10 * time.Second
	}
	return 5 * time.Second, 2 * time.Second
}

// newDeployment configures one. more is what the configuration has besides.
func newDeployment(t *testing.T, b broker, redis, more string) *deployment {
	grace, session := times()
	name := devservers.Name(t)
	return &deployment{t: t, name: name, yaml: fmt.Sprintf(`
window: {budget: %d, max_matches: 0}
topics: {name: %[2]s, partitions: %[8]d, %[3]s}
cluster: {handover_grace: %[4]v, session: %[5]v}
quotas: {token: {posts: 20000, sentences: 100000, events: 20000}}
lookup:
  store: redis
  redis: {url: "redis://%[6]s/0", prefix: "%[2]s:"}
%[7]s`, budget, name, b.yaml(), grace, session, redis, more, partitions)}
}

// add starts a process.
func (d *deployment) add(name, roles string) *process {
	d.t.Helper()
	p := &process{Process: e2e.NewWorker(d.t, d.yaml, name, roles),
		name: name, roles: roles}
	d.procs = append(d.procs, p)
	p.launch()
	return p
}

// standard is two splits, some match workers, and one process each for publishing, the index and questions.
func (d *deployment) standard(workers int) (front *process) {
	d.t.Helper()
	d.add("split-1", "split")
	d.add("split-2", "split")
	for i := range workers {
		d.add(fmt.Sprintf("match-%d", i+1), "match")
	}
	d.add("publish", "publish")
	d.add("lookup", "lookup")
	front = d.add("api", "api")
	d.awaitReady()
	return front
}

func (d *deployment) awaitReady() {
	d.t.Helper()
	for _, p := range d.procs {
		p.AwaitReady(2 * time.Minute)
	}
}

func (p *process) launch() {
	p.TB.Helper()
	p.Launch()
	p.pid.Store(int64(p.Cmd.Process.Pid))
}

// end sends a signal and waits for the end.
func (p *process) end(s syscall.Signal) {
	p.pid.Store(0)
	_ = p.Kill(s) // how it ends is its own affair
}

// withRole are the processes that have a role.
func (d *deployment) withRole(role string) (some []*process) {
	for _, p := range d.procs {
		if strings.Contains(p.roles, role) {
			some = append(some, p)
		}
	}
	return some
}
