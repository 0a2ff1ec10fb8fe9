package outages

import (
	"flag"
	"syscall"
	"testing"
	"time"

	"refrain/internal/devservers"
)

var rate = flag.Int("outages.rate", 2000, "posts a second of a full run")

// TestRollingUpgrade: four workers are stopped and started again one after the other, as a new version would be, while posts
// come in. No event is lost; how late they are is told.
func TestRollingUpgrade(t *testing.T) {
	skipUnlessFull(t)
	perSecond, apart := *rate, 10*time.Second
	d := newDeployment(t, startBroker(t, "kafka"), devservers.StartRedis(t).Addr(), "")
	front := d.standard(4)
	memory, arrivals := d.watchMemory(), follow(t, front)

	const longest = 10 * time.Minute
	begin := time.Now().Add(time.Second)
	posts := realPosts(t, int(longest.Seconds())*perSecond, perSecond, begin)
	all := newClients(d.withRole("split"), manyClients)
	stop := all.begin(t, posts)
	sleepUntil(t.Context(), begin.Add(5*apart))
	upgrade := time.Now()
	for _, p := range d.withRole("match") {
		stopped := time.Now()
		p.end(syscall.SIGTERM)
		ended := time.Since(stopped)
		p.launch()
		p.AwaitReady(2 * time.Minute)
		t.Logf("%s: ended after %v, ready after %v", p.name, ended.Round(time.Millisecond), time.Since(stopped).Round(time.Millisecond))
		sleepUntil(t.Context(), time.Now().Add(apart))
	}
	upgraded := time.Now()
	sent := posts[:stop()]
	d.wantEvents(front, sent)
	memory.endPhase("all the time")
	memory.check()
	t.Logf("answers: %v", &all.answers)
	t.Logf("delays before: %v", arrivals.delays(sent, begin.Add(apart), upgrade))
	t.Logf("delays during the upgrade, of %v: %v", upgraded.Sub(upgrade).Round(time.Second), arrivals.delays(sent, upgrade, upgraded))
	if err := all.answers.check(); err != nil {
		t.Error(err)
	}
}
