package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMoves: of four workers one leaves for longer than the grace, and returns. At most 2/4 of the partitions move, and then
// everybody has what it had.
func TestMoves(t *testing.T) {
	t.Run("kafka", func(t *testing.T) { leaveAndReturn(t, sharedKafka(t)) })
	t.Run("nats", func(t *testing.T) { leaveAndReturn(t, sharedNATS(t)) })
}

func leaveAndReturn(t *testing.T, b broker) {
	const workers, partitions = 4, 16 * 4
	quick := scaled
	quick.grace = time.Second
	d := newDeployment(t, b, quick, partitions, "")
	for range workers {
		d.addMore("match")
	}
	d.awaitReady()
	before := d.awaitOwners(partitions, workers)
	leaver := d.all()[0]
	leaver.kill()
	d.remove(leaver)
	without := d.awaitOwners(partitions, workers-1)
	if n := moved(before, without); n > 2*partitions/workers || n == 0 {
		t.Errorf("%d of %d partitions have moved, want at most 2/%d of them", n, partitions, workers)
	}
	d.nodes = append(d.nodes, leaver)
	leaver.Launch()
	d.awaitReady()
	if n := moved(before, d.awaitOwners(partitions, workers)); n > 0 {
		t.Errorf("%d partitions are not where they were", n)
	}
	t.Logf("%d of %d partitions moved", moved(before, without), partitions)
}

// awaitOwners waits until so many workers have all the partitions, each of them one.
func (d *deployment) awaitOwners(partitions, workers int) (owners map[int]string) {
	d.t.Helper()
	d.all()[0].Await(time.Minute, fmt.Sprintf("agreement of %d workers", workers), func() bool {
		owners = map[int]string{}
		sum, having := 0, 0
		for _, n := range d.all() {
			assigned := n.assigned()
			sum += len(assigned)
			having += min(1, len(assigned))
			for _, q := range assigned {
				owners[q] = n.name
			}
		}
		return sum == partitions && len(owners) == partitions && having == workers
	})
	return owners
}

// assigned is what a worker has last said to have.
func (n *node) assigned() (partitions []int) {
	for _, line := range slices.Backward(strings.Split(n.Log.String(), "\n")) {
		var said struct {
			Msg        string
			Partitions []int
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "partitions assigned" {
			return said.Partitions
		}
	}
	return nil
}

func moved(before, after map[int]string) (n int) {
	for q := range before {
		if before[q] != after[q] {
			n++
		}
	}
	return n
}
