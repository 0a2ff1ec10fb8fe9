package sigstore

import (
	"encoding/binary"
	"math"
	"unsafe"

	"refrain/feed"
)

// occurrence is one occurrence of a group, read from its record. Its strings lie where the record does.
type occurrence struct {
	source, author, lang, text string
	link, meta                 string // the post's, as in feed.Sentence
	post                       postID
	time                       feed.Time
	coverage                   float32 // share of the post's tokens that are in the sentence
	index, start, end          uint32
	// Hashes of which 32 bits are kept: of the order of the tokens, and of the text of the post. Two orders of one
	// token set, or two versions of one post, are taken for the same in one of 4·10⁹ cases.
	sequence, version uint32
	repost, adjusted  bool
	textCut           bool
	converted         bool

	textAt uint64 // position of the text; 0: there is none
	at     uint64 // position of the record
}

func occurrenceOf(x *feed.Sentence) occurrence {
	return occurrence{
		source: x.Source, author: x.Author, lang: x.Lang, text: x.Text, link: x.Link, meta: x.Meta,
		post: parsePostID(x.Post), time: x.Time,
		coverage: x.Coverage, index: uint32(x.Index), start: uint32(x.Start), end: uint32(x.End),
		sequence: uint32(x.Sequence), version: uint32(x.Version), repost: x.Repost, adjusted: x.TimeAdjusted, textCut: x.TextCut,
		converted: x.Converted,
	}
}

func (o *occurrence) key() key { return key{o.time, o.source, o.post, o.index} }

func (o *occurrence) samePost(k key) bool { return o.post == k.post && o.source == k.source }

// show is o as an event shows the earlier one: without what only a later one has.
func (o *occurrence) show() feed.Occurrence {
	return feed.Occurrence{
		Source: o.source, Post: o.post.String(), Author: o.author, Lang: o.lang, Time: o.time,
		Sentence: int(o.index), Start: int(o.start), End: int(o.end), Text: o.text, TextCut: o.textCut,
		Converted: o.converted,
	}
}

func (o *occurrence) first() feed.First {
	return feed.First{Source: o.source, Post: o.post.String(), Author: o.author, Time: o.time}
}

// A record is, in this order: flags; rare flags; the position of the record before it in the chain; time; who said it,
// or where that stands; id of the post; version; sequence; coverage; index and start; length; link; meta; text, or where
// it stands. What the flags say is usual is left out. Numbers are varints, positions and times relative to a frame.
const (
	numberID      = 1 << iota // the id is a number
	fullCoverage              // coverage is 1
	fromStart                 // index and start are 0
	sharedText                // the text stands elsewhere
	isRepost                  //
	isRare                    // rare flags follow
	usualSequence             // the sequence is the group's
	isChained                 // there is a record before it
)

// The rare flags.
const (
	isAdjusted = 1 << iota
	isCut      // the text is
	hasLink
	hasMeta
	isConverted
)

// frame is what the numbers of a record are relative to.
type frame struct {
	base     uint64
	epoch    feed.Time
	sequence uint32 // the group's
	texts    bool   // texts are kept
}

// links are the positions of what a record refers to, 0 where it has it itself or it is not there.
type links struct{ before, who, text uint64 }

// encode appends the record of o.
func (f *frame) encode(b []byte, o *occurrence, l links) []byte {
	flags := o.flags(f, l)
	b = append(b, flags)
	rare := o.rareFlags()
	if flags&isRare != 0 {
		b = append(b, rare)
	}
	if flags&isChained != 0 {
		b = f.appendPosition(b, l.before)
	}
	b = appendTime(b, o.time-f.epoch)
	if l.who == 0 {
		b = appendWho(append(b, 0), o)
	} else {
		b = binary.AppendUvarint(b, l.who-f.base+1)
	}
	b = o.appendPost(b, flags)
	if flags&fromStart == 0 {
		b = binary.AppendUvarint(b, uint64(o.index))
		b = binary.AppendUvarint(b, uint64(o.start))
	}
	b = binary.AppendUvarint(b, uint64(o.end-o.start))
	if rare&hasLink != 0 {
		b = appendString(b, o.link)
	}
	if rare&hasMeta != 0 {
		b = appendString(b, o.meta)
	}
	switch {
	case !f.texts:
		return b
	case flags&sharedText != 0:
		return f.appendPosition(b, l.text)
	default:
		return appendString(b, o.text)
	}
}

func (o *occurrence) flags(f *frame, l links) (flags byte) {
	set := func(flag byte, on bool) {
		if on {
			flags |= flag
		}
	}
	set(numberID, o.post.isNumber())
	set(fullCoverage, o.coverage == 1)
	set(fromStart, o.index == 0 && o.start == 0)
	set(sharedText, l.text != 0)
	set(isRepost, o.repost)
	set(isRare, o.rareFlags() != 0)
	set(usualSequence, o.sequence == f.sequence)
	set(isChained, l.before != 0)
	return flags
}

func (o *occurrence) rareFlags() (flags byte) {
	if o.adjusted {
		flags |= isAdjusted
	}
	if o.textCut {
		flags |= isCut
	}
	if o.converted {
		flags |= isConverted
	}
	if o.link != "" {
		flags |= hasLink
	}
	if o.meta != "" {
		flags |= hasMeta
	}
	return flags
}

func (o *occurrence) appendPost(b []byte, flags byte) []byte {
	if flags&numberID != 0 {
		b = binary.LittleEndian.AppendUint64(b, o.post.number)
	} else {
		b = appendString(b, o.post.text)
	}
	b = binary.LittleEndian.AppendUint32(b, o.version)
	if flags&usualSequence == 0 {
		b = binary.LittleEndian.AppendUint32(b, o.sequence)
	}
	if flags&fullCoverage == 0 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(o.coverage))
	}
	return b
}

