package topic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

var (
	// ErrBatchFormat says that a sentence record is of a format this program does not read.
	ErrBatchFormat = errors.New("unknown format of sentence record")
	// ErrBatchCorrupt says that bytes are not a whole and undamaged sentence record.
	ErrBatchCorrupt = errors.New("damaged sentence record")
)

// minSentence is the size of the smallest sentence: flags, index, start, length, text, coverage, sequence, group, no
// tokens.
const minSentence = 1 + 1 + 1 + 1 + 1 + 4 + 8 + 16 + 1

// DecodeBatch reads what Batch.Append wrote. It takes any bytes: whatever is not exactly a record gives an error
// that names the offset, wrapping ErrBatchFormat or ErrBatchCorrupt, after allocating at most some 16 times their length.
//
// The batch does not refer to data, but its strings share one copy of it, and its token sets one array: what is kept
// of a sentence for longer than the batch is to be cloned, or it keeps them all alive.
func DecodeBatch(data []byte) (Batch, error) {
	body, err := openBatch(data)
	if err != nil {
		return Batch{}, fmt.Errorf("decode batch: %w", err)
	}
	d := batchDecoder{in: body, size: len(body), text: string(body)}
	b := d.batch()
	if d.err == nil && len(d.in) > 0 {
		d.fail("end", fmt.Sprintf("%d bytes too many", len(d.in)))
	}
	if d.err != nil {
		return Batch{}, fmt.Errorf("decode batch: %w: %w", ErrBatchCorrupt, d.err)
	}
	return b, nil
}

// openBatch checks what surrounds the body and returns it.
func openBatch(data []byte) ([]byte, error) {
	const head = len(batchMagic) + 1
	if len(data) < head || string(data[:len(batchMagic)]) != batchMagic {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrBatchCorrupt, batchMagic)
	}
	if err := checkFormat(data[len(batchMagic)]); err != nil {
		return nil, err
	}
	if len(data) < head+checksumSize {
		return nil, fmt.Errorf("%w: %d bytes are no record", ErrBatchCorrupt, len(data))
	}
	body, sum := data[:len(data)-checksumSize], data[len(data)-checksumSize:]
	if xxh3.Hash(body) != binary.LittleEndian.Uint64(sum) {
		return nil, fmt.Errorf("%w: checksum mismatch over %d bytes", ErrBatchCorrupt, len(body))
	}
	return body[head:], nil
}

// checkFormat says what to do about a record of another format.
func checkFormat(f byte) error {
	switch {
	case f < batchFormat:
		return fmt.Errorf("%w: format %d is of a version before the first release, this program reads %d: "+
			"start with an empty data directory, or with new topics", ErrBatchFormat, f, batchFormat)
	case f > batchFormat:
		return fmt.Errorf("%w: format %d is of a newer version, this program reads %d: "+
			"start the version that wrote it", ErrBatchFormat, f, batchFormat)
	}
	return nil
}

// batchDecoder reads in from its beginning. After the first error every method returns zero values at once, so
// that callers check err only where they would go on for long.
type batchDecoder struct {
	in      []byte
	size    int // of in at the start: errors name the offset
	err     error
	text    string   // all of in: strings are parts of it
	tokens  []uint64 // of the sentences so far
	strings []string
	time    feed.Time
}

func (d *batchDecoder) batch() Batch {
	var b Batch
	b.TextVersion = d.uint("text version")
	b.TooShort = d.uint("too short")
	b.Watermark, b.Canary = d.kind()
	if n := d.count("sentences", minSentence); n > 0 {
		b.Sentences = make([]feed.Sentence, n)
	}
	var previous *feed.Sentence
	for i := range b.Sentences {
		d.sentence(&b.Sentences[i], previous)
		if d.err != nil {
			d.err = fmt.Errorf("sentence %d: %w", i, d.err)
			return b
		}
		previous = &b.Sentences[i]
	}
	return b
}

func (d *batchDecoder) kind() (*Watermark, *Canary) {
	kind := d.byte("mark")
	if kind > watermarkCanary {
		d.fail("mark", fmt.Sprintf("unknown kind %d", kind))
	}
	switch {
	case d.err != nil || kind == watermarkNone:
		return nil, nil
	case kind == watermarkCanary:
		return nil, d.canary()
	}
	return d.watermark(kind), nil
}

func (d *batchDecoder) canary() *Canary {
	c := &Canary{Writer: d.fixed("writer"), Pair: d.fixed("pair")}
	second := d.byte("second")
	if second > 1 {
		d.fail("second", fmt.Sprintf("%d: want 0 or 1", second))
	}
	c.Second = second == 1
	return c
}

func (d *batchDecoder) watermark(kind byte) *Watermark {
	return &Watermark{
		Idle: kind == watermarkIdle, Writer: d.fixed("writer"), Source: d.ref("source"), Time: d.delta("time"),
		Newest: d.delta("newest"),
	}
}

