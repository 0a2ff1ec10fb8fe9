package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"refrain/feed"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/shard"
)

// TestChaosOnAFake: crews and splits on a cluster of Kafka's kind in this process, which does wrong what a seed draws: a day
// of it takes seconds.
func TestChaosOnAFake(t *testing.T) {
	n := 3
	if *e2e.Full {
		n = 3 * *runs
	}
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	for s := *seed; s < *seed+uint64(n); s++ {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			begin, r := time.Now(), fakeRun{reader: reader}
			synctest.Test(t, func(t *testing.T) { r.on(t, s) })
			t.Logf("seed %d: %d events, %v faults, took %v", s, r.events, r.counts, time.Since(begin).Round(time.Millisecond))
		})
	}
}

type fakeRun struct {
	reader *sdkmetric.ManualReader
	events int
	counts map[string]int
}

// fakePosts are few texts, often with another word, over an hour and a half.
func fakePosts(rng *rand.Rand, n int) (posts []feed.Post) {
	at := feed.FromTime(time.Now().Add(-2 * time.Hour))
	for i := range n {
		at = at.Add(time.Duration(rng.IntN(int(2 * 90 * time.Minute / time.Duration(n)))))
		posts = append(posts, feed.Post{ID: fmt.Sprint(i), Time: at.Add(-time.Duration(rng.IntN(int(time.Minute)))), Timed: true,
			Text: fmt.Sprintf("there are %d bottles of beer on the wall and %d of them are green tonight", rng.IntN(20), rng.IntN(3))})
	}
	return posts
}

func (r *fakeRun) on(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	r.counts = map[string]int{}
	posts := fakePosts(rng, 800)
	d := newFakeDeployment(t, rng)
	for range 3 {
		d.addCrew()
	}
	for i := range d.splits {
		d.openSplit(i)
	}
	d.reading = d.openFake()
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		d.feed(rand.New(rand.NewPCG(seed, 4)), posts[:700])
	}()
	r.injectFaults(d, fed)
	d.awaitEnd()
	before := r.sums(t)
	for some := range slices.Chunk(posts[700:], 20) {
		if err := d.anySplit(rng).Write(t.Context(), slices.Clone(some), "s"); err != nil {
			t.Fatal(err)
		}
	}
	d.awaitEnd()
	r.wantBalance(t, before)
	r.wantEvents(t, d.reading, posts)
}

func (d *fakeDeployment) addCrew() {
	d.started++
	d.openCrew(fmt.Sprintf("match-%d", d.started))
}

// feed writes all in their order, each batch until it is acknowledged, and some of them twice.
func (d *fakeDeployment) feed(rng *rand.Rand, posts []feed.Post) {
	for some := range slices.Chunk(posts, 20) {
		for n := 1 + rng.IntN(6)/5; n > 0; {
			ctx, cancel := context.WithTimeout(d.t.Context(), 2*patience)
			if err := d.anySplit(rng).Write(ctx, slices.Clone(some), "s"); err == nil {
				n--
			}
			cancel()
		}
		<-time.After(between(rng, 0, 2*time.Second))
	}
}

// injectFaults does what is drawn until all is fed, and then lets everything run.
func (r *fakeRun) injectFaults(d *fakeDeployment, fed <-chan struct{}) {
	m := &fakeFaultInjector{fakeDeployment: d, counts: r.counts}
	for {
		m.do()
		select {
		case <-fed:
			m.end()
			return
		case <-time.After(between(d.rng, 0, scaled.between)):
		}
	}
}

// fakeFaultInjector does to what is in this process what a seed draws.
type fakeFaultInjector struct {
	*fakeDeployment
	counts map[string]int
	ends   []func()
}

func (m *fakeFaultInjector) do() {
	switch m.rng.IntN(10) {
	case 0, 1:
		m.killCrew()
	case 2:
		m.changeCrews()
	case 3:
		m.killSplit()
	case 4, 5, 6:
		m.isolate()
	case 7:
		m.counts["leaders moved"]++
		m.cluster.ShufflePartitionLeaders()
	case 8:
		m.counts["coordinators moved"]++
		m.cluster.RehashCoordinators()
	case 9:
		m.refuse()
	}
}

