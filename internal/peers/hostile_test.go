package peers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
)

// flat has one match a partition, all in sentence 0.
func flat(partitions ...int) *Answer {
	a := &Answer{Partitions: partitions, Sentences: []Sentence{{Index: 0}}}
	for _, q := range partitions {
		a.Sentences[0].Matches = append(a.Sentences[0].Matches, match(q))
	}
	return a
}

// TestOrder: it must not depend on who owns what
func TestOrder(t *testing.T) {
	one := posts(merge(4, []*Answer{flat(0, 1, 2, 3)}, 100, nil))
	two := posts(merge(4, []*Answer{flat(0, 2), flat(1, 3)}, 100, nil))
	if d := cmp.Diff(one, two); d != "" {
		t.Error("order depends on the owners: ", d)
	}
}

// TestRoom: one process fills the answer sentence by sentence
func TestRoom(t *testing.T) {
	two := func(q int) *Answer {
		a := &Answer{Partitions: []int{q}}
		for s := range 2 {
			m := match(q)
			m.ID[1] = byte(s)
			a.Sentences = append(a.Sentences, Sentence{Index: s, Matches: []feed.Match{m}})
		}
		return a
	}
	got := posts(merge(2, []*Answer{two(0), two(1)}, 2, nil))
	if d := cmp.Diff(map[int][]string{0: {"p0", "p1"}}, got); d != "" {
		t.Error("room goes to the first owner, not to the first sentence: ", d)
	}
}

// TestAStrangersAnswer: a stale address where something else answers 400
func TestAStrangersAnswer(t *testing.T) {
	good := start(t, 0)
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "what?", 400) }))
	defer foreign.Close()
	r, err := asker().Ask(t.Context(), Query{Text: "a", Limit: 9}, 2, nil, []Owner{{Address: good.server.URL}, {Address: foreign.URL}})
	if err != nil || len(r.Missing) != 1 {
		t.Errorf("one strange answer fails all: %+v, %v", r, err)
	}
}

// TestStoreAway: the store away, the owners known
func TestStoreAway(t *testing.T) {
	now := time.Now()
	var broken error
	d := Directory{Silence: 10 * time.Second, Fresh: time.Second, Now: func() time.Time { return now },
		Read: func(context.Context, int) (*Record, error) {
			if broken != nil {
				return nil, broken
			}
			return &Record{Address: "a", Epoch: 1, Put: now}, nil
		}}
	if _, err := d.Owners(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	broken, now = errors.New("broker away"), now.Add(2*time.Second)
	o, err := d.Owners(t.Context(), 2)
	if err != nil {
		t.Errorf("known 2 s ago, and yet: %v %v", o, err)
	}
}

// TestDeadlineOfTheDirectory: whoever waits for another's read does not hear that its own time is over
func TestDeadlineOfTheDirectory(t *testing.T) {
	var once sync.Once
	reading, release := make(chan struct{}), make(chan struct{})
	d := Directory{Silence: 10 * time.Second, Fresh: time.Second, Now: time.Now,
		Read: func(ctx context.Context, _ int) (*Record, error) {
			once.Do(func() { close(reading) })
			<-release
			return nil, nil
		}}
	first := make(chan struct{})
	go func() { defer close(first); _, _ = d.Owners(context.Background(), 1) }()
	<-reading
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := d.Owners(ctx, 1); done <- err }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		t.Error("2 s after its deadline of 50 ms it still waits")
	}
	close(release)
	<-first
}

// TestRedirect: none is followed with the token
func TestRedirect(t *testing.T) {
	var got string
	to := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"version":1,"partitions":[0]}`)
	}))
	defer to.Close()
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to.URL+"/x", http.StatusTemporaryRedirect)
	}))
	defer from.Close()
	r, err := asker().Ask(t.Context(), Query{Text: "a", Limit: 1}, 1, nil, []Owner{{Address: from.URL}})
	if err != nil || len(r.Missing) != 1 {
		t.Errorf("followed a redirect to %s: token there %q: %+v %v", to.URL, got, r, err)
	}
}
