package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"refrain/hashcodes"
)

// Feed is what a planner must know of a feed, and of the window that it is compared in.
type Feed struct {
	PostsPerDay float64 // the mean day's
	PeakFactor  float64 // the busiest hour against the mean hour, 1 or more

	Span, Lateness time.Duration // window.span, window.lateness
	Threshold      float64       // window.threshold, above 0 and at most 1
	Bits, Ones     int           // of the model: bits of a signature, ones of a token's code
	Texts          bool          // the window keeps the texts

	SentencesPerPost  float64 // compared: long enough to mean anything
	TokensPerSentence float64 // size of the token set of a sentence that is compared
	DistinctShare     float64 // distinct token sets among the sentences of the span, above 0 and at most 1
	TextBytes         float64 // of a sentence that is compared, UTF-8
	PostBytes         float64 // of a post, as JSON
	EventsPerSentence float64 // texts that a sentence is reported to repeat, in the mean
}

// DefaultFeed is a feed of short posts: means of the three Twitter streams of the shared data set (docs/plan.md has
// them all). PostsPerDay is left for the caller.
func DefaultFeed() Feed {
	return Feed{
		PeakFactor: 4,
		Span:       24 * time.Hour, Lateness: 5 * time.Minute, Threshold: 0.8, Bits: 64, Ones: 1, Texts: true,
		SentencesPerPost: 1.1, TokensPerSentence: 11, DistinctShare: 0.83, TextBytes: 90, PostBytes: 210, EventsPerSentence: 0.3,
	}
}

// Validate returns an error for every field that makes no sense.
func (f Feed) Validate() error {
	errs := above(
		Share{"posts a day", f.PostsPerDay}, Share{"span in seconds", f.Span.Seconds()}, Share{"sentences a post", f.SentencesPerPost},
		Share{"tokens a sentence", f.TokensPerSentence}, Share{"threshold", f.Threshold}, Share{"distinct share", f.DistinctShare})
	for _, check := range []struct {
		wrong bool
		say   string
	}{
		{f.PostsPerDay > 1e15, "posts a day: want at most 10^15"},
		{!(f.PeakFactor >= 1) || f.PeakFactor > 1e6, fmt.Sprintf("peak factor %v: want 1 or more: the busiest hour against the mean hour", f.PeakFactor)},
		{f.Lateness < 0, "lateness: want 0 or more"},
		{f.Threshold > 1, fmt.Sprintf("threshold %v: want at most 1", f.Threshold)},
		{f.DistinctShare > 1, fmt.Sprintf("distinct share %v: want at most 1", f.DistinctShare)},
		{f.TokensPerSentence > hashcodes.MaxSize, fmt.Sprintf("tokens a sentence %v: want at most %d: longer ones are cut", f.TokensPerSentence, hashcodes.MaxSize)},
		{f.SentencesPerPost > 1e6, "sentences a post: want at most 10^6"},
		{!(f.TextBytes >= 0 && f.PostBytes >= 0 && f.EventsPerSentence >= 0), "bytes of texts and posts, events a sentence: want 0 or more"},
		{!slices.Contains([]int{32, 64, 128, 256}, f.Bits), fmt.Sprintf("bits %d: want 32, 64, 128 or 256", f.Bits)},
		{f.Ones < 1 || f.Ones > hashcodes.MaxOnes, fmt.Sprintf("ones %d: want 1 to %d", f.Ones, hashcodes.MaxOnes)},
	} {
		if check.wrong {
			errs = append(errs, errors.New(check.say))
		}
	}
	return errors.Join(errs...)
}

const day = 24 * time.Hour

// posts a second at the peak: N / 86,400 · peak.
func (f Feed) posts() float64 { return f.PostsPerDay / day.Seconds() * f.PeakFactor }

// sentences compared a second at the peak.
func (f Feed) sentences() float64 { return f.posts() * f.SentencesPerPost }

// kept is how long a sentence stays in the window, in days: the span, the lateness, and one block, since blocks of
// span/16 go as a whole.
func (f Feed) kept() float64 {
	return (float64(f.Span)*(1+1./16) + float64(f.Lateness)) / float64(day)
}

// windowSentences are the sentences in the window when it is fullest: N · sentences a post · fullest(kept).
func (f Feed) windowSentences() float64 {
	return f.PostsPerDay * f.SentencesPerPost * f.fullest(f.kept())
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

// prefix is the number of a sentence's tokens that the prefix index posts: n − θn + 1, without the rounding.
func (f Feed) prefix() float64 { return f.TokensPerSentence*(1-f.Threshold) + 1 }
