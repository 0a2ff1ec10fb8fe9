package bluesky

import "refrain/ingest"

// Decode decodes one message and counts what came of it.
func Decode(data []byte) (posts, deleted, rejected int) {
	m := (&Source{cfg: Default()}).decode(data)
	var b ingest.Batch
	m.put(&b)
	return len(b.Posts), len(b.Deleted), len(b.Rejected)
}
