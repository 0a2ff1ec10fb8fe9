package text

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// MaxTokens is the length, in tokens, at which a sentence is cut.
const MaxTokens = 256

// MaxText is how many bytes of a sentence's text are kept. So whatever is posted, a record and an event have a size that
// every broker takes. Of 429,000 real sentences none is longer than 3,402 bytes.
const MaxText = 4096

// Splitter splits posts. Its zero value is ready; it keeps its buffers from call to call, so one belongs to one
// goroutine.
type Splitter struct {
	post  string
	urls  []span
	cuts  []span // the pieces of the raw text
	parts []part // the sentences: pieces joined where one has no token
	norm  normaliser
	units []unit

	known    ids
	ids      []uint64
	sequence []byte
	sets     []uint64 // the block that the token sets of sentences go into
}

// setsBlock is how many ids a block holds: the sets of some hundred posts in one allocation. What is kept of a
// sentence for long is to be copied, or it keeps its neighbours' sets too.
const setsBlock = 4096

// part is a sentence: a raw range and its run of units.
type part struct {
	span
	first, last int // units[first:last]
}

// Split cuts post into sentences and says whether it begins with a repost mark ("RT @name:"). What it returns
// is valid until the next call on s.
func (s *Splitter) Split(post string) (sentences []Sentence, repost bool) {
	repost = s.split(post)
	all := string(s.norm.out) // one allocation holds the text of every token
	tokens := make([]Token, len(s.units))
	for i, u := range s.units {
		tokens[i] = Token{all[u.from:u.to], u.start, u.end, u.kind}
	}
	sentences = make([]Sentence, len(s.parts))
	for i, p := range s.parts {
		sentences[i] = Sentence{p.start, p.end, tokens[p.first:p.last:p.last]}
	}
	return sentences, repost
}

// Tokens is how many tokens the post has that was split last, repeats counted, those of sentences too short to be compared
// too: what Coverage is a share of.
func (s *Splitter) Tokens() int { return len(s.units) }

// AppendIDs appends the ids of all tokens of post, in order, repeats kept. It makes no strings.
func (s *Splitter) AppendIDs(dst []uint64, post string) []uint64 {
	s.split(post)
	return append(dst, s.ids...)
}

// split fills parts, units and ids.
func (s *Splitter) split(post string) (repost bool) {
	s.post = post
	s.norm.reset()
	s.units, s.parts, s.cuts, s.ids = s.units[:0], s.parts[:0], s.cuts[:0], s.ids[:0]
	s.urls = findURLs(s.urls[:0], post)
	body := skipRepostPrefixes(post)
	s.cuts = cutSentences(s.cuts, post, body, s.urls)
	s.tokenise()
	for _, u := range s.units {
		s.ids = append(s.ids, s.known.of(s.norm.out[u.from:u.to]))
	}
	return body > 0
}

// tokenise finds the tokens of every cut. A cut without any, such as a row of emoji, joins the sentence before
// it, or after it where there is none before.
func (s *Splitter) tokenise() {
	url := 0
	for _, c := range s.cuts {
		first := len(s.units)
		url = s.tokeniseCut(c, url)
		p := part{c, first, len(s.units)}
		if n := len(s.parts); n > 0 && (p.empty() || s.parts[n-1].empty()) {
			p.start, p.first = s.parts[n-1].start, s.parts[n-1].first
			s.parts = s.parts[:n-1]
		}
		s.parts = append(s.parts, p)
	}
}

func (p part) empty() bool { return p.first == p.last }

// tokeniseCut appends the tokens of one cut, leaving its URLs out; url is the first URL not before it.
func (s *Splitter) tokeniseCut(c span, url int) int {
	at := c.start
	for at < c.end {
		for url < len(s.urls) && s.urls[url].end <= at {
			url++
		}
		end := c.end
		if url < len(s.urls) && s.urls[url].start < end {
			end = max(s.urls[url].start, at)
		}
		s.units = tokenise(s.units, &s.norm, s.post, at, end)
		at = end
		if url < len(s.urls) && s.urls[url].start <= at && at < c.end {
			at = min(s.urls[url].end, c.end)
		}
	}
	return url
}

