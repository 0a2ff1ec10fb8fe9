package server_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// TestServeSurvivesKill feeds real posts while the process is killed five times: the events equal those of detect.
func TestServeSurvivesKill(t *testing.T) {
	n := 5_000
	if *e2e.Full {
		n = 200_000
	}
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	want := oracle.Sorted(e2e.Detect(t, posts, e2e.DefaultSettings(), nil))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	p := e2e.New(t)
	p.Start()
	var wg sync.WaitGroup
	moments := make(chan struct{}, 1)
	var kills []int
	for range 5 {
		kills = append(kills, r.IntN(n*9/10))
	}
	slices.Sort(kills)
	wg.Go(func() {
		for range moments { // a batch is usually on its way when this runs
			p.Kill(syscall.SIGKILL)
			p.Start()
		}
	})
	p.Feed(e2e.SplitLines(posts), 500, func(sent int) {
		for len(kills) > 0 && sent >= kills[0] {
			kills = kills[1:]
			moments <- struct{}{}
		}
	})
	close(moments)
	wg.Wait()
	missing, extra := oracle.Diff(p.Events(), want)
	if len(missing)+len(extra) > 0 {
		t.Fatalf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	t.Logf("%d events equal", len(want))
}

// TestServeBalance holds the metrics to promise 6, with bad posts, too short ones, redeliveries and deletions.
func TestServeBalance(t *testing.T) {
	p := e2e.New(t)
	p.Start()
	var posts [][]byte
	for i := range 300 {
		posts = append(posts,
			fmt.Appendf(nil, `{"id":"p%d","text":"The mayor of town number %d opened a bridge. Yes."}`+"\n", i, i%40))
		if i%50 == 0 {
			posts = append(posts, []byte("{\"id\":\"bad\"}\n"))
		}
	}
	again := posts[:60]
	for _, some := range [][][]byte{posts, again} {
		a, err := p.Post(some)
		if err != nil || a.Accepted+a.Rejected != len(some) {
			t.Fatalf("post: %+v, %v", a, err)
		}
	}
	p.Events() // a deletion overtakes sentences that are on their way
	p.Delete("p7", "p8")
	p.Await(10*time.Second, "two retractions", func() bool { return p.Retractions() == 2 })
	if _, err := p.Post(posts[:20]); err != nil { // p7 and p8 among them
		t.Fatal(err)
	}
	p.Events() // everything is through
	c := p.Counters()
	sent := float64(len(posts) + len(again) + 20)
	equal(t, "posts accepted + rejected",
		c["refrain_ingest_posts_total/accepted"]+c["refrain_ingest_posts_total/rejected"], sent)
	equal(t, "posts rejected", c["refrain_ingest_posts_total/rejected"], 6+2+1)
	equal(t, "sentences", c["refrain_sigstore_sentences_total"], c["refrain_split_sentences_total"])
	equal(t, "sentences of accepted posts", c["refrain_split_sentences_total"], 2*c["refrain_ingest_posts_total/accepted"])
	equal(t, "too short", c["refrain_sigstore_sentences_total/too_short"], c["refrain_ingest_posts_total/accepted"])
	equal(t, "repeats", c["refrain_sigstore_sentences_total/repeat"], float64(58+19-2))
	equal(t, "deleted", c["refrain_sigstore_sentences_total/deleted"], 2)
	equal(t, "look-ups", c["refrain_shard_lookups_total"], 4*c["refrain_sigstore_sentences_total/inserted"])
}

func equal(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestServeReportsOnceInAnyOrder: two near texts arrive newest first. Every pair of occurrences could be reported;
// every event is, once.
func TestServeReportsOnceInAnyOrder(t *testing.T) {
	p := e2e.New(t)
	p.Start()
	var posts [][]byte
	for i := 600; i > 0; i-- {
		posts = append(posts,
			fmt.Appendf(nil,
				`{"id":"%04d","created_at":"2020-01-01T00:00:00Z","text":"The same words come here again and again, my friends, number%d"}`+"\n", i, i%2))
	}
	p.Feed(posts, 50, func(int) {})
	ids := p.Events()
	want := oracle.Sorted(e2e.Detect(t, bytes.Join(posts, nil), e2e.DefaultSettings(), nil))
	if missing, extra := oracle.Diff(ids, want); len(missing)+len(extra) > 0 {
		t.Errorf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	if n := p.Counters()["refrain_detector_events_total"]; n > float64(len(want))*1.1 {
		t.Errorf("%v events reported, %d ids", n, len(want))
	}
}