// killCrew kills a process, and starts it again at once or after a while: its name is taken until its session ends.
func (m *fakeFaultInjector) killCrew() {
	c, ok := pick(m.rng, m.crews)
	if !ok {
		return
	}
	m.counts["killed"]++
	m.crews = slices.DeleteFunc(m.crews, func(o *fakeCrew) bool { return o == c })
	m.kill(c)
	<-time.After(between(m.rng, 0, scaled.pause))
	m.openCrew(c.name)
}

// changeCrews adds a process of a new name, or ends one for good.
func (m *fakeFaultInjector) changeCrews() {
	if len(m.crews) < 3 || len(m.crews) < 5 && m.rng.IntN(2) == 0 {
		m.counts["added"]++
		m.addCrew()
		return
	}
	m.counts["removed"]++
	c := m.crews[0]
	m.crews = m.crews[1:]
	if m.rng.IntN(2) == 0 {
		m.kill(c)
		return
	}
	m.ending.Go(func() { c.stop(m.t) })
}

func (m *fakeFaultInjector) killSplit() {
	m.counts["splits killed"]++
	i := m.rng.IntN(len(m.splits))
	old := m.splits[i]
	old.kill()
	m.ending.Go(old.stop)
	m.openSplit(i)
}

// isolate cuts a process off the cluster for a while: it goes on as a zombie. What was under way is lost, or comes late.
func (m *fakeFaultInjector) isolate() {
	processes := []*fakeProcess{m.anySplit(m.rng).fakeProcess}
	for _, c := range m.crews {
		processes = append(processes, c.fakeProcess)
	}
	p, _ := pick(m.rng, processes)
	what := m.rng.IntN(3)
	m.counts[[]string{"cut off", "stalled", "unanswered"}[what]]++
	if what == 0 {
		for _, l := range p.sample(m.rng, 0.5) {
			l.cut()
		}
		return
	}
	end, cutThen := p.silence(m.rng, silence{requests: what == 1, answers: true}), m.rng.IntN(2) == 0
	time.AfterFunc(between(m.rng, 0, scaled.pause), func() { end(cutThen) })
}

// refusals are what brokers answer while something is wrong with them; after the first two the records are there all the same.
var refusals = []struct {
	key kmsg.Key
	err *kerr.Error
}{
	{kmsg.Produce, kerr.NotEnoughReplicasAfterAppend},
	{kmsg.Produce, kerr.RequestTimedOut},
	{kmsg.Produce, kerr.NotEnoughReplicas},
	{kmsg.Produce, kerr.NotLeaderForPartition},
	{kmsg.Fetch, kerr.NotLeaderForPartition},
	{kmsg.Fetch, kerr.UnknownServerError},
	{kmsg.Fetch, kerr.OffsetNotAvailable},
	{kmsg.ListOffsets, kerr.LeaderNotAvailable},
	{kmsg.Metadata, kerr.LeaderNotAvailable},
	{kmsg.FindCoordinator, kerr.CoordinatorNotAvailable},
	{kmsg.JoinGroup, kerr.CoordinatorLoadInProgress},
	{kmsg.SyncGroup, kerr.RebalanceInProgress},
	{kmsg.Heartbeat, kerr.UnknownMemberID},
	{kmsg.Heartbeat, kerr.NotCoordinator},
}

func (m *fakeFaultInjector) refuse() {
	one, _ := pick(m.rng, refusals)
	m.counts[one.key.Name()+": "+one.err.Message]++
	m.ends = append(m.ends, m.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{one.key}, Err: one.err, Count: 1 + m.rng.IntN(5)}).Remove)
}

// end waits until what was begun has ended.
func (m *fakeFaultInjector) end() {
	for _, end := range m.ends {
		end()
	}
	<-time.After(scaled.pause)
}

