package shard

import (
	"slices"
	"testing"
	"time"

	"refrain/feed"
	"refrain/topic"
)

func TestWindowClock(t *testing.T) {
	type meeting struct {
		partition int
		second    int64 // of the record's stamp
		watermark *topic.Watermark
	}
	active := func(p int, second int64, writer string, at feed.Time) meeting {
		return meeting{p, second, &topic.Watermark{Writer: uint64(writer[0]), Source: writer, Time: at, Newest: at}}
	}
	idle := func(p int, second int64, writer string, at feed.Time) meeting {
		return meeting{p, second, &topic.Watermark{Writer: uint64(writer[0]), Source: writer, Time: at, Newest: at, Idle: true}}
	}
	// flow is records without watermarks in both partitions, one a second from a second to another.
	flow := func(from, to int64) (all []meeting) {
		for ; from <= to; from++ {
			all = append(all, meeting{0, from, nil}, meeting{1, from, nil})
		}
		return all
	}
	both := []meeting{active(0, 0, "b", 7), active(0, 0, "a", 10), active(1, 0, "a", 10), active(1, 0, "b", 7)}
	tests := []struct {
		name  string
		meets []meeting
		want  feed.Time // 0: none
	}{
		{"nothing", nil, 0},
		{"one partition alone says nothing", []meeting{active(0, 0, "a", 10)}, 0},
		{"the least of the partitions", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 8)}, 8},
		{"the least of the writers", []meeting{active(0, 0, "a", 10), active(0, 0, "b", 7), active(1, 0, "b", 9),
			active(1, 0, "a", 10)}, 7},
		{"never falls", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10), active(0, 0, "a", 5)}, 10},
		{"a new writer holds it until heard of everywhere", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10),
			active(0, 0, "b", 50), active(0, 0, "a", 20), active(1, 0, "a", 20)}, 10},
		{"one with nothing yet holds it", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10),
			active(0, 0, "b", 0), active(1, 0, "b", 0), active(0, 0, "a", 99), active(1, 0, "a", 99)}, 10},
		{"an idle one does not hold it", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10), active(0, 0, "b", 7),
			active(1, 0, "b", 7), idle(0, 0, "b", 7), idle(1, 0, "b", 7), active(0, 0, "a", 12), active(1, 0, "a", 12)}, 12},
		{"nobody active: it stays", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10), idle(0, 0, "a", 90),
			idle(1, 0, "a", 90)}, 10},
		{"idle here, awake there: both times count", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10),
			idle(0, 0, "a", 10), idle(1, 0, "a", 10), active(0, 0, "a", 99)}, 10},
		{"a writer that died does not hold it", slices.Concat(both, flow(1, 121),
			[]meeting{active(0, 121, "a", 20), active(1, 121, "a", 20)}), 20},
		{"silent in one partition is not dead", slices.Concat(both, flow(1, 120),
			[]meeting{active(0, 121, "a", 20), active(1, 120, "a", 20)}), 7},
		{"a standstill makes nobody dead", slices.Concat(both,
			[]meeting{active(0, 100_000, "a", 20), active(1, 100_000, "a", 20)}), 7},
		{"a pause is 5 s of silence", slices.Concat(both, []meeting{active(0, 100_000, "a", 20), active(1, 100_000, "a", 20)},
			flow(100_001, 100_116), []meeting{active(0, 100_116, "a", 30), active(1, 100_116, "a", 30)}), 30},
		{"and no more", slices.Concat(both, []meeting{active(0, 100_000, "a", 20), active(1, 100_000, "a", 20)},
			flow(100_001, 100_115), []meeting{active(0, 100_115, "a", 30), active(1, 100_115, "a", 30)}), 7},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newWatermarks(2)
			for _, x := range test.meets {
				m.observe(x.partition, x.second*time.Second.Nanoseconds(), x.watermark)
				m.advance(2*time.Minute, time.Hour)
			}
			if got, known := m.Clock(); got != test.want || known != (test.want != 0) {
				t.Errorf("got %d %v, want %d", got, known, test.want)
			}
		})
	}
}

