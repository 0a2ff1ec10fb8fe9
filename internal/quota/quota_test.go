package quota

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// clock stands still until it is moved.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func mustNew(change func(*Config)) (*Quotas, *clock) {
	c := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	cfg := Default()
	cfg.Now, cfg.Burst, cfg.EventBurst = c.read, time.Minute, time.Minute
	change(&cfg)
	return New(cfg), c
}

func charge(q *Quotas, from Sender, u Usage) { q.Charge(from, map[string]Usage{"": u}) }

// TestWaitIsTrue: for every limit, whatever was taken, who waits for so long is let in, and who comes a second earlier
// is not.
func TestWaitIsTrue(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 3))
	for range 1000 {
		q, c := mustNew(func(cfg *Config) {
			cfg.Token = Limits{Bytes: 1e3, Posts: 10, Sentences: 50, Events: 5, Share: 1e3}
		})
		q.Admit("", nil)
		charge(q, "", Usage{
			Bytes: random.Int64N(1e9), Posts: random.Int64N(1e5), Sentences: random.Int64N(1e6), Events: random.Int64N(1e6),
		})
		c.pass(time.Duration(random.Int64N(int64(time.Hour))))
		e := q.Admit("", nil)
		if e == nil {
			continue
		}
		c.pass(e.Wait - time.Second)
		if e.Wait > time.Second && q.Admit("", nil) == nil {
			t.Fatalf("let in before %v", e)
		}
		c.pass(time.Second)
		if again := q.Admit("", nil); again != nil {
			t.Fatalf("waited for: %v; then %v", e, again)
		}
	}
}

// TestAFloodGetsItsRate: who always sends as soon as it may gets the burst, the rate, and no more than one batch above.
func TestAFloodGetsItsRate(t *testing.T) {
	q, c := mustNew(func(cfg *Config) { cfg.Token.Posts = 100 })
	const batch, seconds = 1000, 600
	sent := 0
	for end := c.now.Add(seconds * time.Second); c.now.Before(end); c.pass(10 * time.Millisecond) {
		if q.Admit("", nil) == nil {
			charge(q, "", Usage{Posts: batch})
			sent += batch
		}
	}
	if min, max := 100*(60+seconds-1), 100*(60+seconds)+batch; sent < min || sent > max {
		t.Errorf("%d posts, want %d to %d", sent, min, max)
	}
}

// TestEventsAreOwed: a batch is let in whatever it will cause; the next has to wait for that.
func TestEventsAreOwed(t *testing.T) {
	q, _ := mustNew(func(cfg *Config) { cfg.Token.Events = 500 })
	if e := q.Admit("", nil); e != nil {
		t.Fatal(e)
	}
	q.ChargeEvents("", "", 182_360)
	e := q.Admit("", nil)
	if want := 305 * time.Second; e == nil || e.Wait != want || e.Limit != "events" { // 182,360 / 500 - 60
		t.Errorf("got %v, want to wait %v for events", e, want)
	}
}

// TestSendersAreApart, and so are the sources of each: nobody uses up another's.
func TestSendersAreApart(t *testing.T) {
	q, _ := mustNew(func(cfg *Config) {
		cfg.Token, cfg.Feed, cfg.Source = Limits{Posts: 10}, Limits{Posts: 10}, Limits{Posts: 1}
		cfg.Tokens = map[string]Limits{"large": {Posts: 1000}}
		cfg.Sources = map[string]Limits{"archive": {Posts: 1000}}
	})
	for _, from := range []Sender{"", Token("a"), Token("large"), Token("feed:x"), Feed("x")} {
		if e := q.Admit(from, []string{"s", "archive"}); e != nil {
			t.Errorf("%s, at first: %v", from, e)
		}
		q.Charge(from, map[string]Usage{"s": {Posts: 61}})
		if e := q.Admit(from, []string{"archive", "s"}); e == nil || e.Kind != KindSource || e.Source != "s" ||
			e.Wait != time.Second {
			t.Errorf("%s, source: %v", from, e)
		}
		if e := q.Admit(from, []string{"archive"}); e != nil {
			t.Errorf("%s, another source: %v", from, e)
		}
		q.Charge(from, map[string]Usage{"archive": {Posts: 1000}})
		if e := q.Admit(from, []string{"archive"}); (e == nil) != (from == Token("large")) {
			t.Errorf("%s, in all: %v", from, e)
		}
	}
}

// TestManySources: neither do made-up names lift the quota of a token, nor do they fill the memory.
func TestManySources(t *testing.T) {
	q, c := mustNew(func(cfg *Config) {
		cfg.Token, cfg.Source, cfg.MaxSources = Limits{Posts: 1000}, Limits{Posts: 1000}, 500
	})
	sent, maxKnown := 0, 0
	for i := range 500_000 {
		if source := fmt.Sprint("made up ", i); q.Admit("", []string{source}) == nil {
			q.Charge("", map[string]Usage{source: {Posts: 1}})
			sent++
		}
		maxKnown = max(maxKnown, len(q.senders[""].sources))
		c.pass(100 * time.Microsecond) // 10,000 names a second
	}
	if max := 1000*(60+50) + 1; sent > max {
		t.Errorf("%d posts under made-up names, want %d at most", sent, max)
	}
	if maxKnown > 2*minSweep { // at 10,000 posts a second each is forgotten after a thousandth
		t.Errorf("%d sources were remembered at once", maxKnown)
	}
}

