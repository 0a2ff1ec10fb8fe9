package demo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"refrain/feed"
	"refrain/text"
)

type labelled struct {
	post  feed.Post
	truth Truth
}

// mustNew makes the default feed of a seed, changed.
func mustNew(tb testing.TB, seed uint64, changes ...func(*Config)) *Generator {
	tb.Helper()
	c := Default()
	c.Seed = seed
	for _, change := range changes {
		change(&c)
	}
	g, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func posts(g *Generator, n int) []labelled {
	all := make([]labelled, n)
	for i := range all {
		all[i].post, all[i].truth = g.Next()
	}
	return all
}

func TestSeedFixesTheFeed(t *testing.T) {
	opt := cmp.AllowUnexported(labelled{})
	if diff := cmp.Diff(posts(mustNew(t, 1), 500), posts(mustNew(t, 1), 500), opt); diff != "" {
		t.Errorf("one seed, two feeds:\n%s", diff)
	}
	if cmp.Equal(posts(mustNew(t, 1), 10), posts(mustNew(t, 2), 10), opt) {
		t.Error("two seeds, one feed")
	}
}

// What the truth calls sentence i is sentence i for the splitter too, in every language.
func TestLinesAreSentences(t *testing.T) {
	g := mustNew(t, 3, func(c *Config) { c.Campaigns = 0.01 })
	var splitter text.Splitter
	for range 10_000 {
		p, truth := g.Next()
		b := g.recent[(g.generated-1)%len(g.recent)].body
		sentences, repost := splitter.Split(p.Text)
		if len(sentences) != len(b.lines) {
			t.Fatalf("%s: %d sentences, want %d: %q", truth.Operation, len(sentences), len(b.lines), p.Text)
		}
		if want := truth.Operation == Repost; repost != want {
			t.Errorf("%s: repost = %v: %q", truth.Operation, repost, p.Text)
		}
	}
}

func TestEverythingHappens(t *testing.T) {
	operations, langs, authors := map[Operation]int{}, map[string]int{}, map[string]bool{}
	for _, m := range posts(mustNew(t, 4), 10_000) {
		operations[m.truth.Operation]++
		langs[m.post.Lang]++
		authors[m.post.Author] = true
	}
	for _, o := range []Operation{Fresh, Repost, Copy, Edit, Truncate, Quote, Merge, Typo, Hashtag, Campaign} {
		if operations[o] < 50 {
			t.Errorf("%s happens %d times in 10,000 posts", o, operations[o])
		}
	}
	for _, l := range languages {
		if langs[l.code] < 200 {
			t.Errorf("%s has %d of 10,000 posts", l.code, langs[l.code])
		}
	}
	if len(authors) < 300 {
		t.Errorf("%d authors", len(authors))
	}
}

func TestTimesRiseAtTheRate(t *testing.T) {
	all := posts(mustNew(t, 5, func(c *Config) { c.Rate, c.Campaigns, c.Start = 50, 0, 1000 }), 10_000)
	last := feed.Time(1000)
	for _, m := range all {
		if m.post.Time < last {
			t.Fatalf("%s is older than the post before it", m.post.ID)
		}
		last = m.post.Time
	}
	if seconds := float64(last-1000) / 1000; seconds < 190 || seconds > 210 {
		t.Errorf("10,000 posts took %.0f s, want about 200", seconds)
	}
}

// TestMistakes: all are told at once.
func TestMistakes(t *testing.T) {
	_, err := New(Config{Reuse: 2})
	if got, want := fmt.Sprint(err), "made-up feed: rate 0: want more than 0\nreuse 2, campaigns 0: want shares, at "+
		"most 1 together\nmemory 0: want 1 or more"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestReuseCanBeSwitchedOff(t *testing.T) {
	for _, m := range posts(mustNew(t, 6, func(c *Config) { c.Reuse, c.Campaigns = 0, 0 }), 1000) {
		if m.truth.Operation != Fresh || m.truth.Origins != nil {
			t.Fatalf("got %+v", m.truth)
		}
	}
}

func TestCampaignIsABurst(t *testing.T) {
	all := posts(mustNew(t, 7, func(c *Config) { c.Rate, c.Campaigns = 0.5, 0.01 }), 5000)
	first, accounts := map[string]feed.Time{}, map[string]map[string]bool{}
	for _, m := range all {
		if m.truth.Operation != Campaign {
			continue
		}
		if m.truth.Origins == nil {
			first[m.post.ID], accounts[m.post.ID] = m.post.Time, map[string]bool{}
			continue
		}
		root := m.truth.Origins[0].Post
		accounts[root][m.post.Author] = true
		if took := m.post.Time - first[root]; took > 15*60*1000 {
			t.Errorf("campaign of %s goes on after %d min", root, took/60000)
		}
	}
	if len(first) < 10 {
		t.Fatalf("%d campaigns in 5,000 posts", len(first))
	}
	whole := 0
	for _, a := range accounts {
		if len(a) >= 15 {
			whole++
		}
	}
	if whole < len(first)-1 { // the last may be under way
		t.Errorf("%d of %d campaigns have 15 accounts", whole, len(first))
	}
}

// Every symbol of every grammar has rules, and every rule is reached.
func TestGrammarsAreComplete(t *testing.T) {
	for _, l := range languages {
		reached := map[string]bool{}
		l.walk("topics", reached, func(missing string) { t.Errorf("%s: no rule for {%s}", l.code, missing) })
		for _, topic := range l.rules["topics"] {
			l.walk(topic, reached, func(missing string) { t.Errorf("%s: no rule for {%s}", l.code, missing) })
		}
		for _, root := range []string{"comment", "tag", "stop", "first"} {
			if root != "first" || l.code == "en" {
				l.walk(root, reached, func(missing string) { t.Errorf("%s: no rule for {%s}", l.code, missing) })
			}
		}
		for symbol := range l.rules {
			if !reached[symbol] {
				t.Errorf("%s: {%s} is never used", l.code, symbol)
			}
		}
	}
}

func (l *language) walk(symbol string, reached map[string]bool, missing func(string)) {
	if symbol == "n" || symbol == "m" || reached[symbol] {
		return
	}
	reached[symbol] = true
	if len(l.rules[symbol]) == 0 {
		missing(symbol)
	}
	for _, alternative := range l.rules[symbol] {
		for _, name := range symbols(alternative) {
			l.walk(name, reached, missing)
		}
	}
}

func symbols(s string) []string {
	var names []string
	for i, start := 0, 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			start = i + 1
		case '}':
			names = append(names, strings.TrimPrefix(s[start:i], "^"))
		}
	}
	return names
}

func ExampleGenerator() {
	c := Default()
	c.Seed = 48
	g, err := New(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		p, truth := g.Next()
		fmt.Println(truth.Operation, "@"+p.Author, p.Text)
	}
	// Output:
	// fresh @rufus_braan Roads between Lake Talber and Dalhaven are closed after thick fog last night.
	// edit @tobin_torber Roads between Lake Talber and Dalhaven are explain after thick fog last night.
	// typo @linus_ostver Roads between Lake Talber and Dalhaven are explain after thick fog lats night.
}

func BenchmarkNext(b *testing.B) {
	g := mustNew(b, 1)
	for b.Loop() {
		g.Next()
	}
}
