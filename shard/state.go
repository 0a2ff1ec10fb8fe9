package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// State is what is stored of one partition q: where its look-ups have got to, whole.
//
// Every State that was ever stored is a right one to go on from, however old, as long as the topics still hold what it
// stands for (extent.check): going on from it repeats look-ups and so events with ids that are already out, and loses
// nothing. That is why a worker that goes on after another has taken over does no harm, and why two States must never be
// combined: L, the watermarks and replayFrom of one moment belong together.
//
// Its encoding:
//
//	state  = magic:2 "RS"  format:1 =2  partition:u  control:v  replayFrom:v
//	         hasClock:1 [clock:v]  #partitions:u (lookupFrom:v newest:v elapsed:v observeFrom:v observeStamp:v)*
//	         #writers:u writer*  #ends:u end:v*  incarnation*3  checksum:8
//	writer = id:8 watermark*                one watermark for every partition
//	watermark = kind:1 (0 none, 1 active, 2 idle) [time:v newest:v at:v length:u source]   none has no more
//	incarnation = length:u id               of the sentence, the event and the control topic
//
// :n is n bytes, little endian, :u an unsigned varint, :v a signed (zigzag) one; times are milliseconds, stamps
// (newest of a partition) nanoseconds since 1970, elapsed and at nanoseconds; writers are in ascending order of their
// ids; checksum is the xxh3-64 of all bytes before it.
type State struct {
	Partition  int
	LookupFrom []int64 // L: per partition, the first position that has not been looked up in q's rows
	ReplayFrom int64   // q's lowest position that may hold a sentence of the window
	Control    int64   // the first position of the control topic whose retractions may not be out yet
	Watermarks Watermarks
	// ObserveFrom: per partition, from where it must be observed again to know redeliveries from LookupFrom on (q itself:
	// from ReplayFrom on), and the highest stamp before that.
	ObserveFrom []observePoint
	// EventEnd is, per partition of the event topic, its end when the events of these look-ups were durable, or later.
	EventEnd []int64
	// The incarnations of the topics that all these positions are of; Control's is "" without a control topic.
	SentenceTopic, EventTopic, ControlTopic string
}

// newState is that of a partition of which nothing is stored: everything is to be read from a start.
func newState(partition int, start []int64) *State {
	s := &State{Partition: partition, LookupFrom: slices.Clone(start), ReplayFrom: start[partition],
		Watermarks: newWatermarks(len(start))}
	for _, position := range start {
		s.ObserveFrom = append(s.ObserveFrom, observePoint{position: position})
	}
	return s
}

// ErrState says that a stored state cannot be read.
var ErrState = errors.New("not a stored state")

const (
	stateMagic  = "RS"
	stateFormat = 2
)

// errStateFormat says that a state was stored by another version of the program. It is no ErrState: such a one is damaged.
var errStateFormat = fmt.Errorf("this program reads format %d: start with an empty data directory, or with the "+
	"program that wrote it", stateFormat)

// Append appends the encoding of s to dst.
func (s *State) Append(dst []byte) []byte {
	from := len(dst)
	dst = append(append(dst, stateMagic...), stateFormat)
	dst = binary.AppendUvarint(dst, uint64(s.Partition))
	dst = binary.AppendVarint(dst, s.Control)
	dst = binary.AppendVarint(dst, s.ReplayFrom)
	dst = s.Watermarks.appendClock(dst)
	dst = binary.AppendUvarint(dst, uint64(len(s.LookupFrom)))
	for p, position := range s.LookupFrom {
		dst = binary.AppendVarint(dst, position)
		dst = binary.AppendVarint(dst, s.Watermarks.newest[p])
		dst = binary.AppendVarint(dst, s.Watermarks.elapsed[p])
		dst = binary.AppendVarint(dst, s.ObserveFrom[p].position)
		dst = binary.AppendVarint(dst, s.ObserveFrom[p].stamp)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.Watermarks.writers)))
	for _, id := range slices.Sorted(maps.Keys(s.Watermarks.writers)) {
		dst = binary.LittleEndian.AppendUint64(dst, id)
		for _, m := range s.Watermarks.writers[id] {
			dst = m.append(dst)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.EventEnd)))
	for _, end := range s.EventEnd {
		dst = binary.AppendVarint(dst, end)
	}
	for _, id := range []string{s.SentenceTopic, s.EventTopic, s.ControlTopic} {
		dst = append(binary.AppendUvarint(dst, uint64(len(id))), id...)
	}
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst[from:]))
}

func (m *Watermarks) appendClock(dst []byte) []byte {
	if !m.known {
		return append(dst, 0)
	}
	return binary.AppendVarint(append(dst, 1), int64(m.clock))
}

