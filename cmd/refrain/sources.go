package main

import (
	"context"
	"fmt"
	"time"

	"refrain/feed"
	"refrain/ingest"
	"refrain/internal/config"
)

// openSources puts the sources of the configuration on the route.
func (s *service) openSources(ctx context.Context) error {
	ingest.Count(ctx, &ingest.Batch{}) // the counters are there before the first post
	s.http = ingest.NewHTTP(ingest.HTTPConfig{MaxBody: int64(s.cfg.Ingest.Body), Logger: s.log})
	s.sources = append(s.sources, &pump{name: "http", src: s.http, split: s.split, dead: s.dead, log: s.log, own: true})
	for i := range s.cfg.Ingest.Files {
		if err := s.openFile(&s.cfg.Ingest.Files[i]); err != nil {
			return err
		}
	}
	if s.cfg.Ingest.Bluesky.Enabled {
		s.add("bluesky", s.bluesky())
	}
	return nil
}

// add puts a source on the route.
func (s *service) add(name string, src ingest.Source) {
	s.sources = append(s.sources, &pump{name: name, src: src, split: s.split, dead: s.dead, log: s.log})
}

func (s *service) openFile(f *config.File) error {
	fields, err := feed.ParseFields(f.Map)
	if err != nil {
		return fmt.Errorf("configuration: ingest.files: %s: map: %w", f.Path, err)
	}
	src, err := ingest.OpenFile(ingest.FileConfig{Path: f.Path, Format: f.Format, Fields: fields, SourceName: f.Source})
	if err != nil {
		return err
	}
	s.add(f.Path, src)
	return nil
}

// bluesky is the firehose, resumed from the cursor in the data directory.
func (s *service) bluesky() *ingest.Bluesky {
	return ingest.NewBluesky(ingest.BlueskyConfig{
		URL: s.cfg.Ingest.Bluesky.URL, Cursors: ingest.CursorDir(s.cfg.DataDir), Logger: s.log,
	})
}

// waiter is a source that knows which of its partitions hold posts that it has not handed on yet, or cannot be
// reached: they are silent, and not idle.
type waiter interface{ Waiting() []string }

func (s *service) keepWaiting(now time.Time) {
	for _, p := range s.sources {
		w, ok := p.src.(waiter)
		if !ok {
			continue
		}
		for _, partition := range w.Waiting() {
			s.split.Keep(partition, now)
		}
	}
}