// Sentences splits p and appends to dst the sentences that are compared: cut every MaxTokens tokens, ids as a
// set, all fields filled. Short is the number of those that are not, being too short. Index counts all.
func (s *Splitter) Sentences(dst []feed.Sentence, p *feed.Post, minTokens int) (out []feed.Sentence, short int) {
	repost := s.split(p.Text)
	if cap(s.sets)-len(s.sets) < len(s.ids) {
		s.sets = make([]uint64, 0, max(setsBlock, len(s.ids)))
	}
	version := xxh3.HashString(p.Text)
	index := 0
	for _, sentence := range s.parts {
		for first := sentence.first; first < sentence.last || index == 0 && sentence.empty(); first += MaxTokens {
			piece := s.piece(sentence, first)
			if !reachesMinTokens(s.distinctHalves(piece, minTokens), minTokens) {
				short++
				index++
				continue
			}
			set, shown := s.set(piece), beginning(p.Text[piece.start:piece.end])
			dst = append(dst, feed.Sentence{
				Source: p.Source, Post: p.ID, Author: p.Author, Lang: p.Lang, Time: p.Time,
				Index: index, Start: piece.start, End: piece.end, Text: shown, TextCut: len(shown) < piece.end-piece.start,
				Tokens: set, Group: feed.GroupHash(set), Sequence: s.hashSequence(piece), Version: version,
				Coverage: float32(piece.last-piece.first) / float32(len(s.units)),
				Link:     p.Link, Meta: p.Meta,
				Untimed: !p.Timed, TimeAdjusted: p.Adjusted, Repost: repost, Converted: p.Converted,
			})
			index++
		}
	}
	return dst, short
}

// beginning is the text, or what of it stands before the rune that goes beyond MaxText.
func beginning(text string) string {
	if len(text) <= MaxText {
		return text
	}
	end := MaxText
	for end > MaxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// piece is the part of a sentence that begins with token first: all of it, or MaxTokens tokens. Pieces share
// the sentence's range between them: each ends where its last token does, the outer ends are the sentence's.
func (s *Splitter) piece(p part, first int) part {
	out := part{p.span, first, min(first+MaxTokens, p.last)}
	if first > p.first {
		out.start = s.units[first].start
	}
	if out.last < p.last {
		out.end = s.units[out.last-1].end
	}
	return out
}

// set puts the token set of p behind those of others.
func (s *Splitter) set(p part) []uint64 {
	from := len(s.sets)
	s.sets = append(s.sets, s.ids[p.first:p.last]...)
	sortIDs(s.sets[from:])
	set := slices.Compact(s.sets[from:])
	s.sets = s.sets[:from+len(set)]
	return set[:len(set):len(set)]
}

// maxInsertionSort is the length up to which sortIDs does better than the library.
const maxInsertionSort = 24

// sortIDs sorts hashes: by insertion without branches, which no predictor could guess.
func sortIDs(ids []uint64) {
	if len(ids) > maxInsertionSort {
		slices.Sort(ids)
		return
	}
	for i, v := range ids {
		for j, w := range ids[:i] {
			ids[j], v = min(v, w), max(v, w)
		}
		ids[i] = v
	}
}

// hashSequence is the xxh3 of the ids in order, 8 bytes each, little endian.
func (s *Splitter) hashSequence(p part) uint64 {
	s.sequence = s.sequence[:0]
	for _, id := range s.ids[p.first:p.last] {
		s.sequence = binary.LittleEndian.AppendUint64(s.sequence, id)
	}
	return xxh3.Hash(s.sequence)
}

// distinctHalves weighs the distinct tokens of p, in units of ½, until they are long enough.
func (s *Splitter) distinctHalves(p part, minTokens int) int {
	sum := 0
	for i := p.first; i < p.last && !reachesMinTokens(sum, minTokens); i++ {
		if !slices.Contains(s.ids[p.first:i], s.ids[i]) {
			sum += halves[s.units[i].kind]
		}
	}
	return sum
}
