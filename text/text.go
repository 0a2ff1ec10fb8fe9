// Package text turns a post into sentences of normalised tokens that can be compared as sets.
//
// The route of one post, each step in the file of its name: urls.go finds what is opaque, sentences.go cuts the
// raw text, normalise.go rewrites each piece (NFKC, case folding, invisible characters left out) while it keeps
// the way back to the raw bytes, tokens.go finds words, characters, mentions and hashtags in it, splitter.go
// makes feed sentences of them. docs/text.md states every rule.
//
// Everything here depends on the text alone: no language tag, no model, no locale.
package text

// Version of the normalisation. It changes whenever any token of any text could: ids, group hashes and event
// ids of different versions must not be mixed.
const Version = 2

// Kind says what a token is, and with it how much it counts towards the least length of a sentence.
type Kind uint8

const (
	// Word is a word or a number in the sense of UAX #29. It counts 1.
	Word Kind = iota
	// Character is one character, with its marks, of a script written without spaces. It counts ½.
	Character
	// Mention is "@" and a name. It counts 0.
	Mention
	// Hashtag is "#" and a tag. It counts 1.
	Hashtag
)

// String is the lower-case name of k.
func (k Kind) String() string {
	return [...]string{"word", "character", "mention", "hashtag"}[k]
}

// halves is the weight of each kind in the "too short" rule, in units of ½.
var halves = [...]int{Word: 2, Character: 1, Mention: 0, Hashtag: 2}

// Token is one unit of comparison.
type Token struct {
	Text       string // normalised
	Start, End int    // byte range in the raw text of the post
	Kind       Kind
}

// Sentence is one sentence of a post.
type Sentence struct {
	Start, End int // byte range in the raw text of the post, without surrounding white space
	Tokens     []Token
}

// Compared says whether a sentence of these tokens is long enough to be compared. Over the set of distinct
// tokens a word or hashtag counts 1, a character ½ and a mention 0; the sum must be at least minTokens, and
// more than 0 whatever minTokens is.
func Compared(tokens []Token, minTokens int) bool {
	seen := make(map[string]struct{}, len(tokens))
	sum := 0
	for _, t := range tokens {
		if _, ok := seen[t.Text]; !ok {
			seen[t.Text] = struct{}{}
			sum += halves[t.Kind]
		}
	}
	return reachesMinTokens(sum, minTokens)
}

func reachesMinTokens(halves, minTokens int) bool { return halves > 0 && halves >= 2*minTokens }
