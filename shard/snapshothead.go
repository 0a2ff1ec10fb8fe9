package shard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"refrain/feed"
	"refrain/internal/chunks"
	"refrain/sigstore"
)

// snapshotHead says of which partition and which moment a snapshot is, and has what a partition knows besides its rows. It
// begins the file of the head, a stream of package chunks under the magic "RSNH"; the head of the rows is behind it.
//
//	file   = length:8 meta rows
//	meta   = partition:u #partitions:u lookupFrom:v* textVersion:u known:1 clock:v   as in the state that was stored before
//	         sentenceTopic controlTopic                                              their incarnations, strings
//	         insert:v stamp:v deletedTo:v                                            see partition
//	         observe:v before:v #steps:u (number:v position:v before:v untimed:1)*   see Redeliveries
//	         #window:u (position:v newest:v)*                                        records of q in the window, or several as one
//	         #young:u (stamp:v author:8 post:8 version:4 index:u)*
//
// The notation is that of State; the format of the stream is sigstore.SnapshotFormat.
type snapshotHead struct {
	partition                   int
	lookupFrom                  []int64
	textVersion                 int
	known                       bool
	clock                       feed.Time
	sentenceTopic, controlTopic string

	insert, stamp, deletedTo int64
	observe                  snapshotPoint
	window                   []windowRecord
	young                    []youngSentence
}

// snapshotPoint is from where q is observed to decide what lies from the snapshot on, and where the slots before began.
type snapshotPoint struct {
	observePoint
	steps []step
}

const (
	headMagic = "RSNH"
	// maxMeta is more than a head has.
	maxMeta = 1 << 28
)

// headOf is the head of q now.
func (w *Worker) headOf(q *partition) *snapshotHead {
	r := w.redeliveries.of
	clock, known := q.state.Watermarks.Clock()
	return &snapshotHead{
		partition: q.id, lookupFrom: q.state.LookupFrom, textVersion: w.cfg.TextVersion, known: known, clock: clock,
		sentenceTopic: w.topics[0], controlTopic: w.topics[2],
		insert: q.insert, stamp: q.stamp, deletedTo: q.deletedTo,
		observe: snapshotPoint{r.from(q.id, min(q.state.LookupFrom[q.id], q.insert)), r.parts[q.id].steps()},
		window:  q.window, young: q.young.sentences,
	}
}

func (h *snapshotHead) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(h.partition))
	dst = binary.AppendUvarint(dst, uint64(len(h.lookupFrom)))
	for _, position := range h.lookupFrom {
		dst = binary.AppendVarint(dst, position)
	}
	dst = binary.AppendUvarint(dst, uint64(h.textVersion))
	dst = binary.AppendVarint(appendFlag(dst, h.known), int64(h.clock))
	for _, id := range []string{h.sentenceTopic, h.controlTopic} {
		dst = append(binary.AppendUvarint(dst, uint64(len(id))), id...)
	}
	for _, v := range []int64{h.insert, h.stamp, h.deletedTo, h.observe.position, h.observe.stamp} {
		dst = binary.AppendVarint(dst, v)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.observe.steps)))
	for _, s := range h.observe.steps {
		dst = binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(dst, s.number), s.position), s.before)
		dst = appendFlag(dst, s.untimed)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.window)))
	for _, r := range h.window {
		dst = binary.AppendVarint(binary.AppendVarint(dst, r.position), int64(r.newest))
	}
	return h.appendYoung(dst)
}

func (h *snapshotHead) appendYoung(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(h.young)))
	for _, y := range h.young {
		dst = binary.AppendVarint(dst, y.stamp)
		dst = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, y.author), y.post)
		dst = binary.LittleEndian.AppendUint32(dst, y.version)
		dst = binary.AppendUvarint(dst, uint64(y.index))
	}
	return dst
}

