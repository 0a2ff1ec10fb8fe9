package feed

// Occurrence is one sentence of one post, as an event shows it.
type Occurrence struct {
	Source, Post, Author, Lang string
	Time                       Time
	Sentence, Start, End       int
	Text                       string
	TextCut                    bool // Text is only the beginning of the sentence
	Converted                  bool // Start and End count in the text that the post's markup was converted to

	// Of the later sentence of a match, and of no other: its own group, and what its post brought along, as in Sentence.
	Group      Hash
	Link, Meta string
}

// Key is the place of o in the order of the feed.
func (o *Occurrence) Key() Key { return Key{o.Time, o.Source, o.Post, o.Sentence} }

// Name is the post of o.
func (o *Occurrence) Name() Name { return Name{o.Source, o.Post, o.Author} }

// Match says that a later sentence repeats, or nearly repeats, a group: the data of one reuse event.
//
// ID, Later, Group, Jaccard and Similarity depend on the feed alone; Earlier is some occurrence that satisfies the match,
// the oldest known by preference; First, Occurrences and Authors are what the reporter knew when it reported.
type Match struct {
	ID      Hash
	Scheme  string
	Group   Hash    // the group that is repeated
	Jaccard float64 // |T_b ∩ T_g| / |T_b ∪ T_g|
	// Where another similarity than Jaccard decided: its name, cosine or dice, and its value. Else "" and 0.
	Measure    string
	Similarity float64
	Hamming    int // distance of the two signatures, bits
	// Identical: the token sequences are equal too, not only the sets.
	Identical bool

	Later, Earlier Occurrence

	First            First
	Occurrences      int // of the group since it was made, Later included
	Authors          int // distinct authors among them; exact to 32
	AuthorsEstimated bool

	Coverage     float64 // share of the later post's tokens in this sentence
	SameAuthor   bool    // Later and Earlier have one author, of one source
	Repost       bool    // the later post begins with a repost mark
	TimeAdjusted bool    // the later post's own time lay in the future and was replaced
	Truncated    bool    // max_matches left out further groups, or later occurrences, of this look-up
}

// Value is the similarity that decided.
func (m *Match) Value() float64 {
	if m.Measure != "" {
		return m.Similarity
	}
	return m.Jaccard
}

// First is the first occurrence of a group that the reporter knew.
type First struct {
	Source, Post, Author string
	Time                 Time
}

// Name is the post of f.
func (f *First) Name() Name { return Name{f.Source, f.Post, f.Author} }
