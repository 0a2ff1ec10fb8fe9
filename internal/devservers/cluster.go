package devservers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// StartKafka3Behind starts three brokers that clients reach at the addresses given, where the test passes on what it hears to
// Behind.
func StartKafka3Behind(tb testing.TB, advertised []string) *Cluster {
	tb.Helper()
	return &Cluster{start(tb, "kafka3", "ADVERTISE="+strings.Join(advertised, ","))}
}

// StartNATS3Behind is the same of NATS servers.
func StartNATS3Behind(tb testing.TB, advertised []string) *Cluster {
	tb.Helper()
	return &Cluster{start(tb, "nats3", "ADVERTISE="+strings.Join(advertised, ","))}
}

// Behind is where the nodes listen for what came to the addresses that they advertise, in order: HOST:PORT.
func (c *Cluster) Behind() (addrs []string) {
	c.server.tb.Helper()
	for n := range 3 {
		addr, err := os.ReadFile(filepath.Join(c.server.dir, strconv.Itoa(n+1), "kafka-behind.addr"))
		if errors.Is(err, fs.ErrNotExist) { // NATS servers have one address
			return strings.Split(strings.ReplaceAll(c.server.addr, "nats://", ""), ",")
		}
		if err != nil {
			c.server.tb.Fatal(err)
		}
		addrs = append(addrs, strings.TrimSpace(string(addr)))
	}
	return addrs
}

// Cluster is a test's own cluster of three nodes, numbered 1, 2, 3. It is used as Server is.
type Cluster struct{ server *Server }

// StartKafka3 starts three brokers like the shared ones. It takes ten seconds and 1.2 GB.
func StartKafka3(tb testing.TB) *Cluster {
	tb.Helper()
	return &Cluster{start(tb, "kafka3")}
}

// StartNATS3 starts three NATS servers with JetStream. It takes a second.
func StartNATS3(tb testing.TB) *Cluster {
	tb.Helper()
	return &Cluster{start(tb, "nats3")}
}

// Addrs returns where the nodes are, in order, whether they run or not: HOST:PORT; of NATS URLs.
func (c *Cluster) Addrs() []string { return strings.Split(c.server.addr, ",") }

// Stop ends node n in good order.
func (c *Cluster) Stop(n int) { c.server.tb.Helper(); c.server.must("stop", strconv.Itoa(n)) }

// Kill ends node n with SIGKILL.
func (c *Cluster) Kill(n int) { c.server.tb.Helper(); c.server.must("kill", strconv.Itoa(n)) }

// Start starts node n again, at its address and with its data, and returns when it is part of the cluster: another
// one has to run.
func (c *Cluster) Start(n int) { c.server.tb.Helper(); c.server.must("start", strconv.Itoa(n)) }

// Pause stops node n where it is: its connections stay and nothing is answered, until Continue.
func (c *Cluster) Pause(n int) { c.server.tb.Helper(); c.server.must("pause", strconv.Itoa(n)) }

// Continue lets a paused node go on.
func (c *Cluster) Continue(n int) { c.server.tb.Helper(); c.server.must("continue", strconv.Itoa(n)) }

// StopAll ends all nodes at once, in good order.
func (c *Cluster) StopAll() { c.server.tb.Helper(); c.server.Stop() }

// KillAll ends all nodes with SIGKILL.
func (c *Cluster) KillAll() { c.server.tb.Helper(); c.server.Kill() }

// StartAll starts the nodes that do not run, and returns when all three are ready.
func (c *Cluster) StartAll() { c.server.tb.Helper(); c.server.Start() }
