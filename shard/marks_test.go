package shard

import (
	"testing"
	"time"

	"refrain/feed"
	"refrain/topic"
)

func TestWindowClock(t *testing.T) {
	type meeting struct {
		partition int
		second    int64 // of the record's stamp
		mark      topic.Mark
	}
	active := func(p int, second int64, source string, at feed.Time) meeting {
		return meeting{p, second, topic.Mark{Source: source, Time: at}}
	}
	idle := func(p int, second int64, source string, at feed.Time) meeting {
		return meeting{p, second, topic.Mark{Source: source, Time: at, Idle: true}}
	}
	tests := []struct {
		name  string
		meets []meeting
		want  feed.Time // 0: none
	}{
		{"nothing", nil, 0},
		{"one partition alone says nothing", []meeting{active(0, 0, "a", 10)}, 0},
		{"the least of the partitions", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 8)}, 8},
		{"the least of the sources", []meeting{active(0, 0, "a", 10), active(0, 0, "b", 7), active(1, 0, "b", 9), active(1, 0, "a", 10)}, 7},
		{"never falls", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10), active(0, 0, "a", 5)}, 10},
		{"a new source holds it until heard of everywhere", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10),
			active(0, 0, "b", 50), active(0, 0, "a", 20), active(1, 0, "a", 20)}, 10},
		{"a source that is expected holds it", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10),
			active(0, 0, "b", 0), active(1, 0, "b", 0), active(0, 0, "a", 99), active(1, 0, "a", 99)}, 10},
		{"an idle source does not hold it", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10), active(0, 0, "b", 7),
			active(1, 0, "b", 7), idle(0, 0, "b", 7), idle(1, 0, "b", 7), active(0, 0, "a", 12), active(1, 0, "a", 12)}, 12},
		{"nobody active: it stays", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10), idle(0, 0, "a", 90), idle(1, 0, "a", 90)}, 10},
		{"idle here, awake there: both times count", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10),
			idle(0, 0, "a", 10), idle(1, 0, "a", 10), active(0, 0, "a", 99)}, 10},
		{"a source that died does not hold it", []meeting{active(0, 0, "a", 10), active(1, 0, "a", 10), active(0, 0, "b", 7),
			active(1, 0, "b", 7), active(0, 121, "a", 20), active(1, 121, "a", 20)}, 20},
		{"silent in one partition is not dead", []meeting{active(0, 0, "b", 7), active(0, 0, "a", 10), active(1, 0, "a", 10),
			active(1, 0, "b", 7), active(0, 121, "a", 20), active(1, 120, "a", 20)}, 7},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newMarks(2)
			for _, x := range test.meets {
				m.meet(x.partition, x.second*time.Second.Nanoseconds(), []topic.Mark{x.mark})
				m.rise(2 * time.Minute)
			}
			if got, known := m.Clock(); got != test.want || known != (test.want != 0) {
				t.Errorf("got %d %v, want %d", got, known, test.want)
			}
		})
	}
}
