package main

import "refrain/ingest"

func (s *service) bluesky() (ingest.Source, error) { return nil, nil }
