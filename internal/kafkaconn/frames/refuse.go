package frames

import (
	"encoding/binary"
	"hash/crc32"
)

// Refused is the header of the record that stands for a batch that is not handed on; its value is the reason.
const Refused = "refrain-refused"

const (
	atChecksum  = 17
	atLastDelta = 23 // how far the last record's offset is from the base
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// refuse writes one record over a batch, at the offset of its last and with the reason as a header, so that whoever
// reads the partition steps over the batch and can say so. It is false where the checksum is wrong too: then not a
// producer has made it so, but the way here, and asking again helps. A batch too small for the record is small enough
// for anything else.
func refuse(b []byte, reason string) bool {
	order := binary.BigEndian
	if crc32.Checksum(b[atAttributes:], castagnoli) != order.Uint32(b[atChecksum:]) {
		return false
	}
	delta := int64(int32(order.Uint32(b[atLastDelta:])))
	record := refusal(delta, reason)
	if over := len(record) - (len(b) - atRecords); over > 0 && over < len(reason) {
		record = refusal(delta, reason[:len(reason)-over])
	}
	if delta < 0 || len(record) > len(b)-atRecords {
		return false
	}
	order.PutUint16(b[atAttributes:], order.Uint16(b[atAttributes:])&^compressed)
	order.PutUint32(b[atCount:], 1)
	copy(b[atRecords:], record)
	order.PutUint32(b[atChecksum:], crc32.Checksum(b[atAttributes:], castagnoli))
	return true
}

// refusal is a record without key and value.
func refusal(delta int64, reason string) []byte {
	body := []byte{0}                   // attributes
	body = binary.AppendVarint(body, 0) // time, from the batch's
	body = binary.AppendVarint(body, delta)
	body = binary.AppendVarint(body, -1) // no key
	body = binary.AppendVarint(body, -1) // no value
	body = binary.AppendVarint(body, 1)  // one header
	body = append(binary.AppendVarint(body, int64(len(Refused))), Refused...)
	body = append(binary.AppendVarint(body, int64(len(reason))), reason...)
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}