// appendTime writes a difference of times, most of which are whole seconds: the lowest bit says so.
func appendTime(b []byte, t feed.Time) []byte {
	if t%1000 == 0 {
		return binary.AppendVarint(b, int64(t/1000)<<1|1)
	}
	return binary.AppendVarint(b, int64(t)<<1)
}

// appendPosition writes a position that may lie before the frame's base: in the arena of an older block.
func (f *frame) appendPosition(b []byte, pos uint64) []byte {
	return binary.AppendVarint(b, int64(pos-f.base))
}

// appendWho writes who said something: source, author and language.
func appendWho(b []byte, o *occurrence) []byte {
	return appendString(appendString(appendString(b, o.source), o.author), o.lang)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// memory is what records lie in.
type memory interface{ at(pos uint64) []byte }

// decode reads the record at pos, and returns the position of the one before it, 0 if there is none.
func (f *frame) decode(o *occurrence, m memory, pos uint64) (before uint64) {
	r := reader{m.at(pos)}
	o.at = pos
	flags, rare := r.byte(), byte(0)
	if flags&isRare != 0 {
		rare = r.byte()
	}
	if flags&isChained != 0 {
		before = f.position(&r)
	}
	o.time = f.epoch + r.time()
	if who := r.uvarint(); who == 0 {
		r.who(o)
	} else {
		w := reader{m.at(f.base + who - 1)}
		w.who(o)
	}
	r.post(o, flags, f.sequence)
	o.index, o.start = 0, 0
	if flags&fromStart == 0 {
		o.index, o.start = uint32(r.uvarint()), uint32(r.uvarint())
	}
	o.end = o.start + uint32(r.uvarint())
	o.repost = flags&isRepost != 0
	r.rare(o, rare)
	if f.texts {
		f.text(o, m, pos, &r, flags)
	}
	return before
}

func (f *frame) text(o *occurrence, m memory, pos uint64, r *reader, flags byte) {
	if flags&sharedText == 0 {
		o.textAt = pos + uint64(len(m.at(pos))-len(r.b))
		if o.textAt>>pageBits != pos>>pageBits {
			o.textAt = 0 // far into a page that is larger than others: no position says where
		}
		o.text = r.string()
		return
	}
	o.textAt = f.position(r)
	t := reader{m.at(o.textAt)}
	o.text = t.string()
}

func (f *frame) position(r *reader) uint64 { return f.base + uint64(r.varint()) }

// reader reads what encode wrote. There is no check: the bytes were never outside this process.
type reader struct{ b []byte }

func (r *reader) byte() byte {
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	if c := r.b[0]; c < 0x80 {
		r.b = r.b[1:]
		return uint64(c)
	}
	v, n := binary.Uvarint(r.b)
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.b = r.b[n:]
	return v
}

func (r *reader) time() feed.Time {
	v := r.varint()
	if v&1 == 0 {
		return feed.Time(v >> 1)
	}
	return feed.Time(v>>1) * 1000
}

func (r *reader) uint32() uint32 {
	v := binary.LittleEndian.Uint32(r.b)
	r.b = r.b[4:]
	return v
}

// string returns the bytes where they are, which is safe because they never change.
func (r *reader) string() string {
	n := r.uvarint()
	if n == 0 {
		return ""
	}
	s := unsafe.String(&r.b[0], n)
	r.b = r.b[n:]
	return s
}

func (r *reader) who(o *occurrence) { o.source, o.author, o.lang = r.string(), r.string(), r.string() }

func (r *reader) post(o *occurrence, flags byte, usual uint32) {
	o.post = postID{}
	if flags&numberID != 0 {
		o.post.number = binary.LittleEndian.Uint64(r.b)
		r.b = r.b[8:]
	} else {
		o.post.text = r.string()
	}
	o.version, o.sequence, o.coverage = r.uint32(), usual, 1
	if flags&usualSequence == 0 {
		o.sequence = r.uint32()
	}
	if flags&fullCoverage == 0 {
		o.coverage = math.Float32frombits(r.uint32())
	}
}

// rare reads what few occurrences have.
func (r *reader) rare(o *occurrence, flags byte) {
	o.adjusted, o.textCut, o.link, o.meta = flags&isAdjusted != 0, flags&isCut != 0, "", ""
	o.converted = flags&isConverted != 0
	if flags&hasLink != 0 {
		o.link = r.string()
	}
	if flags&hasMeta != 0 {
		o.meta = r.string()
	}
}

// appendSet writes a token set: how many, the first, and the distances between them.
func appendSet(b []byte, numbers []uint32) []byte {
	b = binary.AppendUvarint(b, uint64(len(numbers)))
	last := uint32(0)
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n-last))
		last = n
	}
	return b
}

// readSet appends what appendSet wrote.
func readSet(dst []uint32, b []byte) []uint32 {
	r := reader{b}
	n, last := r.uvarint(), uint32(0)
	for range n {
		last += uint32(r.uvarint())
		dst = append(dst, last)
	}
	return dst
}

// overlap counts the numbers that a written set has in common with a set.
func overlap(b []byte, numbers []uint32) (common int) {
	r := reader{b}
	n, last, i := r.uvarint(), uint32(0), 0
	for range n {
		last += uint32(r.uvarint())
		for i < len(numbers) && numbers[i] < last {
			i++
		}
		if i == len(numbers) {
			return common
		}
		if numbers[i] == last {
			common++
			i++
		}
	}
	return common
}
