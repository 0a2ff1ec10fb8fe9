package redisstore

import (
	"errors"
	"fmt"
	"testing"

	"refrain/feed"
	"refrain/internal/devservers"
	"refrain/lookup"
	"refrain/lookup/storetest"
)

// TestDeletedAuthorsAfterARestart: the deletions are kept, and the walk is made again.
func TestDeletedAuthorsAfterARestart(t *testing.T) {
	url, prefix := "redis://"+devservers.Redis(t), devservers.Name(t)+"*[x]:" // a prefix is no pattern
	open := func() *Store { return mustOpen(t, with(url, func(c *Config) { c.Prefix = prefix })) }
	var events []lookup.Change
	for i := range 300 {
		o := feed.Occurrence{Post: fmt.Sprint("post", i), Author: "ann", Time: feed.Time(10 + i), Text: "words"}
		m := storetest.Match(o, feed.Occurrence{Post: "origin", Time: 1}, feed.GroupHash([]uint64{1}), 1)
		events = append(events, lookup.Change{Match: m, Time: 1000})
	}
	gone := func(s *Store) (n int) {
		for i := range events {
			if _, err := s.Reuse(t.Context(), "", fmt.Sprint("post", i), lookup.Page{}); errors.Is(err, lookup.ErrDeleted) {
				n++
			}
		}
		return n
	}
	s := open()
	if err := s.Apply(t.Context(), events[:200]); err != nil {
		t.Fatal(err)
	}
	deletion := lookup.Change{Deleted: feed.Tombstone{Author: "ann"}, Time: 1000}
	if err := s.Apply(t.Context(), []lookup.Change{deletion}); err != nil {
		t.Fatal(err)
	}
	if n := gone(s); n != 200 {
		t.Errorf("%d posts gone, want 200", n)
	}
	s.Close()
	s = open()
	defer s.Close()
	if err := s.Apply(t.Context(), events); err != nil { // applied once more, and 100 that were on their way
		t.Fatal(err)
	}
	if n := gone(s); n != 200 {
		t.Errorf("after a restart %d posts gone, want the 200 that were known", n)
	}
	if err := s.Check(t.Context()); err != nil { // the rest of the walk, up to which totals count what is gone
		t.Fatal(err)
	}
	r, err := s.Reuse(t.Context(), "", "origin", lookup.Page{Limit: 10})
	if err != nil || r.Total != 0 {
		t.Errorf("origin is repeated by %+v, %v", r, err)
	}
}

// TestManyDeletedAuthors: one walk does for all, also where they have said the same.
func TestManyDeletedAuthors(t *testing.T) {
	s := mustOpen(t, with("redis://"+devservers.Redis(t), func(c *Config) { c.Prefix = devservers.Name(t) + ":" }))
	defer s.Close()
	var changes []lookup.Change
	for i := range 2000 {
		o := feed.Occurrence{Post: fmt.Sprint("post", i), Author: fmt.Sprint("a", i), Time: feed.Time(10 + i), Text: "words"}
		changes = append(changes, lookup.Change{Match: storetest.Match(o, feed.Occurrence{Post: "origin", Time: 1},
			feed.GroupHash([]uint64{1}), 1), Time: 1000})
	}
	for i := range 1000 {
		changes = append(changes, lookup.Change{Deleted: feed.Tombstone{Author: fmt.Sprint("a", 2*i)}, Time: 1000})
	}
	if err := s.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil { // the rest of the walk
		t.Fatal(err)
	}
	r, err := s.Reuse(t.Context(), "", "origin", lookup.Page{Limit: 10})
	if err != nil || r.Total != 1000 {
		t.Errorf("origin is repeated %d times, want 1000, %v", r.Total, err)
	}
}