func appendFlag(dst []byte, on bool) []byte {
	if on {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// decodeHead reads what append writes.
func decodeHead(data []byte) (*snapshotHead, error) {
	d := decoder{rest: data}
	h := &snapshotHead{partition: d.count("partition", 1<<31), lookupFrom: make([]int64, d.count("partitions", len(d.rest)))}
	for p := range h.lookupFrom {
		h.lookupFrom[p] = d.varint("position")
	}
	h.textVersion, h.known, h.clock = d.count("text version", 1<<31), d.byte("clock") == 1, feed.Time(d.varint("clock"))
	h.sentenceTopic, h.controlTopic = d.string("incarnation"), d.string("incarnation")
	for _, v := range []*int64{&h.insert, &h.stamp, &h.deletedTo, &h.observe.position, &h.observe.stamp} {
		*v = d.varint("position")
	}
	h.observe.steps = make([]step, d.count("steps", len(d.rest)/4))
	for i := range h.observe.steps {
		h.observe.steps[i] = step{d.varint("step"), d.varint("step"), d.varint("step"), d.byte("step") == 1}
	}
	h.window = make([]windowRecord, d.count("window", len(d.rest)/2))
	for i := range h.window {
		h.window[i] = windowRecord{d.varint("window"), feed.Time(d.varint("window"))}
	}
	h.young = make([]youngSentence, d.count("young", len(d.rest)/22))
	for i := range h.young {
		h.young[i] = youngSentence{d.varint("young"), d.fixed("young"), d.fixed("young"), d.fixed32("young"), d.count("young", 1<<31)}
	}
	if d.wrong == "" && len(d.rest) > 0 {
		d.fail("end")
	}
	if d.wrong != "" {
		return nil, fmt.Errorf("%w: %s", chunks.ErrDamaged, d.wrong)
	}
	return h, nil
}

func (d *decoder) fixed32(what string) uint32 {
	if len(d.rest) < 4 {
		d.fail(what)
		return 0
	}
	v := binary.LittleEndian.Uint32(d.rest)
	d.rest = d.rest[4:]
	return v
}

// writeHead writes the file of a head.
func writeHead(to io.Writer, meta []byte, c *sigstore.Capture) error {
	w := chunks.NewWriter(to, headMagic, sigstore.SnapshotFormat)
	_, err := w.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(len(meta))), meta...))
	return errors.Join(err, c.Write(w), w.Close())
}

// readHead reads the file of a head as far as that of the rows, which is what is read from rows then.
func readHead(from io.Reader) (h *snapshotHead, rows io.Reader, err error) {
	r, err := chunks.NewReader(from, headMagic, sigstore.SnapshotFormat)
	if err != nil {
		return nil, nil, err
	}
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", chunks.ErrDamaged, err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxMeta {
		return nil, nil, fmt.Errorf("%w: %d bytes", chunks.ErrDamaged, n)
	}
	var meta bytes.Buffer
	if _, err := io.CopyN(&meta, r, int64(n)); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", chunks.ErrDamaged, err)
	}
	h, err = decodeHead(meta.Bytes())
	return h, r, err
}

// checkFits says why a partition with a stored state cannot be restored from the snapshot; nil: it can be.
//
// Its rows hold q up to insert, and let go what lay before the clock less span and lateness. Look-ups from the state on need
// what its own clock leaves, so that clock may not be the earlier one. In an ordered topic they need rows that are no
// further than they are: what a row makes repeats counts as reported when another of its text does so too. And the topics must
// still be what they were up to where the rows were, or other records may lie there.
func (h *snapshotHead) checkFits(s *State, x *extent, textVersion int) error {
	switch clock, known := s.Watermarks.Clock(); {
	case h.partition != s.Partition || len(h.lookupFrom) != len(s.LookupFrom):
		return fmt.Errorf("it is of partition %d of %d", h.partition, len(h.lookupFrom))
	case h.textVersion != textVersion:
		return fmt.Errorf("it is of version %d of the normalisation", h.textVersion)
	case h.known && (!known || clock < h.clock):
		return errors.New("its clock is ahead of that of the state")
	case x.sentences.topic.Ordered() && h.insert > s.LookupFrom[s.Partition]:
		return errors.New("its rows are ahead of the look-ups of the state")
	}
	for p, position := range h.lookupFrom {
		if position > s.LookupFrom[p] {
			return errors.New("it is newer than the state")
		}
	}
	return h.checkTopics(x)
}

// checkTopics says which topic is no longer what it was.
func (h *snapshotHead) checkTopics(x *extent) error {
	inserted := make([]int64, len(h.lookupFrom))
	inserted[h.partition] = h.insert
	if err := x.sentences.holds(h.sentenceTopic, maxPositions(h.lookupFrom, inserted)); err != nil {
		return err
	}
	if x.control.topic == nil {
		return nil
	}
	return x.control.holds(h.controlTopic, []int64{h.deletedTo})
}
