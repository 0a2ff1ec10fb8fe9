// Package demo makes a synthetic feed whose reuse is known.
//
// People of a few languages write about news, sports, weather, adverts and their town, all from small
// grammars of our own, so that new text hardly ever runs out or collides. Others repost, copy, edit, cut,
// quote, merge, misspell and tag what was posted, and now and then a campaign puts one text into many
// accounts within minutes. Every post comes with its Truth: what was done, to which sentences of which posts.
// The same seed gives the same feed.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package demo

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"refrain/feed"
)

// Operation is how a post came to be.
type Operation string

// The operations. Only Fresh and the first post of a campaign have no origins.
const (
	Fresh    Operation = "fresh"    // new text
	Repost   Operation = "repost"   // "RT @name:" and the text as it was
	Copy     Operation = "copy"     // the text as it was
	Edit     Operation = "edit"     // one word of one sentence replaced
	Truncate Operation = "truncate" // cut off within a sentence
	Quote    Operation = "quote"    // one sentence in quotation marks, under a comment
	Merge    Operation = "merge"    // a sentence of one post, then one of another
	Typo     Operation = "typo"     // one word of one sentence misspelt
	Hashtag  Operation = "hashtag"  // a hashtag added to the last sentence
	Campaign Operation = "campaign" // one of many posts of one text, some of them tagged
)

// Truth says where the sentences of a post come from.
type Truth struct {
	Operation Operation
	Origins   []Origin // in order of Sentence; sentences without one are new
}

// Origin says that a sentence derives from one of an earlier post. Sentences count from 0 within a post.
type Origin struct {
	Sentence int    // of the new post
	Post     string // id of the earlier post, of the same source
	From     int    // sentence of the earlier post
}

// Config describes a feed. Default has values for all of it.
type Config struct {
	Seed      uint64
	Source    string
	Start     feed.Time // time of the first post
	Rate      float64   // posts a second of feed time, on average, campaigns apart: more than 0
	Reuse     float64   // share of posts that reuse others, campaigns apart: 0 to 1
	Campaigns float64   // share of posts that begin a campaign: 0 to 1
	Memory    int       // how many of the last posts may be reused: 1 or more
}

// Default is a feed of 20 posts a second from 2026-01-01 on.
func Default() Config {
	const newYear = feed.Time(1767225600000)
	return Config{Source: "demo", Start: newYear, Rate: 20, Reuse: 0.35, Campaigns: 0.002, Memory: 2000}
}

func (c *Config) validate() error {
	var errs []error
	if !(c.Rate > 0) { // not NaN either
		errs = append(errs, fmt.Errorf("rate %v: want more than 0", c.Rate))
	}
	if !(c.Reuse >= 0 && c.Campaigns >= 0 && c.Reuse+c.Campaigns <= 1) {
		errs = append(errs, fmt.Errorf("reuse %v, campaigns %v: want shares, at most 1 together", c.Reuse, c.Campaigns))
	}
	if c.Memory < 1 {
		errs = append(errs, fmt.Errorf("memory %d: want 1 or more", c.Memory))
	}
	return errors.Join(errs...)
}

// Generator makes one feed. It is not safe for concurrent use.
type Generator struct {
	config    Config
	rng       *rand.Rand
	accounts  []string
	recent    []*record // ring of the last posts
	generated int
	clock     float64 // feed time of the last post, ms
	campaign  *campaign
}

// record is what the generator remembers of a post.
type record struct {
	id, author string
	body       body
}

// New returns a generator at the beginning of its feed.
func New(c Config) (*Generator, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("made-up feed: %w", err)
	}
	g := &Generator{config: c, rng: rand.New(rand.NewPCG(c.Seed, 0x5EF6A1)), clock: float64(c.Start)}
	for len(g.accounts) < 400 {
		name := languages[0].expand(g.rng, "{first}_{s1}{s2}")
		g.accounts = append(g.accounts, strings.ToLower(name))
	}
	return g, nil
}

// Next makes the next post. Times never fall.
func (g *Generator) Next() (feed.Post, Truth) {
	b, truth, author := g.compose()
	g.generated++
	r := &record{id: fmt.Sprintf("p%07d", g.generated), author: author, body: b}
	g.remember(r)
	return feed.Post{
		Source: g.config.Source, ID: r.id, Author: author, Lang: b.language.code,
		Text: b.text(), Time: feed.Time(g.clock), Timed: true,
	}, truth
}

// Posts yields the posts from here on, without end and without errors.
func (g *Generator) Posts() iter.Seq2[feed.Post, error] {
	return func(yield func(feed.Post, error) bool) {
		for {
			p, _ := g.Next()
			if !yield(p, nil) {
				return
			}
		}
	}
}

// compose decides what the next post is, and moves the clock.
func (g *Generator) compose() (b body, truth Truth, author string) {
	gap := time.Duration(float64(time.Second) / g.config.Rate)
	if g.campaign != nil && g.rng.IntN(2) == 0 {
		g.pass(min(gap, time.Second))
		return g.continueCampaign()
	}
	g.pass(gap)
	switch chance := g.rng.Float64(); {
	case g.campaign == nil && chance < g.config.Campaigns:
		return g.beginCampaign()
	case len(g.recent) > 0 && chance < g.config.Campaigns+g.config.Reuse:
		origin := g.pick()
		b, truth = g.reuse(origin)
		return b, truth, g.otherAccount(origin.author)
	}
	return g.fresh(), Truth{Operation: Fresh}, g.account()
}

// pass moves the clock by an exponentially distributed time, of the given mean.
func (g *Generator) pass(mean time.Duration) {
	g.clock += g.rng.ExpFloat64() * float64(mean) / float64(time.Millisecond)
}

// fresh writes one to three new sentences on one topic.
func (g *Generator) fresh() body {
	language := pickLanguage(g.rng)
	topic := "{" + language.expand(g.rng, "{topics}") + "}"
	b := body{language: language}
	for range 1 + g.rng.IntN(3) {
		b.lines = append(b.lines, language.line(g.rng, topic))
	}
	return b
}

func (g *Generator) remember(r *record) {
	if g.campaign != nil && g.campaign.origin == nil {
		g.campaign.origin = r
	}
	if len(g.recent) < g.config.Memory {
		g.recent = append(g.recent, r)
		return
	}
	g.recent[(g.generated-1)%len(g.recent)] = r
}

// pick returns one of the last posts, rather one of the newest.
func (g *Generator) pick() *record {
	age := int(g.rng.Float64() * g.rng.Float64() * float64(len(g.recent)))
	newest := g.generated - 1
	return g.recent[(newest-age)%len(g.recent)]
}

// account returns a name; some accounts are much busier than others.
func (g *Generator) account() string {
	return g.accounts[int(g.rng.Float64()*g.rng.Float64()*float64(len(g.accounts)))]
}

// otherAccount returns mostly another account than name: some people repeat themselves.
func (g *Generator) otherAccount(name string) string {
	if g.rng.IntN(10) == 0 {
		return name
	}
	for {
		if other := g.account(); other != name {
			return other
		}
	}
}
