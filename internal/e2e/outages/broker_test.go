package outages

import (
	"flag"
	"slices"
	"sync"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// outage is how long something is away, and what comes in meanwhile.
type outage struct {
	rate                int // posts a second
	before, away, after time.Duration
}

var awayFor = flag.Duration("outages.away", 5*time.Minute, "how long something is away in a full run")

func outageLengths() outage {
	if *e2e.Full {
		return outage{rate: *rate, before: 30 * time.Second, away: *awayFor, after: 30 * time.Second}
	}
	return outage{rate: 500, before: 3 * time.Second, away: 15 * time.Second, after: 3 * time.Second}
}

func (o *outage) posts() int {
	return int((o.before + o.away + o.after).Seconds() * float64(o.rate))
}

// manyClients is how many clients send at the same time: more than the door has places for.
const manyClients = 64

// TestBrokerAway: the broker of the topics is killed with all its nodes. Clients are told to come back, the source stops
// reading, no process takes more memory than it may, and then everything is delivered.
func TestBrokerAway(t *testing.T) {
	for _, kind := range []string{"kafka", "nats"} {
		t.Run(kind, func(t *testing.T) { brokerAway(t, startBroker(t, kind), broker.Kill, broker.Start) })
	}
}

// TestBrokerStandsStill: the same where its connections stay and nothing is answered.
func TestBrokerStandsStill(t *testing.T) {
	skipUnlessFull(t)
	for _, kind := range []string{"kafka", "nats"} {
		t.Run(kind, func(t *testing.T) { brokerAway(t, startBroker(t, kind), broker.Pause, broker.Continue) })
	}
}

func brokerAway(t *testing.T, b broker, away, back func(broker)) {
	o := outageLengths()
	source := devservers.NewSourceTopic(t, devservers.StartKafka(t).Addr())
	d := newDeployment(t, b, devservers.StartRedis(t).Addr(), source.YAML())
	front := d.standard(2)
	memory, arrivals := d.watchMemory(), follow(t, front)

	begin := time.Now().Add(time.Second)
	posts := realPosts(t, o.posts(), o.rate, begin)
	byHTTP, byTopic := everySecond(posts)
	all := newClients(d.withRole("split"), manyClients)
	var feeding sync.WaitGroup
	feeding.Go(func() { all.send(t.Context(), manyClients, byHTTP) })
	feeding.Go(func() { sendTo(t.Context(), source, byTopic) })

	gone := begin.Add(o.before)
	sleepUntil(t.Context(), gone)
	memory.endPhase("before")
	away(b)
	sleepUntil(t.Context(), gone.Add(o.away))
	memory.endPhase("away")
	back(b)
	isBack := time.Now()
	feeding.Wait()
	t.Logf("all accepted %v after it was back", time.Since(isBack).Round(time.Millisecond))
	front.Await(10*time.Minute, "posts of the source", func() bool { return source.Committed() >= len(byTopic) })
	d.wantEvents(front, posts)
	t.Logf("all delivered %v after it was back", time.Since(isBack).Round(time.Millisecond))
	memory.endPhase("afterwards")
	memory.check()
	t.Logf("answers: %v", &all.answers)
	t.Logf("delays before: %v", arrivals.delays(posts, begin, gone.Add(-time.Second)))
	if err := all.answers.check(); err != nil {
		t.Error(err)
	}
}

// everySecond deals batches out to two.
func everySecond(posts []post) (some, others []post) {
	toOthers := false
	for batch := range slices.Chunk(posts, clientBatch) {
		if toOthers {
			others = append(others, batch...)
		} else {
			some = append(some, batch...)
		}
		toOthers = !toOthers
	}
	return some, others
}

// wantEvents wants the events of detect.
func (d *deployment) wantEvents(front *process, posts []post) {
	d.t.Helper()
	settings := e2e.DefaultSettings()
	settings.Window.MaxMatches = 0
	want := oracle.Sorted(e2e.Detect(d.t, joined(posts), settings, nil))
	got := slices.Compact(front.Events())
	if missing, extra := oracle.Diff(got, want); len(missing)+len(extra) > 0 {
		d.t.Errorf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
		return
	}
	d.t.Logf("%d events of %d posts, none missing, none false", len(want), len(posts))
}
