package feed

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// Post is one message of a feed. It is known by (Source, ID).
type Post struct {
	Source, ID, Author, Lang, Text string

	// Time is the event time. Timed says that the post brought it along; otherwise whoever stamps the post
	// (split, or the reader of a file) fills it in. Adjusted says that its own time was replaced because it
	// lay in the future.
	Time            Time
	Timed, Adjusted bool

	// Converted: Text is what markup said, and not what the feed has: see WithHTML.
	Converted bool

	// Meta is the JSON object of the fields that the source passes on, and Link the address that its template makes, http
	// or https: see WithMeta and WithLink. "" without any. Both come out in the events of the post, at most MaxMeta and
	// MaxLink bytes.
	Meta, Link string
}

// Sentence is one sentence of a post as the detector sees it. It is known by (Source, Post, Index).
type Sentence struct {
	Source, Post, Author, Lang string
	Time                       Time
	Index                      int // place among the sentences of the post, from 0, too short ones counted
	Start, End                 int // byte range in the post's text
	Text                       string
	// Link and Meta are the post's: an http or https address to go to, and the JSON object of the fields that its source
	// keeps; "" without any.
	Link, Meta string

	Tokens   []uint64 // the token set: ids ascending, none twice
	Group    Hash     // GroupHash(Tokens)
	Sequence uint64   // hash of the token ids in order, repeats kept
	Version  uint64   // hash of the whole text of the post: tells a further version from a redelivery
	Coverage float32  // share of the post's tokens that are in this sentence, 0 to 1

	// Untimed: the post had no time of its own. TimeAdjusted: its own time lay in the future and was replaced.
	// Repost: the post begins with a repost mark ("RT @name:"). TextCut: Text is only the beginning of the sentence;
	// Start, End and everything that is computed from the text are of the whole. Converted: Start and End count in the text
	// that the post's markup was converted to.
	Untimed, TimeAdjusted, Repost, TextCut, Converted bool
}

// Compare orders sentences by (time, source, post id, index), ids as bytes: what "earlier" means everywhere.
func (s *Sentence) Compare(o *Sentence) int {
	return Key{s.Time, s.Source, s.Post, s.Index}.Compare(Key{o.Time, o.Source, o.Post, o.Index})
}

// RetractionLag is how long after the tombstone of an author an event may still show what he had posted before: until
// every worker has surely taken the tombstone in. What is made later shows only what he has posted since.
const RetractionLag = time.Minute

// Tombstone is the deletion of a post, by its author, its platform or an operator; or, where it names an Author instead,
// of everything that the author has posted so far.
type Tombstone struct{ Source, Post, Author string }

// Check refuses names that no post can have: see Post.Set. Nothing behind it is to hold them.
func (t *Tombstone) Check() error {
	if t.Post == "" && t.Author == "" {
		return errors.New("id: missing or empty")
	}
	for _, n := range []struct {
		field Field
		value string
	}{{FieldSource, t.Source}, {FieldID, t.Post}, {FieldAuthor, t.Author}} {
		if len(n.value) > MaxName {
			return fmt.Errorf("%s: %d bytes, and the limit is %d", n.field, len(n.value), MaxName)
		}
		if !utf8.ValidString(n.value) {
			return fmt.Errorf("%s: not valid Unicode: no post has such a name", n.field)
		}
	}
	return nil
}
