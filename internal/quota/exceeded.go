package quota

import (
	"fmt"
	"math"
	"time"
)

// Whose quota it is.
const (
	KindToken  = "token"
	KindFeed   = "feed"
	KindSource = "source"
)

// LimitShare is the limit that counts only while the topic is tight.
const LimitShare = "share"

// Exceeded says which quota a batch has to wait for.
type Exceeded struct {
	Kind   string // KindToken, KindFeed or KindSource
	Limit  string // bytes, posts, sentences, events or LimitShare
	Sender Sender
	Source string        // of KindSource
	Wait   time.Duration // after it the batch is let in, if nothing else is sent meanwhile
}

// Error tells who is over what, and for how long.
func (e *Exceeded) Error() string {
	return fmt.Sprintf("%s %s is used up for %v", e.what(), e.whose(), e.Wait.Round(time.Second))
}

func (e *Exceeded) what() string {
	if e.Limit == LimitShare {
		return "the share of the sentence topic (quotas.share)"
	}
	return "the quota of " + e.Limit
}

func (e *Exceeded) whose() string {
	switch {
	case e.Kind == KindSource && e.Source == "":
		return "of posts that name no source"
	case e.Kind == KindSource:
		return fmt.Sprintf("of the source %q", e.Source)
	case e.Sender != "":
		return fmt.Sprintf("of the %s %q", e.Kind, e.Sender.Name())
	}
	return "of everybody without a token"
}

func exceeded(from Sender, source string, limit int, wait float64) *Exceeded {
	if wait <= 0 {
		return nil
	}
	return &Exceeded{Kind: from.Kind(), Limit: limitNames[limit], Sender: from, Source: source, Wait: seconds(wait)}
}

// seconds rounds up to whole ones: who waits for so long has waited long enough.
func seconds(s float64) time.Duration {
	const maxSeconds = 1e9 // 30 years
	return time.Duration(math.Ceil(min(s, maxSeconds))) * time.Second
}
