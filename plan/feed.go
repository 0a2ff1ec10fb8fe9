package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"refrain/hashcodes"
	"refrain/text"
)

// Feed is what a planner must know of a feed, and of the window that it is compared in.
type Feed struct {
	PostsPerDay float64 `json:"postsPerDay"` // the mean day's
	PeakFactor  float64 `json:"peakFactor"`  // the busiest hour against the mean hour, 1 to 24

	Span      time.Duration `json:"span"`              // window.span
	Lateness  time.Duration `json:"lateness"`          // window.lateness
	MaxHold   time.Duration `json:"maxHold"`           // window.max_hold
	Threshold float64       `json:"threshold"`         // window.threshold, above 0 and at most 1
	Measure   string        `json:"measure,omitempty"` // window.measure; "": jaccard
	Bits      int           `json:"bits"`              // of a signature
	Ones      int           `json:"ones"`              // of a token's code
	Model     string        `json:"model"`             // window.model: name of the codes, for people
	Texts     bool          `json:"texts"`             // the window keeps the texts

	SentencesPerPost  float64 `json:"sentencesPerPost"`  // compared: long enough to mean anything
	TokensPerSentence float64 `json:"tokensPerSentence"` // size of the token set of a sentence that is compared
	DistinctShare     float64 `json:"distinctShare"`     // distinct token sets a sentence of the span, above 0 and at most 1
	TextBytes         float64 `json:"textBytes"`         // of a sentence that is compared, UTF-8
	PostBytes         float64 `json:"postBytes"`         // of a post, as JSON
	EventsPerSentence float64 `json:"eventsPerSentence"` // texts that a sentence is reported to repeat, in the mean

	FalsePerMillion []AtThreshold `json:"falsePerMillion,omitempty"` // of learned codes; none: of hashed codes of Bits and Ones
}

// DefaultFeed is a feed of short posts: means of the three Twitter streams of the shared data set (docs/plan.md has
// them all). PostsPerDay is left for the caller.
func DefaultFeed() Feed {
	return Feed{
		PeakFactor: 4,
		Span:       24 * time.Hour, Lateness: 5 * time.Minute, MaxHold: 24 * time.Hour, Threshold: text.DefaultThreshold.Float(),
		Bits: hashcodes.DefaultBits, Ones: hashcodes.DefaultOnes, Model: "md5-64-1", Texts: true,
		SentencesPerPost: 1.1, TokensPerSentence: 11, DistinctShare: 0.83, TextBytes: 90, PostBytes: 210, EventsPerSentence: 0.3,
	}
}

// mistakes are the fields that make no sense. Comparisons are written so that NaN is one.
func (f Feed) mistakes() (m Mistakes) {
	m.want(f.PostsPerDay > 0 && f.PostsPerDay <= 1e15, "PostsPerDay", f.PostsPerDay, "more than 0, at most 10^15")
	m.want(f.PeakFactor >= 1 && f.PeakFactor <= 24, "PeakFactor", f.PeakFactor,
		"1 to 24: the busiest hour of a day against its mean hour; at 24 all posts of the day come in one hour")
	m.want(f.Span > 0, "Span", f.Span, "more than 0")
	m.want(f.Lateness >= 0, "Lateness", f.Lateness, "0 or more")
	m.want(f.MaxHold >= 0, "MaxHold", f.MaxHold, "0 or more")
	m.want(f.Threshold > 0 && f.Threshold <= 1, "Threshold", f.Threshold, "more than 0, at most 1")
	m.want(f.Measure == "" || slices.Contains(text.Similarities, f.Measure), "Measure", f.Measure,
		strings.Join(text.Similarities, ", "))
	m.want(slices.Contains([]int{32, 64, 128, 256}, f.Bits), "Bits", f.Bits, "32, 64, 128 or 256")
	m.want(f.Ones >= 1 && f.Ones <= hashcodes.MaxOnes, "Ones", f.Ones, fmt.Sprintf("1 to %d", hashcodes.MaxOnes))
	m.want(f.SentencesPerPost > 0 && f.SentencesPerPost <= maxRate, "SentencesPerPost", f.SentencesPerPost,
		"more than 0, at most 10^6")
	m.want(f.TokensPerSentence >= 1 && f.TokensPerSentence <= hashcodes.MaxSize, "TokensPerSentence", f.TokensPerSentence,
		fmt.Sprintf("1 to %d: longer sentences are cut", hashcodes.MaxSize))
	m.want(f.DistinctShare > 0 && f.DistinctShare <= 1, "DistinctShare", f.DistinctShare,
		"more than 0, at most 1: a share of all")
	m.want(f.TextBytes >= 0 && f.TextBytes <= maxRate, "TextBytes", f.TextBytes, "0 to 10^6")
	m.want(f.PostBytes >= 0 && f.PostBytes <= 1000*maxRate, "PostBytes", f.PostBytes, "0 to 10^9")
	m.want(f.EventsPerSentence >= 0 && f.EventsPerSentence <= maxRate, "EventsPerSentence", f.EventsPerSentence, "0 to 10^6")
	return m
}