func (d *batchDecoder) sentence(s, previous *feed.Sentence) {
	flags := d.byte("flags")
	if flags&^byte(flagsKnown) != 0 {
		d.fail("flags", fmt.Sprintf("unknown bits in %#02x", flags))
		return
	}
	s.Untimed, s.TimeAdjusted, s.Repost = flags&flagUntimed != 0, flags&flagTimeAdjusted != 0, flags&flagRepost != 0
	s.TextCut, s.Converted = flags&flagTextCut != 0, flags&flagConverted != 0
	d.post(s, previous, flags)
	s.Index = d.uint("index")
	s.Start = d.uint("start")
	s.End = s.Start + d.uint("length")
	if s.End > maxBatchInt {
		d.fail("length", fmt.Sprintf("ends at %d", s.End))
	}
	s.Text = d.ref("text")
	s.Coverage = d.coverage()
	s.Sequence = d.fixed("sequence")
	copy(s.Group[:], d.consume("group", len(s.Group)))
	s.Tokens = d.set()
}

func (d *batchDecoder) post(s, previous *feed.Sentence, flags byte) {
	if flags&flagSamePost != 0 {
		d.samePost(s, previous, flags)
		return
	}
	s.Source, s.Post, s.Author, s.Lang = d.ref("source"), d.ref("post"), d.ref("author"), d.ref("lang")
	s.Time, s.Version = d.delta("time"), d.fixed("version")
	if flags&flagFields != 0 {
		s.Link, s.Meta = d.ref("link"), d.ref("meta")
	}
}

func (d *batchDecoder) samePost(s, previous *feed.Sentence, flags byte) {
	switch {
	case flags&flagFields != 0:
		d.fail("flags", "a sentence of the post before has no link and meta of its own")
		return
	case previous == nil:
		d.fail("flags", "the first sentence cannot be of the post before")
		return
	}
	p := previous
	s.Source, s.Post, s.Author, s.Lang, s.Time, s.Version = p.Source, p.Post, p.Author, p.Lang, p.Time, p.Version
	s.Link, s.Meta = p.Link, p.Meta
}

func (d *batchDecoder) set() []uint64 {
	n := d.count("tokens", 8)
	if n == 0 {
		return nil
	}
	if d.tokens == nil {
		d.tokens = make([]uint64, 0, len(d.in)/8) // there is no room for more in what is left
	}
	from := len(d.tokens)
	d.tokens = d.tokens[:from+n]
	set := d.tokens[from : from+n : from+n]
	for i := range set {
		set[i] = binary.LittleEndian.Uint64(d.in[8*i:])
		if i > 0 && set[i] <= set[i-1] {
			d.fail("tokens", fmt.Sprintf("number %d is not above the one before", i))
			return nil
		}
	}
	d.in = d.in[8*n:]
	return set
}

func (d *batchDecoder) coverage() float32 {
	b := d.consume("coverage", 4)
	if d.err != nil {
		return 0
	}
	c := math.Float32frombits(binary.LittleEndian.Uint32(b))
	if !validCoverage(c) {
		d.fail("coverage", fmt.Sprintf("%v is not between 0 and 1", c))
	}
	return c
}

func (d *batchDecoder) delta(what string) feed.Time {
	if d.err != nil {
		return 0
	}
	v, n := binary.Varint(d.in)
	if n <= 0 {
		d.fail(what, "no varint")
		return 0
	}
	d.in = d.in[n:]
	d.time += feed.Time(v)
	return d.time
}

func (d *batchDecoder) ref(what string) string {
	k := d.uint(what)
	if d.err != nil {
		return ""
	}
	if k > len(d.strings) {
		d.fail(what, fmt.Sprintf("string %d of %d", k, len(d.strings)))
		return ""
	}
	if k > 0 {
		return d.strings[k-1]
	}
	n := d.count(what, 1)
	begin := d.size - len(d.in)
	d.consume(what, n)
	s := d.text[begin : begin+n]
	d.strings = append(d.strings, s)
	return s
}

// count reads how many things of at least size bytes follow, and refuses more than there is room for: so nothing
// is allocated on the word of a number alone.
func (d *batchDecoder) count(what string, size int) int {
	n := d.uint(what)
	if n > len(d.in)/size {
		d.fail(what, fmt.Sprintf("%d of them in %d bytes", n, len(d.in)))
		return 0
	}
	return n
}

func (d *batchDecoder) uint(what string) int {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.in)
	if n <= 0 || v > maxBatchInt {
		d.fail(what, "no varint below 2^31")
		return 0
	}
	d.in = d.in[n:]
	return int(v)
}

func (d *batchDecoder) fixed(what string) uint64 {
	b := d.consume(what, 8)
	if d.err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (d *batchDecoder) byte(what string) byte {
	b := d.consume(what, 1)
	if d.err != nil {
		return 0
	}
	return b[0]
}

func (d *batchDecoder) consume(what string, n int) []byte {
	if d.err == nil && n > len(d.in) {
		d.fail(what, fmt.Sprintf("%d bytes wanted, %d left", n, len(d.in)))
	}
	if d.err != nil {
		return nil
	}
	b := d.in[:n]
	d.in = d.in[n:]
	return b
}

func (d *batchDecoder) fail(what, why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s at byte %d: %s", what, d.size-len(d.in), why)
	}
}
