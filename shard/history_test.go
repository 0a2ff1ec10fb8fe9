package shard

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/topic"
)

// feedMinutes posts one text a minute, each of which a worker looks up and commits.
func feedMinutes(r *route, w *Worker, from, to int) {
	for i := from; i < to; i++ {
		r.post(fmt.Sprint("p", i), words, time.Duration(i)*time.Minute)
		r.now = r.now.Add(time.Minute)
		r.mustStep(w)
	}
}

func (r *route) ends(t topic.Topic) []int64 {
	r.tb.Helper()
	_, end, err := t.Bounds(context.Background())
	if err != nil {
		r.tb.Fatal(err)
	}
	return end
}

// TestOlderStateAfterLostEvents: the event topic has lost its end. The worker goes on from before that, not from the
// beginning, and the events are there again.
func TestOlderStateAfterLostEvents(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		r := newRouteOver(t, memoryOf(2, ordered))
		w := r.mustOpen(r.config(0, 1))
		feedMinutes(r, w, 0, 40)
		end := r.ends(r.events)
		r.events.Cut([]int64{end[0] - 5})
		w = r.mustOpen(r.config(0, 1))
		if !strings.Contains(r.log.String(), "going on from an older state") {
			t.Errorf("logged %q", &r.log)
		}
		for _, q := range w.owned {
			if position := slices.Max(q.state.LookupFrom); position < slices.Max(r.ends(r.sentences))-40 {
				t.Errorf("ordered %v, partition %d: looks up from %v", ordered, q.id, q.state.LookupFrom)
			}
		}
		feedMinutes(r, w, 40, 50)
		if n := len(distinct(r.out())); n != 49 {
			t.Errorf("ordered %v: %d events, want 49", ordered, n)
		}
	}
}

// TestStateOfAnotherIncarnation: the event topic has lost its end and has grown past it. That it is as long as before
// says nothing.
func TestStateOfAnotherIncarnation(t *testing.T) {
	r := newRoute(t, 1)
	w := r.mustOpen(r.config(0))
	feedMinutes(r, w, 0, 20)
	end := r.ends(r.events)
	r.events.Cut([]int64{end[0] - 9})
	for range 20 { // of somebody else
		if err := r.events.Append(context.Background(), []topic.Record{{Data: []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
	}
	w = r.mustOpen(r.config(0))
	feedMinutes(r, w, 20, 21)
	if n := len(distinct(r.out())); n != 20+1 {
		t.Errorf("%d events, want those of 20 posts and one of somebody else", n)
	}
}

// TestNoStateFits: everything that the sentence topic holds is looked up again.
func TestNoStateFits(t *testing.T) {
	r := newRoute(t, 1)
	feedMinutes(r, r.mustOpen(r.config(0)), 0, 70) // more than an hour
	r.events.Cut([]int64{0})
	w := r.mustOpen(r.config(0))
	if !strings.Contains(r.log.String(), "looking everything up again") {
		t.Errorf("logged %q", &r.log)
	}
	feedMinutes(r, w, 70, 71)
	if n := len(distinct(r.out())); n != 70 {
		t.Errorf("%d events, want 70", n)
	}
}

// TestReplayFromOfLostRecords: rows were ahead of look-ups, and without a sentence of the window. What they were made of is
// lost, and other records lie there: seed 1687 of the simulation.
func TestReplayFromOfLostRecords(t *testing.T) {
	r := newRouteOver(t, newMemory(1))
	s := newState(0, []int64{3})
	s.ReplayFrom, s.EventEnd = 9, []int64{0}
	if err := r.store.Put(context.Background(), r.key(0), s.Append(nil)); err != nil {
		t.Fatal(err)
	}
	records := make([]topic.Record, 9)
	for i := range records {
		records[i].Data = (&topic.Batch{}).Append(nil)
	}
	for range 2 {
		if err := r.sentences.Append(context.Background(), records); err != nil {
			t.Fatal(err)
		}
		r.sentences.Cut([]int64{5})
	}
	if err := r.sentences.Append(context.Background(), records); err != nil {
		t.Fatal(err)
	}
	if q := r.mustOpen(r.config(0)).owned[0]; q.insert != 5 || q.state.LookupFrom[0] != 3 {
		t.Errorf("rows from %d, look-ups from %v; want 5 and 3", q.insert, q.state.LookupFrom)
	}
}

// TestRetentionIsNoLoss: retention takes the beginning of the event topic, or all of it.
func TestRetentionIsNoLoss(t *testing.T) {
	r := newRoute(t, 1)
	feedMinutes(r, r.mustOpen(r.config(0)), 0, 20)
	r.events.Truncate(0, r.ends(r.events)[0])
	r.mustOpen(r.config(0))
	if r.log.Len() > 0 {
		t.Errorf("logged %q", &r.log)
	}
}

// TestUnreadableState: the power went while the state was written.
func TestUnreadableState(t *testing.T) {
	r := newRoute(t, 1)
	feedMinutes(r, r.mustOpen(r.config(0)), 0, 20)
	if err := r.store.Put(context.Background(), r.key(0), []byte("RS\x02 torn")); err != nil {
		t.Fatal(err)
	}
	w := r.mustOpen(r.config(0))
	if position := w.owned[0].state.LookupFrom[0]; position == 0 {
		t.Errorf("looks up from %d; log %q", position, &r.log)
	}
}

// TestKeptStates: one a minute, at most 60.
func TestKeptStates(t *testing.T) {
	r := newRoute(t, 1)
	feedMinutes(r, r.mustOpen(r.config(0)), 0, 100)
	var froms []int64
	for slot := range maxOlderStates {
		data, err := r.store.Get(context.Background(), olderKey(0, slot))
		if err != nil {
			t.Fatal(err)
		}
		s, err := DecodeState(data)
		if err != nil {
			t.Fatal(err)
		}
		froms = append(froms, s.LookupFrom[0])
	}
	slices.Sort(froms)
	if n := len(slices.Compact(froms)); n < 55 {
		t.Errorf("%d different states of %d", n, maxOlderStates)
	}
}

// distinct are the events without repeats, which may have been told more of their group.
func distinct(all []string) map[string]bool {
	ids := map[string]bool{}
	for _, e := range all {
		_, id, _ := strings.Cut(e, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		ids[id] = true
	}
	return ids
}

var update = flag.Bool("update", false, "write testdata anew")

// TestStateFixture: what this version has written stays readable, and what the one before has written is refused with what
// to do.
func TestStateFixture(t *testing.T) {
	const path = "testdata/state-2"
	s := exampleState()
	if *update {
		if err := os.WriteFile(path, s.Append(nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeState(data); err != nil || string(got.Append(nil)) != string(data) ||
		string(s.Append(nil)) != string(data) {
		t.Errorf("got %+v, %v", got, err)
	}
	data[2] = 1
	if _, err := DecodeState(data); !errors.Is(err, errStateFormat) || !strings.Contains(err.Error(), "empty data directory") {
		t.Errorf("format 1: got %v", err)
	}
}