// awaitEnd waits until all that the sentence topic holds is looked up by all owners, and they have been the same for a while:
// one that takes a partition over counts what it looks up again.
func (d *fakeDeployment) awaitEnd() {
	ctx, cancel := context.WithTimeout(d.t.Context(), 5*time.Minute)
	defer cancel()
	_, ends, err := d.reading.sentences.Bounds(ctx)
	for still := 0; err == nil; <-time.After(time.Second) {
		var through bool
		if through, err = d.caughtUp(ctx, ends); !through {
			still = 0
		} else if still++; still > 15 {
			return
		}
	}
	for _, c := range d.crews {
		d.t.Logf("%s: %+v", c.name, c.crew.Partitions())
	}
	d.t.Fatalf("look-ups do not come to the end: %v", err)
}

func (d *fakeDeployment) caughtUp(ctx context.Context, ends []int64) (bool, error) {
	for q := range fakePartitions {
		state, err := shard.ReadState(ctx, d.reading.store, q)
		if err != nil || state == nil {
			return false, err
		}
		for i, end := range ends {
			if state.LookupFrom[i] < end {
				return false, nil
			}
		}
	}
	caughtUp := 0
	for _, c := range d.crews {
		for _, one := range c.crew.Partitions() {
			if !one.CaughtUp {
				return false, nil
			}
			caughtUp++
		}
	}
	return caughtUp == fakePartitions, nil
}

// sums are all counters of this process, those of the dead included.
func (r *fakeRun) sums(t *testing.T) map[string]int {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	sums := map[string]int{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			counter, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, p := range counter.DataPoints {
				result, _ := p.Attributes.Value("result")
				sums[m.Name+"/"+result.AsString()] += int(p.Value)
			}
		}
	}
	return sums
}

func (r *fakeRun) wantBalance(t *testing.T, before map[string]int) {
	t.Helper()
	c := r.sums(t)
	for name := range c {
		c[name] -= before[name]
	}
	const sigstore = "refrain_sigstore_sentences/"
	inserted, repeats := c[sigstore+"inserted"], c[sigstore+"repeat"]
	became := inserted + repeats + c[sigstore+"too_short"] + c[sigstore+"deleted"]
	// Of an append that was made again some may be there twice.
	if n, again := c["refrain_split_sentences/"], c["refrain_split_unconfirmed_sentences/"]; n != 100 || became < n || became > n+again {
		t.Errorf("%d sentences of 100 posts of one each, %d again, %d that something became of: %v", n, again, became, c)
	}
	if got, want := c["refrain_shard_lookups/"], inserted*fakePartitions+repeats*(fakePartitions-1); got != want {
		t.Errorf("%d look-ups, want %d: %v", got, want, c)
	}
}

func (r *fakeRun) wantEvents(t *testing.T, p *fakeProcess, posts []feed.Post) {
	t.Helper()
	settings := e2e.DefaultSettings()
	settings.Window.Span = fakeSpan
	want := oracle.Sorted(e2e.Detect(t, linesOf(posts), settings, nil))
	got := oracle.Sorted(p.allEvents(t))
	if missing, extra := oracle.Diff(slices.Compact(got), want); len(missing)+len(extra) > 0 {
		t.Errorf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	r.events = len(want)
}

// linesOf are posts as detect reads them.
func linesOf(posts []feed.Post) []byte {
	var out bytes.Buffer
	for _, p := range posts {
		line, _ := json.Marshal(map[string]any{"id": p.ID, "text": p.Text, "created_at": p.Time.Time()}) // of words and a time
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// allEvents are those that the event topic holds.
func (p *fakeProcess) allEvents(t *testing.T) (ids []feed.Hash) {
	t.Helper()
	start, end, err := p.events.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.events.Open(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for at := start[0]; at < end[0]; {
		records, err := r.Fetch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			e, err := feed.DecodeEvent(records[i].Data)
			if err != nil {
				t.Fatal(err)
			}
			ids, at = append(ids, e.ID), records[i].Position+1
		}
	}
	return ids
}
