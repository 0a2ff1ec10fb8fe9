package server

import (
	"context"
	"errors"
	"io"

	"refrain/ingest"
)

// observedSource is a source that does not report its own status: it is observed from its answers.
type observedSource struct {
	ingest.Source
	status *ingest.Status
}

// onlyPart is the one part that such a source has.
const onlyPart = ""

// Next implements ingest.Source.
func (t observedSource) Next(ctx context.Context) (ingest.Batch, error) {
	b, err := t.Source.Next(ctx)
	switch {
	case err == nil:
		t.status.Fetched(onlyPart)
	case !errors.Is(err, io.EOF) && ctx.Err() == nil:
		t.status.Failed(onlyPart, err)
	}
	return b, err
}

// Close implements io.Closer for sources that do, and for those that do not.
func (t observedSource) Close() error { return source{Source: t.Source}.close() }

// openStatuses gives the sources a status that have none of their own.
func (s *Server) openStatuses() (err error) {
	for i := range s.sources {
		src := &s.sources[i]
		if src.status != nil {
			continue
		}
		if src.status, err = ingest.NewStatus(src.name); err != nil {
			return err
		}
		src.Source = observedSource{src.Source, src.status}
	}
	return nil
}

// addSource adds a source that reports its status itself.
func (s *Server) addSource(name string, src ingest.Source, status *ingest.Status) {
	s.sources = append(s.sources, source{name, src, status})
}