// maxRate is far above what a mean of posts or sentences is anywhere.
const maxRate = 1e6

const day = 24 * time.Hour

// posts a second at the peak: N / 86,400 · peak.
func (f Feed) posts() float64 { return f.PostsPerDay / day.Seconds() * f.PeakFactor }

// sentences compared a second at the peak.
func (f Feed) sentences() float64 { return f.posts() * f.SentencesPerPost }

// windowDays is how long a sentence stays in the window, in days: the span, the lateness, and one block, since blocks of
// span/16 go as a whole.
func (f Feed) windowDays() float64 {
	return (float64(f.Span)*(1+1./16) + float64(f.Lateness)) / float64(day)
}

// topicDays is how long the sentence topic keeps a record at most, in days: see Feed.MaxHold.
func (f Feed) topicDays() float64 {
	return float64(f.Span+f.Lateness+f.MaxHold+time.Hour) / float64(day)
}

// indexDays is how long the index keeps what an event has told at most, in days: lookup.retention, by default the span,
// and a quarter more.
func (f Feed) indexDays() float64 { return 1.25 * float64(f.Span) / float64(day) }

// windowSentences are the sentences in the window when it is fullest: N · sentences a post · fullest(windowDays).
func (f Feed) windowSentences() float64 {
	return f.PostsPerDay * f.SentencesPerPost * f.fullest(f.windowDays())
}

// fullest is the part of a mean day's posts that come in the busiest stretch of so many days: up to an hour at the
// peak; from an hour to a day days^(1 − ln peak / ln 24), which joins the busiest hour to the whole day; then by the
// mean.
func (f Feed) fullest(days float64) float64 {
	const hour = 1. / 24
	switch {
	case days >= 1:
		return days
	case days <= hour:
		return min(1, f.PeakFactor*days)
	}
	return math.Pow(days, max(0, 1-math.Log(f.PeakFactor)/math.Log(24)))
}

// windowRows are the distinct token sets among them.
func (f Feed) windowRows() float64 { return f.windowSentences() * f.DistinctShare }

// prefix is the number of a sentence's tokens that the prefix index posts: n − θn + 1, without the rounding, where θ is jaccard.
func (f Feed) prefix() float64 { return f.TokensPerSentence*(1-f.jaccard()) + 1 }

// jaccard is the threshold at which Jaccard costs as much, since costs were measured with it. Dice reaches θ where Jaccard
// reaches θ/(2−θ): the same matches. A cosine of θ has the prefixes and the sizes of Jaccard at θ², and fewer candidates
// within its radii, which are those of θ/(2−θ) between sets of one size: an upper bound.
func (f Feed) jaccard() float64 {
	switch f.Measure {
	case text.Cosine.String():
		return f.Threshold * f.Threshold
	case text.Dice.String():
		return f.Threshold / (2 - f.Threshold)
	}
	return f.Threshold
}
