// Package lookup is an index of reuse, made from the events: what a post repeats and who repeats it, where a text was
// first and how often since, and what an author repeated last.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package lookup

import (
	"context"
	"errors"

	"refrain/feed"
	"refrain/topic"
)

// Store is an index of the event topic: per post what it repeats and who repeats it, per group its text and counts,
// per author the latest reuse. lookup/redisstore and lookup/boltstore implement it; lookup/storetest is the suite
// that both pass. All methods may be called by several goroutines.
//
// A Store knows posts through events only. What it has observed lives for the retention of wall time after it was last
// observed, and goes at most a quarter of the retention later.
type Store interface {
	// Apply takes changes in. The same ones again, in any order and grouping, change nothing more than how long
	// things live. After an error any of them may be in, and the caller applies all of them again. An error that
	// wraps ErrRewound says that the store has gone back: the cursor it holds now is where to go on.
	Apply(ctx context.Context, changes []Change) error

	// Reuse answers what a post repeats, and who repeats it. A post of which nothing is known has empty lists; one that is
	// known to be deleted is ErrDeleted.
	Reuse(ctx context.Context, source, post string, page Page) (Reuse, error)

	// Text answers what is known of a group; false when that is nothing.
	Text(ctx context.Context, group feed.Hash, page Page) (Text, bool, error)

	// Author answers an author's latest reuse, the latest first: at most n and at most AuthorCap.
	Author(ctx context.Context, source, author string, n int) ([]RepeatedBy, error)

	// Check finds out whether the store still holds what it was last given, while there is nothing to apply. Its error
	// is like one of Apply.
	Check(ctx context.Context) error

	// The cursor of whoever applies is kept with the data, so that both go back together when a copy is restored.
	// Put stores it after the changes that it stands for.
	topic.Store

	Close() error
}

// AuthorCap is how many of an author's latest reuses a Store retains at most.
const AuthorCap = 100

// Change is one of two: a match, or a deletion when Match is nil: of a post; or of an author, with all that events have
// shown of him that were made no later than feed.RetractionLag after Time.
//
// A Match may leave out the Earlier occurrence or First (an empty post id): it is taken in without. An Earlier or
// First that was deleted before is left out by the Store, and a match whose Later was deleted changes nothing; of a deleted
// author, if the match was made no later than that.
type Change struct {
	Match   *feed.Match
	Deleted feed.Tombstone
	Time    feed.Time // when the match was found, or the author deleted
}

// Page is a part of a list: at most Limit entries (0: none) behind the one that After names. After is the Next of an
// earlier answer, or "" for the beginning.
type Page struct {
	Limit int
	After string
}

// Occurrence is a sentence of a post, and the post's author where that is known.
type Occurrence struct {
	Source, Post string
	Author       string
	Sentence     int
	Time         feed.Time
}

// Likeness says how similar a sentence is to the group that it repeats, as the event does.
type Likeness struct {
	Jaccard float64
	// Where another similarity than Jaccard decided: its name and its value. Else "" and 0.
	Measure    string
	Similarity float64
}

// LikenessOf returns the likeness that the event states.
func LikenessOf(m *feed.Match) Likeness {
	return Likeness{Jaccard: m.Jaccard, Measure: m.Measure, Similarity: m.Similarity}
}

// RepeatOf says that a sentence of the post asked about repeats a group.
type RepeatOf struct {
	Event    feed.Hash
	Sentence int
	Time     feed.Time // of this version of the post
	Group    feed.Hash
	Likeness
	Identical bool
	Earlier   *Occurrence // an occurrence of the group; nil: it was deleted
	Text      string      // of the group, "" when it is not known
}

// RepeatedBy says that a later sentence repeats a group.
type RepeatedBy struct {
	Event feed.Hash
	Group feed.Hash
	Likeness
	Later Occurrence
	Text  string // of the group, in answers about authors only
}

// Reuse is what is known of a post. It is repeated by all later sentences of other posts that match a group to which
// the post belongs, after the post in the order of the feed.
type Reuse struct {
	Source, Post string
	RepeatOf     []RepeatOf   // complete, by sentence
	RepeatedBy   []RepeatedBy // one page, the latest first
	Total        int          // of all pages
	Next         string       // what the next page goes on after; "" at the end
}

// Text is what is known of a group. Occurrences and Authors are the greatest numbers that an event has named; first
// is the earliest that one has named within the retention, and may be nil when it was deleted.
type Text struct {
	Group                feed.Hash
	Text                 string
	First                *feed.First
	Last                 feed.Time // when it was last repeated
	Occurrences, Authors int
	AuthorsEstimated     bool
	RepeatedBy           []RepeatedBy // one page, the latest first
	Total                int
	Next                 string
}

var (
	// ErrDeleted says that a post was deleted, or its author.
	ErrDeleted = errors.New("the post was deleted")
	// ErrInput says that a question is not understood: a page that no earlier answer named.
	ErrInput = errors.New("not understood")
	// ErrRewound says that the store does not hold what it was last given: it has come back empty or older.
	ErrRewound = errors.New("the store has gone back to an earlier state")
	// ErrUnavailable says that the store cannot be asked now.
	ErrUnavailable = errors.New("the store is unavailable")
)
