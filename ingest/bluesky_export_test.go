package ingest

// DecodeBluesky decodes one message and counts what came of it.
func DecodeBluesky(data []byte) (posts, deleted, rejected int) {
	m := NewBluesky(BlueskyConfig{}).decode(data)
	var b Batch
	m.put(&b)
	return len(b.Posts), len(b.Deleted), len(b.Rejected)
}