// TestMaxHold: the slowest holds W, but not further than maxHold behind the fastest, and W reports whom it passes.
func TestMaxHold(t *testing.T) {
	m := newWatermarks(2)
	meet := func(p int, at, newest feed.Time) (moved bool, passed string) {
		m.observe(p, 0, &topic.Watermark{Writer: 1, Source: "slow", Time: at, Newest: newest})
		return m.advance(2*time.Minute, time.Second)
	}
	for i, step := range []struct {
		partition  int
		at, newest feed.Time
		moved      bool
		passed     string
		want       feed.Time
	}{
		{0, 100, 500, false, "", 0},
		{1, 100, 500, true, "", 100},
		{0, 100, 5000, false, "", 100}, // not observed everywhere
		{1, 100, 1100, false, "", 100}, // just as far as it may be
		{1, 101, 1200, true, "slow", 200},
		{1, 199, 1200, false, "", 200}, // already passed
		{1, 300, 1200, false, "", 200},
		{0, 400, 5000, true, "", 300},
		{1, 300, 6000, true, "slow", 4000},
	} {
		moved, passed := meet(step.partition, step.at, step.newest)
		if got, _ := m.Clock(); moved != step.moved || passed != step.passed || got != step.want {
			t.Errorf("step %d: moved %v past %q to %d, want %v, %q, %d", i, moved, passed, got, step.moved, step.passed, step.want)
		}
	}
	// One that has not been observed everywhere is no exception.
	m.observe(0, 0, &topic.Watermark{Writer: 2, Source: "new", Time: 1, Newest: 1})
	if moved, _ := meet(1, 7000, 8000); moved {
		t.Error("moved without being heard of everywhere")
	}
	if moved, passed := meet(0, 7000, 8000); !moved || passed != "new" {
		t.Errorf("moved %v past %q, want new to be passed", moved, passed)
	}
}

// TestNoClockIsNotBehind: a source partition that is expected and has brought no posts yet holds W, but is not more than
// maxHold behind: nobody knows of anything there.
func TestNoClockIsNotBehind(t *testing.T) {
	const now, hour = feed.Time(1_700_000_000_000), feed.Time(3_600_000)
	m := newWatermarks(1)
	for i, step := range []struct {
		at, newest feed.Time
		clock      feed.Time // 0: none
		passed     string
		held       time.Duration
	}{
		{0, 0, 0, "", 0}, // nobody has brought anything
		{0, now, now - hour, "", time.Hour},
		{0, now + hour, now, "", time.Hour},
		{1, now + 2*hour, now + hour, "quiet", time.Duration(now+2*hour-1) * time.Millisecond}, // its posts are that old
	} {
		m.observe(0, 0, &topic.Watermark{Writer: 1, Source: "quiet", Time: step.at, Newest: step.newest})
		_, passed := m.advance(2*time.Minute, time.Hour)
		if clock, known := m.Clock(); clock != step.clock || known != (clock != 0) || passed != step.passed {
			t.Errorf("step %d: W %d (%v), passed %q, want %d, %q", i, clock, known, passed, step.clock, step.passed)
		}
		held := time.Duration(0)
		if h := m.held(); h != nil {
			held = h.Behind
		}
		if held != step.held {
			t.Errorf("step %d: held by %v, want %v", i, held, step.held)
		}
	}
	// W stops where one that is not heard of everywhere may be. That one is not behind either.
	m = newWatermarks(2)
	for p := range 2 {
		m.observe(p, 0, &topic.Watermark{Writer: 1, Source: "fast", Time: now, Newest: now})
	}
	m.observe(0, 0, &topic.Watermark{Writer: 2, Source: "new", Time: now, Newest: now})
	if moved, passed := m.advance(2*time.Minute, time.Hour); !moved || passed != "" {
		t.Errorf("moved %v past %q, want nobody to be passed", moved, passed)
	}
}

// BenchmarkWatermarks is a second of watermarks of a writer in 32 partitions, as one partition's look-ups observe them in
// 32 turns. How many source partitions the writer has makes no difference.
func BenchmarkWatermarks(b *testing.B) {
	const partitions = 32
	m := newWatermarks(partitions)
	stamp := int64(0)
	watermark := topic.Watermark{Writer: 1, Source: "kafka/posts/17"}
	b.ReportAllocs()
	for b.Loop() {
		stamp += time.Second.Nanoseconds()
		for p := range partitions {
			watermark.Time, watermark.Newest = feed.Time(stamp/1e6), feed.Time(stamp/1e6)
			m.observe(p, stamp, &watermark)
			m.advance(2*time.Minute, time.Hour)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/partitions, "ns/turn")
	s := State{LookupFrom: make([]int64, partitions), Watermarks: m}
	b.ReportMetric(float64(len(s.Append(nil))), "state-bytes")
	record := topic.Batch{Watermark: &watermark, TextVersion: 1}
	b.ReportMetric(float64(len(record.Append(nil))*partitions), "mark-bytes/s")
}

// BenchmarkTurnWithoutWatermarks is what most turns cost.
func BenchmarkTurnWithoutWatermarks(b *testing.B) {
	m := newWatermarks(32)
	for b.Loop() {
		m.observe(7, 1, nil)
		m.advance(2*time.Minute, time.Hour)
	}
}
