package topic

// The sentence record: what split writes into a partition of the sentence topic and workers read back. One record
// holds a batch of sentences or a watermark of its writer's clock, so that a broker's cost per message is paid once for
// many.
//
//	record    = magic:2 "RB"  format:1 =2  body  checksum:8
//	body      = textVersion:u  tooShort:u  watermark  #sentences:u sentence*
//	watermark = kind:1 (0 none, 1 active, 2 idle)  [writer:8  source:ref  time:delta  newest:delta]   none has no more
//	          | kind:1 =3 (canary)  writer:8  pair:8  second:1   the sentences are a canary's
//	sentence  = flags:1  [post]  index:u start:u length:u  text:ref
//	            coverage:4  sequence:8  group:16  #tokens:u token:8*
//	post      = source:ref post:ref author:ref lang:ref time:delta version:8  [link:ref meta:ref]
//	            absent when flag 8 is set: the same as in the sentence before
//	flags     = 1 untimed, 2 time adjusted, 4 repost, 8 same post, 16 text cut, 32 the post has a link or meta, never
//	            with 8, 64 markup was converted; the other is 0
//
//	:n       n bytes, little endian; coverage is the bits of a float32
//	:u       unsigned varint, below 2^31
//	:ref     unsigned varint; 0: a new string follows (its length :u, its bytes) and gets the next number, counted
//	         from 1; k: string k again. So a source, an author or a text that repeats costs a byte or two.
//	:delta   signed (zigzag) varint: milliseconds since the time written before, the first since 1970
//
// length is End - Start, also where the text is cut. Tokens are strictly ascending; ids are hashes, so their
// differences would need as many bytes as they do. The group is the hash of the tokens: every worker reads every
// sentence, and computing a hash that nobody can forge costs more than reading 16 bytes. A post without link and meta
// spends nothing on them. checksum is the xxh3-64 of all bytes before it. Nothing follows it.
//
// Format 1 had no group, no cut texts, no links and no meta. It was never released, and is refused.
//
// A watermark (writer 8, active, at 5 ms because of source partition "x", the newest clock at 6 ms) and one sentence
// of source "x" at 6 ms, tokens {1, 2}, text "a b":
//
//	52 42 02                       "RB", format 2
//	01 00                          text version 1, no sentence too short
//	01  08 00 00 00 00 00 00 00    an active watermark of writer 8:
//	    00 01 78  0a  02           new string 1 "x", 0 + 5 ms, 5 + 1 ms
//	01  00                         one sentence, no flags
//	    01  00 02 70 31            source: string 1; post: new string 2 "p1"
//	    00 00  03                  author: new string 3 ""; lang: string 3
//	    00  09 00 00 00 00 00 00 00   6 + 0 ms; version 9
//	    00 00 03  00 03 61 20 62   sentence 0, bytes 0 to 3, new string 4 "a b"
//	    00 00 80 3f                coverage 1
//	    07 00 00 00 00 00 00 00    sequence 7
//	    a1 a2 a3 a4 a5 a6 a7 a8 a9 aa ab ac ad ae af b0    the group's hash
//	    02  01 00 00 00 00 00 00 00  02 00 00 00 00 00 00 00
//	xx xx xx xx xx xx xx xx        checksum

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// Batch is what one record of the sentence topic carries.
type Batch struct {
	Sentences []feed.Sentence
	// TooShort counts the sentences of the same posts that are not compared.
	TooShort int
	// Watermark is the clock of the writer at the time of writing, nil in most records.
	Watermark *Watermark
	// Canary says that the sentences are a canary's: nobody's post. Nil in nearly all records; one with a canary has no
	// watermark.
	Canary *Canary
	// TextVersion is the version of the normalisation that made the tokens (text.Version).
	TextVersion int
}

// Watermark is the clock of one writer: how far the source partitions that it writes for have got. What stands before it
// in its partition is all that it covers.
type Watermark struct {
	Writer uint64    // whose it is: another number after each start
	Time   feed.Time // the lowest clock of the writer's active source partitions; 0 while one that is expected has none
	Newest feed.Time // the highest of them
	Source string    // the source partition whose clock Time is
	Idle   bool      // none is active: the clock does not hold the others back
}

// Canary names one post of a pair that a server writes to see whether all is well. Workers look its sentences up and throw
// away what they find; they are in no window and in no count.
type Canary struct {
	Writer uint64 // whose it is: another number after each start
	Pair   uint64
	Second bool // of the pair: it repeats the first
}

const (
	batchMagic   = "RB"
	batchFormat  = 2
	checksumSize = 8
	// maxBatchInt bounds every number of the format, so that it fits an int everywhere.
	maxBatchInt = math.MaxInt32
)

const (
	flagUntimed = 1 << iota
	flagTimeAdjusted
	flagRepost
	flagSamePost
	flagTextCut
	flagFields
	flagConverted
	flagsKnown = flagUntimed | flagTimeAdjusted | flagRepost | flagSamePost | flagTextCut | flagFields | flagConverted
)

// The kinds of watermark.
const (
	watermarkNone = iota
	watermarkActive
	watermarkIdle
	watermarkCanary
)

