package http

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"refrain/feed"
	"refrain/ingest"
)

func batchOf(sender string, n int) ingest.Batch {
	return ingest.Batch{Sender: sender, Posts: []feed.Post{{ID: fmt.Sprint(n)}}}
}

// order is who comes out of the queue, and with which batch.
func order(q *queue) string {
	var out []string
	for {
		b, ok, _ := q.next()
		if !ok {
			return strings.Join(out, " ")
		}
		out = append(out, b.Sender+b.Posts[0].ID)
		q.release(b.Sender)
	}
}

func mustAdd(t *testing.T, q *queue, sender string, n int) {
	t.Helper()
	if ok, _ := q.reserve(sender); !ok {
		t.Fatalf("no place for batch %d of %s", n, sender)
	}
	q.add(batchOf(sender, n))
}

// TestSendersTakeTurns: who sends little waits for one batch of each of the others, and everybody's stay in order.
func TestSendersTakeTurns(t *testing.T) {
	q := newQueue(32)
	for i := range 6 {
		mustAdd(t, q, "a", i)
	}
	mustAdd(t, q, "b", 0)
	mustAdd(t, q, "c", 0)
	mustAdd(t, q, "c", 1)
	if got, want := order(q), "a0 b0 c0 a1 c1 a2 a3 a4 a5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(q.unacked)+len(q.waiting)+q.total != 0 {
		t.Errorf("left in an empty queue: %+v", q)
	}
}

// TestNobodyFillsTheQueue: who has all the slots that one may have leaves some for those who have none.
func TestNobodyFillsTheQueue(t *testing.T) {
	q, n := newQueue(8), 0
	for ; ; n++ {
		if ok, _ := q.reserve("a"); !ok {
			break
		}
		q.add(batchOf("a", n))
	}
	if n != 6 {
		t.Errorf("a gets %d of 8, want 6", n)
	}
	for _, sender := range []string{"b", "c"} {
		if ok, _ := q.reserve(sender); !ok {
			t.Errorf("%s gets no place", sender)
		}
		if ok, _ := q.reserve(sender); ok {
			t.Errorf("%s gets a second one of those for others", sender)
		}
	}
	if ok, _ := q.reserve("d"); ok {
		t.Error("more than 8")
	}
}

// TestQueueKeepsEverySendersOrder: whatever the turns, a sender's batches come out in the order in which they went in, none
// twice and none lost.
func TestQueueKeepsEverySendersOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	q, put, got := newQueue(16), map[string]int{}, map[string]int{}
	for range 10_000 {
		sender := string(rune('a' + r.IntN(5)))
		if r.IntN(2) == 0 {
			if ok, _ := q.reserve(sender); ok {
				q.add(batchOf(sender, put[sender]))
				put[sender]++
			}
			continue
		}
		b, ok, _ := q.next()
		if !ok {
			continue
		}
		if want := fmt.Sprint(got[b.Sender]); b.Posts[0].ID != want {
			t.Fatalf("%s: got batch %s, want %s", b.Sender, b.Posts[0].ID, want)
		}
		got[b.Sender]++
		q.release(b.Sender)
	}
	rest := len(strings.Fields(order(q)))
	for sender, n := range put {
		rest -= n - got[sender]
	}
	if rest != 0 {
		t.Errorf("%d batches more or less than went in", rest)
	}
}

// TestTurnsGoByBytes: who sends batches of ten posts waits for one of a megabyte, and not for one at each of his own;
// and who was silent has saved nothing up.
func TestTurnsGoByBytes(t *testing.T) {
	q := newQueue(32)
	large := func(n int) {
		b := batchOf("m", n)
		b.Posts[0].Text = strings.Repeat("x", 100_000)
		q.reserve("m")
		q.add(b)
	}
	for i := range 4 {
		large(i)
	}
	if b, ok, _ := q.next(); !ok || b.Sender != "m" { // the one under way when the others come
		t.Fatal("nothing comes out")
	}
	for i := range 10 {
		mustAdd(t, q, "a", i)
	}
	if got, want := order(q), "a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 m1 m2 m3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	q.release("m")
	for i := range 3 {
		large(i)
		mustAdd(t, q, "b", i)
	}
	if got, want := order(q), "m0 b0 b1 b2 m1 m2"; got != want {
		t.Errorf("after silence: got %s, want %s", got, want)
	}
}

// TestWhoSendsLittleHasPlaces: beside one who fills the queue another has several batches on their way, as a feed of
// ten batches a second has that each take a third of a second.
func TestWhoSendsLittleHasPlaces(t *testing.T) {
	q := newQueue(32)
	for n := 0; ; n++ {
		if ok, _ := q.reserve("a"); !ok {
			break
		}
		q.add(batchOf("a", n))
	}
	for n := range 4 {
		if ok, _ := q.reserve("b"); !ok {
			t.Errorf("no place for batch %d of who sends little", n)
		}
	}
}
