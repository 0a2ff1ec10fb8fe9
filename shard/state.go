package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"refrain/feed"
)

// State is what is stored of one partition q: where its look-ups have got to, whole.
//
// Every State that was ever stored is a right one to go on from, however old: going on from it repeats look-ups and
// so events with ids that are already out, and loses nothing. That is why a worker that goes on after another has
// taken over does no harm, and why two States must never be combined: L, the marks and replayFrom of one moment
// belong together.
//
// Its encoding:
//
//	state  = magic:2 "RS"  format:1 =1  partition:u  control:v  replayFrom:v
//	         hasClock:1 [clock:v]  #partitions:u (look:v newest:v)*  #sources:u source*  checksum:8
//	source = length:u name  met*            one met for every partition
//	met    = kind:1 (0 none, 1 active, 2 idle) [time:v stamp:v]   none has neither
//
// :u is an unsigned varint, :v a signed (zigzag) one; times are milliseconds, stamps nanoseconds since 1970;
// sources are in ascending order of their names; checksum is the xxh3-64 of all bytes before it, little endian.
type State struct {
	Partition  int
	Look       []int64 // L: per partition, the first position that has not been looked up in q's rows
	ReplayFrom int64   // q's lowest position that may hold a sentence of the window
	Control    int64   // the first position of the control topic whose retractions may not be out yet
	Marks      Marks
}

// ErrState says that a stored state cannot be read.
var ErrState = errors.New("not a stored state")

const stateHead = "RS\x01"

// Append appends the encoding of s to dst.
func (s *State) Append(dst []byte) []byte {
	from := len(dst)
	dst = append(dst, stateHead...)
	dst = binary.AppendUvarint(dst, uint64(s.Partition))
	dst = binary.AppendVarint(dst, s.Control)
	dst = binary.AppendVarint(dst, s.ReplayFrom)
	dst = appendClock(dst, s.Marks.clock, s.Marks.known)
	dst = binary.AppendUvarint(dst, uint64(len(s.Look)))
	for p, look := range s.Look {
		dst = binary.AppendVarint(dst, look)
		dst = binary.AppendVarint(dst, s.Marks.newest[p])
	}
	names := s.Marks.names()
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	for _, name := range names {
		dst = append(binary.AppendUvarint(dst, uint64(len(name))), name...)
		for _, m := range s.Marks.sources[name] {
			dst = m.append(dst)
		}
	}
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst[from:]))
}

func appendClock(dst []byte, clock feed.Time, known bool) []byte {
	if !known {
		return append(dst, 0)
	}
	return binary.AppendVarint(append(dst, 1), int64(clock))
}

func (m met) append(dst []byte) []byte {
	dst = append(dst, byte(m.kind))
	if m.kind == metNone {
		return dst
	}
	return binary.AppendVarint(binary.AppendVarint(dst, int64(m.time)), m.stamp)
}

// DecodeState reads what State.Append writes.
func DecodeState(data []byte) (*State, error) {
	const checksum = 8
	body := len(data) - checksum
	if body < len(stateHead) || string(data[:len(stateHead)]) != stateHead {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrState, stateHead)
	}
	if xxh3.Hash(data[:body]) != binary.LittleEndian.Uint64(data[body:]) {
		return nil, fmt.Errorf("%w: checksum mismatch", ErrState)
	}
	d := decoder{rest: data[len(stateHead):body]}
	s := d.state()
	if d.wrong == "" && len(d.rest) > 0 {
		d.fail("end")
	}
	if d.wrong != "" {
		return nil, fmt.Errorf("%w: %s", ErrState, d.wrong)
	}
	return s, nil
}

// intact reports whether a stored state is as it was written, be it of another version.
func intact(data []byte) bool {
	body := len(data) - 8
	return body >= 0 && xxh3.Hash(data[:body]) == binary.LittleEndian.Uint64(data[body:])
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
	partitions := d.count("partitions", len(d.rest)/2)
	s.Look, s.Marks = make([]int64, partitions), newMarks(partitions)
	s.Marks.clock, s.Marks.known = clock, known
	for p := range partitions {
		s.Look[p], s.Marks.newest[p] = d.varint("position"), d.varint("newest stamp")
	}
	last := ""
	for i := range d.count("sources", len(d.rest)) {
		name := d.string("source")
		if i > 0 && strings.Compare(name, last) <= 0 {
			d.fail("order of sources")
		}
		s.Marks.sources[name], last = d.mets(partitions), name
	}
	return s
}

func (d *decoder) mets(partitions int) []met {
	mets := make([]met, partitions)
	for p := range mets {
		mets[p].kind = metKind(d.byte("mark"))
		switch {
		case d.wrong != "" || mets[p].kind > metIdle:
			d.fail("mark")
			return mets
		case mets[p].kind != metNone:
			mets[p].time, mets[p].stamp = feed.Time(d.varint("mark")), d.varint("mark")
		}
	}
	return mets
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

func (d *decoder) count(what string, most int) int {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > uint64(most) {
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

func stateKey(q int) string { return fmt.Sprintf("shard/%d", q) }

func (m *Marks) names() []string {
	names := make([]string, 0, len(m.sources))
	for name := range m.sources {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