// TestTooManySources: those that find no place share one, which is used up like any.
func TestTooManySources(t *testing.T) {
	q, c := mustNew(func(cfg *Config) {
		cfg.Source, cfg.MaxSources = Limits{Events: 1}, 100
		cfg.Sources = map[string]Limits{"known": {Events: 1}}
	})
	q.Admit("", nil)
	for i := range 1000 {
		q.ChargeEvents("", fmt.Sprint(i), 1000)
	}
	if n := len(q.senders[""].sources); n != 100 {
		t.Errorf("%d sources, want 100", n)
	}
	for _, source := range []string{"0", "999", "never seen"} {
		if q.Admit("", []string{source}) == nil {
			t.Errorf("%s is let in", source)
		}
	}
	q.ChargeEvents("", "known", 1)
	// a place does not forgive: known was one of those without, for all we know
	if e := q.Admit("", []string{"known"}); e == nil {
		t.Error("a source escapes by getting a place")
	}
	c.pass(300 * time.Hour)
	if e := q.Admit("", []string{"0", "999", "never seen", "known"}); e != nil {
		t.Error(e)
	}
	q.ChargeEvents("", "new", 1)
	if n := len(q.senders[""].sources); n != 1 {
		t.Errorf("%d sources are remembered after a long time, want the new one", n)
	}
}

// TestShareWhileTight: a share counts from the start, and holds back only while room is short.
func TestShareWhileTight(t *testing.T) {
	tight, asked := false, 0
	q, _ := mustNew(func(cfg *Config) {
		cfg.Token.Share, cfg.Tight = 1000, func() bool { asked++; return tight }
	})
	q.Admit("", nil)
	charge(q, "", Usage{Bytes: 60_000})
	if e := q.Admit("", nil); e != nil || asked > 0 {
		t.Errorf("within the share: %v, asked %d times", e, asked)
	}
	charge(q, "", Usage{Bytes: 40_000})
	if e := q.Admit("", nil); e != nil || asked != 1 {
		t.Errorf("with room: %v, asked %d times", e, asked)
	}
	tight = true
	if e := q.Admit("", nil); e == nil || e.Limit != "share" || e.Wait != 40*time.Second {
		t.Errorf("without: %v", e)
	}
}

// TestNoLimits: 0 is none, and nothing is kept for it.
func TestNoLimits(t *testing.T) {
	q, _ := mustNew(func(*Config) {})
	q.Admit("", nil)
	q.Charge("", map[string]Usage{"s": {Bytes: 1e15, Posts: 1e15, Sentences: 1e15, Events: 1e15}})
	if e := q.Admit("", []string{"s"}); e != nil {
		t.Error(e)
	}
	if a := q.senders[""]; a.own != (buckets{}) || len(a.sources) != 0 {
		t.Errorf("kept %+v", a)
	}
}

// TestStrangersAreNotKept: events of a token that was there before the last start make no account.
func TestStrangersAreNotKept(t *testing.T) {
	q, _ := mustNew(func(cfg *Config) { cfg.Token.Events = 1 })
	for i := range 1000 {
		q.ChargeEvents(Token(fmt.Sprint(i)), "", 1000)
	}
	if n := len(q.senders); n != 0 {
		t.Errorf("%d accounts", n)
	}
}

// TestConcurrently: nothing is lost between goroutines.
func TestConcurrently(t *testing.T) {
	q, _ := mustNew(func(cfg *Config) { cfg.Token.Posts, cfg.Source.Posts = 1, 1 })
	q.Admit("", nil)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for range 1000 {
				q.Charge("", map[string]Usage{fmt.Sprint(g): {Posts: 1}})
				q.Admit("", []string{"0"})
			}
		})
	}
	all.Wait()
	if e := q.Admit("", []string{"0"}); e == nil || e.Wait != (8000-60)*time.Second || e.Kind != KindToken {
		t.Errorf("got %v, want 8,000 posts charged", e)
	}
}

func TestExceededSaysWhose(t *testing.T) {
	for want, e := range map[string]Exceeded{
		"the quota of posts of everybody without a token is used up for 1m0s": {Kind: KindToken,
			Limit: "posts", Wait: time.Minute},
		`the quota of posts of posts that name no source is used up for 1m0s`: {Kind: KindSource,
			Limit: "posts", Sender: Token("a"), Wait: time.Minute},
		`the share of the sentence topic (quotas.share) of the feed "kafka/refrain" is used up for 1m0s`: {Kind: KindFeed,
			Limit: "share", Sender: Feed("kafka/refrain"), Wait: time.Minute},
		`the quota of events of the source "x" is used up for 1m0s`: {Kind: KindSource,
			Limit: "events", Sender: Token("a"), Source: "x", Wait: time.Minute},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestShareIsOfWhatTheTopicHolds: an archive goes through the topic while there is room, at a hundred times the rate.
// When room gets short its sender waits until what it sent has gone, and not for all that was there once: nine days.
func TestShareIsOfWhatTheTopicHolds(t *testing.T) {
	tight := false
	q, c := mustNew(func(cfg *Config) {
		cfg.Token.Share, cfg.Tight, cfg.ShareAge = 1000, func() bool { return tight }, 26*time.Hour
	})
	q.Admit("", nil)
	for range 216 {
		charge(q, "", Usage{Bytes: 3_600_000})
		c.pass(time.Second)
	}
	tight = true
	e := q.Admit("", nil)
	if want := 26*time.Hour - time.Second; e == nil || e.Wait != want {
		t.Fatalf("got %v, want to wait %v", e, want)
	}
	c.pass(e.Wait)
	if e := q.Admit("", nil); e != nil {
		t.Error(e)
	}
}
