package main

import (
	"path/filepath"

	"refrain/ingest"
)

// bluesky is the firehose, resumed from the cursor in the data directory.
func (s *service) bluesky() *ingest.Bluesky {
	return ingest.NewBluesky(ingest.BlueskyConfig{
		URL: s.cfg.Ingest.Bluesky.URL, Cursors: ingest.CursorDir(filepath.Join(s.cfg.DataDir, "cursors")), Logger: s.log,
	})
}