func (m watermark) append(dst []byte) []byte {
	dst = append(dst, byte(m.kind))
	if m.kind == watermarkNone {
		return dst
	}
	for _, v := range []int64{int64(m.time), int64(m.newest), m.at} {
		dst = binary.AppendVarint(dst, v)
	}
	return append(binary.AppendUvarint(dst, uint64(len(m.source))), m.source...)
}

// DecodeState reads what State.Append writes.
func DecodeState(data []byte) (*State, error) {
	const checksum, head = 8, len(stateMagic) + 1
	body := len(data) - checksum
	if body < head || string(data[:len(stateMagic)]) != stateMagic {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrState, stateMagic)
	}
	// A newer one has this checksum too; without it, it is damaged.
	if f := data[len(stateMagic)]; f < stateFormat || f > stateFormat && intact(data) {
		return nil, fmt.Errorf("state of format %d: %w", f, errStateFormat)
	}
	if !intact(data) {
		return nil, fmt.Errorf("%w: checksum mismatch", ErrState)
	}
	d := decoder{rest: data[head:body]}
	s := d.state()
	if d.wrong == "" && len(d.rest) > 0 {
		d.fail("end")
	}
	if d.wrong != "" {
		return nil, fmt.Errorf("%w: %s", ErrState, d.wrong)
	}
	return s, nil
}

// intact reports whether a stored state of 8 bytes or more is as it was written, be it of another version.
func intact(data []byte) bool {
	body := len(data) - 8
	return xxh3.Hash(data[:body]) == binary.LittleEndian.Uint64(data[body:])
}

// decoder keeps the first thing that was wrong; after that it yields zeros.
type decoder struct {
	rest  []byte
	wrong string
}

func (d *decoder) fail(what string) {
	if d.wrong == "" {
		d.wrong = what
	}
	d.rest = nil
}

func (d *decoder) state() *State {
	s := &State{Partition: d.count("partition", 1<<31), Control: d.varint("control"), ReplayFrom: d.varint("replay from")}
	clock, known := feed.Time(0), d.byte("clock") == 1
	if known {
		clock = feed.Time(d.varint("clock"))
	}
	partitions := d.count("partitions", len(d.rest)/5)
	s.LookupFrom, s.ObserveFrom, s.Watermarks = make([]int64, partitions), make([]observePoint, partitions),
		newWatermarks(partitions)
	s.Watermarks.clock, s.Watermarks.known = clock, known
	for p := range partitions {
		s.LookupFrom[p], s.Watermarks.newest[p], s.Watermarks.elapsed[p] = d.varint("position"), d.varint("newest stamp"),
			d.varint("elapsed")
		s.ObserveFrom[p] = observePoint{d.varint("observe from"), d.varint("stamp before that")}
	}
	last := uint64(0)
	for i := range d.count("writers", len(d.rest)/8) {
		if d.wrong != "" {
			break
		}
		id := d.fixed("writer")
		if i > 0 && id <= last {
			d.fail("order of writers")
		}
		s.Watermarks.writers[id], last = d.watermarks(partitions), id
	}
	s.EventEnd = make([]int64, d.count("event partitions", len(d.rest)))
	for p := range s.EventEnd {
		s.EventEnd[p] = d.varint("event end")
	}
	for _, id := range []*string{&s.SentenceTopic, &s.EventTopic, &s.ControlTopic} {
		*id = d.string("incarnation")
	}
	return s
}

func (d *decoder) watermarks(partitions int) []watermark {
	list := make([]watermark, partitions)
	for p := range list {
		list[p].kind = watermarkKind(d.byte("watermark"))
		switch {
		case d.wrong != "" || list[p].kind > watermarkIdle:
			d.fail("watermark")
			return list
		case list[p].kind != watermarkNone:
			list[p].time, list[p].newest = feed.Time(d.varint("watermark")), feed.Time(d.varint("watermark"))
			list[p].at, list[p].source = d.varint("watermark"), d.string("source")
		}
	}
	return list
}

func (d *decoder) byte(what string) byte {
	if len(d.rest) == 0 {
		d.fail(what)
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) fixed(what string) uint64 {
	if len(d.rest) < 8 {
		d.fail(what)
		return 0
	}
	v := binary.LittleEndian.Uint64(d.rest)
	d.rest = d.rest[8:]
	return v
}

func (d *decoder) count(what string, limit int) int {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > uint64(limit) {
		d.fail(what)
		return 0
	}
	d.rest = d.rest[n:]
	return int(v)
}

func (d *decoder) varint(what string) int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.fail(what)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) string(what string) string {
	n := d.count(what, len(d.rest))
	if n > len(d.rest) {
		d.fail(what)
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}
