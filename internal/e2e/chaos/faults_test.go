package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// fault is a kind of what is done to a deployment.
type fault int

const (
	killed fault = iota
	stopped
	paused
	added
	removed
	brokerKilled
	brokerPaused
	cut
	stalled
	unanswered
	snapshotDamaged
	faults // their number
)

// names are the columns of the table.
var names = [faults]string{"killed", "stopped", "stood still", "added", "removed", "brokers killed", "brokers stood still",
	"cut off", "stalled", "unanswered", "snapshots damaged"}

// weights are how often each is drawn.
var weights = [faults]int{killed: 8, stopped: 2, paused: 5, added: 2, removed: 2, brokerKilled: 3, brokerPaused: 2, cut: 3,
	stalled: 2, unanswered: 3}

// faultInjector does to a deployment what a seed draws. What lasts for a while ends meanwhile.
type faultInjector struct {
	*deployment
	rng      *rand.Rand
	counts   [faults]int
	starts   int // of processes and brokers that had been taken away
	endings  []ending
	silenced map[*proxy]bool

	brokers    sync.WaitGroup // that are being started
	brokerBusy chan struct{}  // holds one token while all brokers run
}

// ending is when something that was done ends.
type ending struct {
	at  time.Time
	end func()
}

func newFaultInjector(d *deployment, seed uint64) *faultInjector {
	m := &faultInjector{deployment: d, rng: rand.New(rand.NewPCG(seed, 1)), silenced: map[*proxy]bool{}, brokerBusy: make(chan struct{}, 1)}
	m.brokerBusy <- struct{}{}
	d.randomClocks(m.rng)
	return m
}

// run does one thing after the other until ctx ends, and then gives everything back.
func (m *faultInjector) run(ctx context.Context) {
	for next := time.Now(); ctx.Err() == nil; {
		if now := time.Now(); !now.Before(next) {
			m.do(m.draw())
			next = now.Add(between(m.rng, 0, m.times.between))
		}
		m.endDue(time.Now())
		m.wait(ctx, next)
	}
	m.endDue(time.Now().Add(time.Hour))
	m.brokers.Wait()
}

func (m *faultInjector) wait(ctx context.Context, next time.Time) {
	for _, e := range m.endings {
		if e.at.Before(next) {
			next = e.at
		}
	}
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// endDue ends what is due, in its order.
func (m *faultInjector) endDue(now time.Time) {
	slices.SortStableFunc(m.endings, func(a, b ending) int { return a.at.Compare(b.at) })
	for len(m.endings) > 0 && !m.endings[0].at.After(now) {
		e := m.endings[0]
		m.endings = m.endings[1:]
		e.end()
	}
}

// endAfter ends something after a while.
func (m *faultInjector) endAfter(limit time.Duration, end func()) {
	m.endings = append(m.endings, ending{time.Now().Add(between(m.rng, 0, limit)), end})
}

func (m *faultInjector) draw() fault {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := m.rng.IntN(sum)
	for f, w := range weights {
		if at -= w; at < 0 {
			return fault(f)
		}
	}
	panic("no weights")
}

func (m *faultInjector) do(f fault) {
	done := false
	switch f {
	case added, removed:
		done = m.changeProcesses(f)
	case brokerKilled, brokerPaused:
		done = m.brokerFault(f)
	case cut, stalled, unanswered:
		done = m.connectionFault(f)
	default:
		done = m.processFault(f)
	}
	if done {
		m.counts[f]++
	}
}

// idle are the processes to which nothing is being done now.
func (m *faultInjector) idle(role string) []*node {
	return slices.DeleteFunc(m.with(role), func(n *node) bool { return n.busy })
}

func pick[T any](rng *rand.Rand, all []T) (one T, ok bool) {
	if len(all) == 0 {
		return one, false
	}
	return all[rng.IntN(len(all))], true
}

func (m *faultInjector) processFault(f fault) bool {
	n, ok := pick(m.rng, m.idle(""))
	if !ok {
		return false
	}
	m.t.Logf("%s: %s", n.name, names[f])
	n.busy = true
	switch f {
	case killed:
		n.kill()
	case stopped:
		_ = n.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	case paused:
		n.pause()
		m.endAfter(m.times.pause, func() { n.resume(); n.busy = false })
		return true
	}
	m.endAfter(m.times.pause, func() { m.startAgain(n) })
	return true
}

// startAgain starts a process that was killed, or told to stop, which ends now if it has not.
func (m *faultInjector) startAgain(n *node) {
	m.t.Logf("%s starts again", n.name)
	n.kill()
	if m.rng.IntN(2) == 0 && n.damageSnapshot(m.rng, m.shared) {
		m.counts[snapshotDamaged]++
	}
	n.Launch()
	n.busy = false
	m.starts++
}

// changeProcesses adds a process of a new name, or removes one for good.
func (m *faultInjector) changeProcesses(f fault) bool {
	role, limit := "match", 6
	if m.rng.IntN(4) == 0 {
		role, limit = "split", 3
	}
	some := m.with(role)
	if f == added {
		if len(some) >= limit {
			return false
		}
		m.t.Logf("%s is added", m.addMore(role).name)
		return true
	}
	n, ok := pick(m.rng, m.idle(role))
	if !ok || len(some) <= 2 {
		return false
	}
	m.t.Logf("%s is removed", n.name)
	m.remove(n)
	if m.rng.IntN(2) == 0 {
		n.kill()
		return true
	}
	_ = n.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	m.endAfter(m.times.pause, n.kill)
	return true
}

// brokerFault takes one of three brokers away for a while: never two at a time.
func (m *faultInjector) brokerFault(f fault) bool {
	if m.b.nodes == nil {
		return false
	}
	select {
	case <-m.brokerBusy:
	default:
		return false
	}
	n := 1 + m.rng.IntN(3)
	m.t.Logf("broker %d: %s", n, names[f])
	if f == brokerPaused {
		m.b.nodes.Pause(n)
		m.endAfter(m.times.pause, func() { m.b.nodes.Continue(n); m.brokerBusy <- struct{}{} })
		return true
	}
	m.b.nodes.Kill(n)
	m.endAfter(m.times.pause, func() {
		m.starts++
		m.brokers.Go(func() {
			m.b.nodes.Start(n)
			m.brokerBusy <- struct{}{}
		})
	})
	return true
}

// connectionFault cuts some connections to a broker at once, or after a while in which nothing passes, or no answer.
func (m *faultInjector) connectionFault(f fault) bool {
	p, ok := pick(m.rng, m.b.proxies)
	if !ok || m.silenced[p] {
		return false
	}
	m.t.Logf("broker at %s: %s", p.to, names[f])
	if f == cut {
		for _, l := range p.sample(m.rng, 0.5) {
			l.cut()
		}
		return true
	}
	m.silenced[p] = true
	end, cutThen := p.silence(m.rng, silence{requests: f == stalled, answers: true}), m.rng.IntN(2) == 0
	m.endAfter(m.times.pause, func() {
		end(cutThen)
		delete(m.silenced, p)
	})
	return true
}