// Append appends the record to dst. It panics on what DecodeBatch would refuse (tokens out of order, a negative
// number, a coverage outside 0 to 1): the caller's bug must not become a record that nobody can read.
func (b *Batch) Append(dst []byte) []byte {
	e := batchEncoder{out: dst, strings: make(map[string]uint64, 2*len(b.Sentences))}
	e.out = append(e.out, batchMagic...)
	e.out = append(e.out, batchFormat)
	e.uint("text version", b.TextVersion)
	e.uint("too short", b.TooShort)
	e.kind(b)
	e.uint("sentences", len(b.Sentences))
	var previous *feed.Sentence
	for i := range b.Sentences {
		e.sentence(&b.Sentences[i], previous)
		previous = &b.Sentences[i]
	}
	return binary.LittleEndian.AppendUint64(e.out, xxh3.Hash(e.out[len(dst):]))
}

type batchEncoder struct {
	out     []byte
	strings map[string]uint64
	time    feed.Time // the time written last
}

func (e *batchEncoder) uint(what string, n int) {
	if n < 0 || n > maxBatchInt {
		panic(fmt.Sprintf("topic: encode batch: %s %d", what, n))
	}
	e.out = binary.AppendUvarint(e.out, uint64(n))
}

func (e *batchEncoder) fixed(n uint64) { e.out = binary.LittleEndian.AppendUint64(e.out, n) }

func (e *batchEncoder) ref(s string) {
	if n, ok := e.strings[s]; ok {
		e.out = binary.AppendUvarint(e.out, n)
		return
	}
	e.strings[s] = uint64(len(e.strings) + 1)
	e.out = append(e.out, 0)
	e.uint("string of length", len(s))
	e.out = append(e.out, s...)
}

func (e *batchEncoder) delta(t feed.Time) {
	e.out = binary.AppendVarint(e.out, int64(t-e.time))
	e.time = t
}

// kind writes what the record is besides its sentences: a watermark, a canary, or neither.
func (e *batchEncoder) kind(b *Batch) {
	switch {
	case b.Canary == nil:
		e.watermark(b.Watermark)
	case b.Watermark != nil:
		panic("topic: encode batch: a canary with a watermark")
	default:
		e.out = append(e.out, watermarkCanary)
		e.fixed(b.Canary.Writer)
		e.fixed(b.Canary.Pair)
		e.out = append(e.out, oneIf(b.Canary.Second))
	}
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (e *batchEncoder) watermark(m *Watermark) {
	switch {
	case m == nil:
		e.out = append(e.out, watermarkNone)
		return
	case m.Idle:
		e.out = append(e.out, watermarkIdle)
	default:
		e.out = append(e.out, watermarkActive)
	}
	e.fixed(m.Writer)
	e.ref(m.Source)
	e.delta(m.Time)
	e.delta(m.Newest)
}

func (e *batchEncoder) sentence(s, previous *feed.Sentence) {
	same := previous != nil && samePost(s, previous)
	e.out = append(e.out, sentenceFlags(s, same))
	if !same {
		e.post(s)
	}
	e.uint("index", s.Index)
	e.uint("start", s.Start)
	e.uint("length", s.End-s.Start)
	e.ref(s.Text)
	if !validCoverage(s.Coverage) {
		panic(fmt.Sprintf("topic: encode batch: coverage %v", s.Coverage))
	}
	e.out = binary.LittleEndian.AppendUint32(e.out, math.Float32bits(s.Coverage))
	e.fixed(s.Sequence)
	e.out = append(e.out, s.Group[:]...)
	e.tokens(s.Tokens)
}

func (e *batchEncoder) post(s *feed.Sentence) {
	e.ref(s.Source)
	e.ref(s.Post)
	e.ref(s.Author)
	e.ref(s.Lang)
	e.delta(s.Time)
	e.fixed(s.Version)
	if hasFields(s) {
		e.ref(s.Link)
		e.ref(s.Meta)
	}
}

func (e *batchEncoder) tokens(set []uint64) {
	e.uint("tokens", len(set))
	for i, id := range set {
		if i > 0 && id <= set[i-1] {
			panic(fmt.Sprintf("topic: encode batch: token %d is not above the one before", i))
		}
		e.fixed(id)
	}
}

func samePost(s, o *feed.Sentence) bool {
	return s.Post == o.Post && s.Source == o.Source && s.Author == o.Author && s.Lang == o.Lang &&
		s.Time == o.Time && s.Version == o.Version && s.Link == o.Link && s.Meta == o.Meta
}

// hasFields reports whether the post of s brought a link or meta along.
func hasFields(s *feed.Sentence) bool { return s.Link != "" || s.Meta != "" }

func sentenceFlags(s *feed.Sentence, same bool) byte {
	var f byte
	if s.Untimed {
		f |= flagUntimed
	}
	if s.TimeAdjusted {
		f |= flagTimeAdjusted
	}
	if s.Repost {
		f |= flagRepost
	}
	if s.TextCut {
		f |= flagTextCut
	}
	if s.Converted {
		f |= flagConverted
	}
	switch {
	case same:
		f |= flagSamePost
	case hasFields(s):
		f |= flagFields
	}
	return f
}

// validCoverage is false for NaN.
func validCoverage(c float32) bool { return c >= 0 && c <= 1 }
