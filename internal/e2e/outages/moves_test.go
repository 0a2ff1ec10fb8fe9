package outages

import (
	"syscall"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/kafkaconn"
	"refrain/shard"
	"refrain/topic"
	"refrain/topic/kafka"
)

// TestReturningWorkerMoves: of four workers one leaves for longer than the grace, and comes back. Each time at most two of
// the four parts of the partitions change hands, and in the end everybody has what he had.
func TestReturningWorkerMoves(t *testing.T) {
	skipUnlessFull(t)
	b := oneKafka(t)
	d := newDeployment(t, b, devservers.StartRedis(t).Addr(), "")
	for _, name := range []string{"match-1", "match-2", "match-3", "match-4"} {
		d.add(name, "match")
	}
	d.awaitReady()
	store := d.store(b.Addr())
	before := d.awaitOwners(store, 4)
	leaver := d.procs[1]
	leaver.end(syscall.SIGTERM)
	during := d.awaitOwners(store, 3)
	leaver.launch()
	leaver.AwaitReady(time.Minute)
	after := d.awaitOwners(store, 4)
	const most = partitions * 2 / 4
	if left, returned := moved(before, during), moved(during, after); left > most || returned > most {
		t.Errorf("%d partitions moved when it left and %d when it came back, of %d; want %d at most", left, returned, partitions, most)
	}
	if n := moved(before, after); n > 0 {
		t.Errorf("in the end %d partitions are elsewhere than before", n)
	}
	t.Logf("owners before %v, without it %v, after %v", before, during, after)
}

// store is what the processes keep their states in.
func (d *deployment) store(addr string) topic.Store {
	d.t.Helper()
	conn, err := kafkaconn.New(kafkaconn.Config{Brokers: []string{addr}})
	if err != nil {
		d.t.Fatal(err)
	}
	cfg := kafka.Default()
	cfg.Conn, cfg.Name = conn, d.name
	c, err := kafka.Open(d.t.Context(), cfg)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Close() }) // nothing was written
	s, err := c.OpenStore(d.t.Context(), d.name+"-state")
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// awaitOwners waits until so many workers have all partitions, and returns who has which.
func (d *deployment) awaitOwners(store topic.Store, n int) (names [partitions]string) {
	d.t.Helper()
	d.procs[0].Await(2*time.Minute, "owners of all partitions", func() bool {
		different := map[string]bool{}
		for q := range names {
			o, err := shard.ReadOwner(d.t.Context(), store, q)
			if err != nil || o == nil || time.Since(o.Time) > 10*time.Second {
				return false
			}
			names[q], different[o.Worker] = o.Worker, true
		}
		return len(different) == n
	})
	return names
}

func moved(from, to [partitions]string) (n int) {
	for q := range from {
		if from[q] != to[q] {
			n++
		}
	}
	return n
}
