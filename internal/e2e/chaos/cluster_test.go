// Package chaos runs a deployment of several processes on a broker, takes its parts away and gives them back while posts
// come in, and wants exactly the events of detect.
package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// broker is what keeps the topics. Nodes are numbered from 1; one that is shared with other tests has none that may be
// taken away.
type broker struct {
	kind    string   // the key of the configuration: kafka or nats
	addrs   []string // for the processes
	direct  []string // for the test
	nodes   *devservers.Cluster
	proxies []*proxy // by node; none: nothing can be cut off
}

func sharedKafka(t *testing.T) broker {
	addrs := strings.Split(devservers.Kafka(t), ",")
	return broker{kind: "kafka", addrs: addrs, direct: addrs}
}

func sharedNATS(t *testing.T) broker {
	direct := strings.Split(devservers.NATS(t), ",")
	proxies := startProxies(t, 1)
	proxies[0].setTarget(strings.TrimPrefix(direct[0], "nats://"))
	return broker{kind: "nats", addrs: natsURLs(proxies), direct: direct, proxies: proxies}
}

func ownKafka(t *testing.T) broker {
	proxies := startProxies(t, 3)
	nodes := devservers.StartKafka3Behind(t, addressesOf(proxies))
	setTargets(proxies, nodes)
	return broker{kind: "kafka", addrs: addressesOf(proxies), direct: nodes.Addrs(), nodes: nodes, proxies: proxies}
}

func ownNATS(t *testing.T) broker {
	proxies := startProxies(t, 3)
	nodes := devservers.StartNATS3Behind(t, addressesOf(proxies))
	setTargets(proxies, nodes)
	return broker{kind: "nats", addrs: natsURLs(proxies), direct: nodes.Addrs(), nodes: nodes, proxies: proxies}
}

func setTargets(proxies []*proxy, nodes *devservers.Cluster) {
	for i, addr := range nodes.Behind() {
		proxies[i].setTarget(addr)
	}
}

func natsURLs(proxies []*proxy) (urls []string) {
	for _, addr := range addressesOf(proxies) {
		urls = append(urls, "nats://"+addr)
	}
	return urls
}

func (b *broker) yaml() string {
	if b.kind == "kafka" {
		return e2e.KafkaTopics(b.addrs...)
	}
	return e2e.NATSTopics(b.addrs...)
}

// deployment is several processes that share topics.
type deployment struct {
	t      *testing.T
	name   string
	yaml   string
	times  times
	b      broker
	shared string               // where all have their snapshots; "": each has its own
	clock  func() time.Duration // how far ahead the clock of the next process is

	mu      sync.Mutex
	nodes   []*node
	started int // of those with the role match, for their names
}

// node is one process.
type node struct {
	*e2e.Process
	name   string
	roles  string
	paused bool
	busy   bool // something that is done to it has not ended
}

// times are those of a deployment: real ones, or those of a run that is to be short.
type times struct {
	grace, session, silence time.Duration
	pause                   time.Duration // how long something stands still at most
	between                 time.Duration // one fault and the next, at most
	lasts                   time.Duration // the feed
	skew                    time.Duration // how far the clock of a process is off, at most
}

var (
	scaled = times{grace: 5 * time.Second, session: 2 * time.Second, silence: 10 * time.Second, pause: 8 * time.Second,
		between: 2 * time.Second, lasts: 30 * time.Second, skew: 3 * time.Second}
	actual = times{grace: time.Minute, session: 10 * time.Second, silence: 2 * time.Minute, pause: 80 * time.Second,
		between: 20 * time.Second, lasts: 6 * time.Minute, skew: 3 * time.Second}
)

// partitions are those of the window where nothing else is said.
const partitions = 8

func newDeployment(t *testing.T, b broker, s times, partitions int, shared string) *deployment {
	d := &deployment{t: t, name: devservers.Name(t), times: s, b: b, shared: shared, clock: func() time.Duration { return 0 }}
	d.yaml = fmt.Sprintf(`
window: {max_hold: 2000d, snapshots: %[7]q}
topics: {name: %[1]s, partitions: %[2]d, %[3]s}
cluster: {handover_grace: %[4]v, session: %[5]v}
lookup:
  store: redis
  retention: 1000h
  redis: {url: "redis://%[6]s/0", prefix: "%[1]s:"}
`, d.name, partitions, b.yaml(), s.grace, s.session, devservers.Redis(t), shared)
	t.Cleanup(d.removeTopics)
	return d
}

// randomClocks lets the clocks of the processes that come be apart.
func (d *deployment) randomClocks(rng *rand.Rand) {
	d.clock = func() time.Duration { return between(rng, -d.times.skew, d.times.skew) }
}

func between(rng *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(rng.Int64N(int64(to-from)+1))
}

// add starts a process.
func (d *deployment) add(name, roles string) *node {
	d.t.Helper()
	n := &node{name: name, roles: roles, Process: e2e.NewWorker(d.t, d.yaml, name, roles, e2e.WithClock(d.clock()),
		e2e.WithSilence(d.times.silence), e2e.WithSnapshots(20))}
	d.mu.Lock()
	d.nodes = append(d.nodes, n)
	d.mu.Unlock()
	n.Launch()
	return n
}

// addMore starts one more process of a role, of a name that nobody has had.
func (d *deployment) addMore(role string) *node {
	d.t.Helper()
	d.started++
	return d.add(fmt.Sprintf("%s-%d", role, d.started), role)
}

// addAll starts some splits and workers, and one process for the rest.
func (d *deployment) addAll(splits, workers int) (front *node) {
	d.t.Helper()
	for range splits {
		d.addMore("split")
	}
	for range workers {
		d.addMore("match")
	}
	return d.add("front", "publish,lookup,api")
}

// all are the nodes that there are now.
func (d *deployment) all() []*node {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.nodes)
}

// with are those that have a role.
func (d *deployment) with(role string) (some []*node) {
	for _, n := range d.all() {
		if strings.Contains(n.roles, role) {
			some = append(some, n)
		}
	}
	return some
}

// remove is for one that does not come back.
func (d *deployment) remove(n *node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes = slices.DeleteFunc(d.nodes, func(o *node) bool { return o == n })
}

// kill ends a process as a power cut of its machine does.
func (n *node) kill() {
	n.resume()
	if n.Cmd != nil {
		_ = n.Kill(syscall.SIGKILL) // it may have been on its way out
	}
}

// pause stops a process where it is; its connections stay.
func (n *node) pause() {
	if n.Cmd != nil && !n.paused {
		n.paused = n.Pause() == nil
	}
}

func (n *node) resume() {
	if n.paused {
		_ = n.Resume()
		n.paused = false
	}
}

// awaitReady waits until every process is ready.
func (d *deployment) awaitReady() {
	d.t.Helper()
	for _, n := range d.all() {
		n.AwaitReady(2*time.Minute + 2*d.times.grace)
	}
}
