package server

import (
	"cmp"
	"fmt"
	"time"
	"unicode"

	"refrain/internal/quota"
)

// Quotas say how much one sender, and one source of its posts, may cause: see internal/quota.
type Quotas struct {
	// Share of the sentence topic is what one sender may fill within the window's span, once half of the topic is used.
	Share float64       `yaml:"share"` // 0: no limit
	Burst time.Duration `yaml:"burst"` // of every limit may come at once
	// EventBurst is the burst of events.
	EventBurst time.Duration `yaml:"event_burst"`
	// Pace is how far look-ups may be behind before those wait who send more than their quota gives on average.
	Pace    time.Duration `yaml:"pace"` // 0: nobody waits
	Token   Quota         `yaml:"token"`
	Source  Quota         `yaml:"source"`
	Sources []SourceQuota `yaml:"sources"`
}

// Quota are limits a second. 0: none.
type Quota struct {
	Bytes     Bytes `yaml:"bytes"` // that posts take in the sentence topic
	Posts     int   `yaml:"posts"`
	Sentences int   `yaml:"sentences"`
	Events    int   `yaml:"events"` // found for its posts
}

// SourceQuota are the limits of one source; what is 0 here is as in Quotas.Source.
type SourceQuota struct {
	Name  string `yaml:"name"`
	Quota `yaml:",inline"`
}

// defaultQuotas are far above what one client of a small deployment sends: docs/operations.md has the figures.
func defaultQuotas() Quotas {
	return Quotas{
		Share: 0.75, Burst: quota.Default().Burst, EventBurst: quota.Default().EventBurst, Pace: 2 * time.Second,
		Token: Quota{Posts: 2000, Sentences: 10_000, Events: 500},
	}
}

// or is q, with what is 0 in it as in other.
func (q Quota) or(other Quota) Quota {
	return Quota{
		Bytes: cmp.Or(q.Bytes, other.Bytes), Posts: cmp.Or(q.Posts, other.Posts),
		Sentences: cmp.Or(q.Sentences, other.Sentences), Events: cmp.Or(q.Events, other.Events),
	}
}

func (q Quota) limits(share float64) quota.Limits {
	return quota.Limits{
		Bytes: float64(q.Bytes), Posts: float64(q.Posts), Sentences: float64(q.Sentences), Events: float64(q.Events), Share: share,
	}
}

// quotaConfig is what the configuration says of quotas, for a sentence topic of so many bytes.
func (s *Server) quotaConfig(sentenceBytes Bytes) quota.Config {
	c, q := quota.Default(), &s.cfg.Quotas
	share := q.Share * float64(sentenceBytes) / s.cfg.Window.Span.Seconds()
	c.Burst, c.EventBurst, c.Tight, c.Now = q.Burst, q.EventBurst, s.tight, s.quotas.now
	c.ShareAge, _ = s.node.ages() // while all are refused nothing is purged
	c.Token, c.Feed, c.Source = q.Token.limits(share), quota.Limits{Share: share}, q.Source.limits(0)
	c.Tokens, c.Sources = map[string]quota.Limits{}, map[string]quota.Limits{}
	for _, t := range s.cfg.Auth.Tokens {
		c.Tokens[t.Name] = t.Quota.or(q.Token).limits(share)
	}
	for _, x := range q.Sources {
		c.Sources[x.Name] = x.or(q.Source).limits(0)
	}
	return c
}

func (v *validation) quotas(c *Config) {
	q := &c.Quotas
	v.want(q.Share >= 0 && q.Share <= 1, "quotas.share", "want 0 (no limit) to 1")
	v.want(q.Burst >= time.Second && q.Burst <= maxDuration, "quotas.burst", "want 1s to 100 years")
	v.want(q.EventBurst >= time.Second && q.EventBurst <= maxDuration, "quotas.event_burst", "want 1s to 100 years")
	v.want(q.Pace >= 0 && q.Pace <= maxDuration, "quotas.pace", "want 0 (nobody waits) to 100 years")
	v.quota("quotas.token", &q.Token)
	v.quota("quotas.source", &q.Source)
	v.sourceQuotas(q.Sources)
	for i := range c.Auth.Tokens {
		t := &c.Auth.Tokens[i]
		key := fmt.Sprintf("auth.tokens[%d]", i)
		v.quota(key+".quota", &t.Quota)
		v.want(printable(t.Name), key+".name",
			fmt.Sprintf("want at most %d bytes, and no control characters: it goes with every record", maxTokenName))
	}
}

// sourceQuotas wants a name in each entry, and each name once: the last one would win without a word.
func (v *validation) sourceQuotas(sources []SourceQuota) {
	first := map[string]int{}
	for i := range sources {
		s, key := &sources[i], fmt.Sprintf("quotas.sources[%d]", i)
		v.quota(key, &s.Quota)
		v.want(s.Name != "", key+".name",
			"want the name of a source; the limits of those that have no entry, and of posts that name no source, are quotas.source")
		if at, twice := first[s.Name]; twice && s.Name != "" {
			v.refuse(key+".name", fmt.Sprintf("%q is that of quotas.sources[%d] too", s.Name, at))
		} else {
			first[s.Name] = i
		}
	}
}

func (v *validation) quota(key string, q *Quota) {
	v.want(q.Bytes >= 0, key+".bytes", "want 0 or more")
	v.want(q.Posts >= 0, key+".posts", "want 0 or more")
	v.want(q.Sentences >= 0, key+".sentences", "want 0 or more")
	v.want(q.Events >= 0, key+".events", "want 0 or more")
}

// maxTokenName is the length of a token's name in bytes, at most.
const maxTokenName = 100

func printable(name string) bool {
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return len(name) <= maxTokenName
}
