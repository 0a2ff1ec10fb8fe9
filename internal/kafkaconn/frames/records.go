package frames

import (
	"encoding/binary"
	"fmt"
)

// A batch of records, since Kafka 0.11:
//
//	 0  base offset            8
//	 8  bytes behind this      4
//	12  epoch of the leader    4
//	16  magic: 2               1
//	17  checksum               4
//	21  attributes             2   the lowest three bits: how the records are compressed
//	23  offsets, times, producer, sequence
//	57  records                4
//	61  the records
//
// The magic number is where it is in the messages of before, which have 0 or 1 there:
//
//	0  offset 8, 8 bytes behind this 4, 12 checksum 4, 16 magic 1, 17 attributes 1, 18 time 8 (magic 1), key, value
const (
	atLength     = 8
	atMagic      = 16
	atAttributes = 21
	atCount      = 57
	atRecords    = 61
	lengthEnd    = 12 // where what the length counts begins
)

// minRecord is what the shortest record takes: seven numbers of a byte.
const minRecord = 7

// recordSet walks through the batches of a partition. The last one may be cut.
func (w *walker) recordSet() {
	set := w.next(max(int(w.int32()), 0))
	for len(set) > atMagic && w.err == nil {
		n, err := batch(set)
		if err != nil && !(n > 0 && refuse(set[:n], err.Error())) {
			w.fail(err)
		}
		set = set[min(n, len(set)):]
	}
}

// batch checks the first batch of a set, and returns how long it is; more than there is for one that is cut. With an
// error it is 0 unless the batch is whole and of today's form.
func batch(set []byte) (int, error) {
	length := int(int32(binary.BigEndian.Uint32(set[atLength:])))
	minLength := atRecords - lengthEnd
	if set[atMagic] < 2 {
		minLength = minMessage
	}
	switch n := lengthEnd + length; {
	case length < minLength:
		return 0, fmt.Errorf("a batch of records of %d bytes", length)
	case n > len(set):
		return n, nil // the library drops it
	case set[atMagic] < 2:
		if err := oldMessage(set[:n]); err != nil {
			return 0, err
		}
		return n, nil
	case set[atMagic] > 2:
		return 0, fmt.Errorf("a batch of records of version %d", set[atMagic])
	default:
		return n, newBatch(set[:n])
	}
}

func newBatch(b []byte) error {
	count := int(int32(binary.BigEndian.Uint32(b[atCount:])))
	return unpack(binary.BigEndian.Uint16(b[atAttributes:]), b[atRecords:], func(plain []byte) error {
		if count < 0 || count > len(plain)/minRecord {
			return fmt.Errorf("a batch of %d records in %d bytes", count, len(plain))
		}
		return records(plain, count)
	})
}

// records walks through the records of a batch.
func records(plain []byte, count int) error {
	w := &walker{b: plain}
	for i := 0; i < count && w.err == nil; i++ {
		w.varint()    // length, of which the library makes nothing
		w.next(1)     // attributes
		w.varint()    // time
		w.varint()    // offset
		w.skipBytes() // key
		w.skipBytes() // value
		w.headers()
	}
	if w.err != nil {
		return fmt.Errorf("record: %w", w.err)
	}
	return nil
}

func (w *walker) skipBytes() {
	if n := w.varint(); n > 0 {
		w.next(int(min(n, 1<<31)))
	}
}

func (w *walker) headers() {
	n := w.varint()
	if n > int64(len(w.b)/2) {
		w.fail(fmt.Errorf("%d headers, and %d bytes are left", n, len(w.b)))
	}
	for ; n > 0 && w.err == nil; n-- {
		w.skipBytes()
		w.skipBytes()
	}
}

// minMessage is what the shortest message of before takes behind its length: checksum, magic, attributes, the lengths
// of key and value.
const minMessage = 4 + 1 + 1 + 4 + 4

// oldMessage checks a message of before Kafka 0.11. Compressed ones are messages within the value of one.
func oldMessage(b []byte) error {
	value, attributes, err := oldValue(b)
	if err != nil || attributes&compressed == 0 {
		return err
	}
	return unpack(uint16(attributes), value, func(plain []byte) error {
		for len(plain) >= lengthEnd {
			n := int(int32(binary.BigEndian.Uint32(plain[atLength:])))
			if n < minMessage || n > len(plain)-lengthEnd {
				return fmt.Errorf("a message of %d bytes, and %d are left", n, len(plain)-lengthEnd)
			}
			if _, _, err := oldValue(plain[:lengthEnd+n]); err != nil {
				return err
			}
			plain = plain[lengthEnd+n:]
		}
		return nil
	})
}

func oldValue(b []byte) (value []byte, attributes byte, err error) {
	w := &walker{b: b[atMagic+2:]}
	if b[atMagic] != 0 {
		w.next(8)
	}
	w.bytes()
	value = w.bytes()
	return value, b[atMagic+1], w.err
}
