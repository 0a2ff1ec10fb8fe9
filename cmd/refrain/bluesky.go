package main

import "refrain/ingest"

// bluesky is the firehose, resumed from the cursor in the data directory.
func (s *service) bluesky() *ingest.Bluesky {
	return ingest.NewBluesky(ingest.BlueskyConfig{
		URL: s.cfg.Ingest.Bluesky.URL, Cursors: ingest.CursorDir(s.cfg.DataDir), Logger: s.log,
	})
}
