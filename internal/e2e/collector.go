package e2e

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a receiver of OTLP over HTTP that keeps the spans it gets.
type Collector struct {
	URL string

	mu    sync.Mutex
	spans []*tracepb.Span
}

// NewCollector starts a collector for the length of a test.
func NewCollector(tb testing.TB) *Collector {
	c := &Collector{}
	s := httptest.NewServer(c)
	tb.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// Settings have a server send its spans here, soon after they end.
func (c *Collector) Settings() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}
}

// ServeHTTP implements http.Handler.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	spans, err := readSpans(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spans = append(c.spans, spans...)
}

func readSpans(r *http.Request) (spans []*tracepb.Span, err error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(r.Body); err != nil {
			return nil, err
		}
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var m collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	for _, rs := range m.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			spans = append(spans, ss.Spans...)
		}
	}
	return spans, nil
}

// Spans are those that have come so far.
func (c *Collector) Spans() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Of are the spans of a trace so far, or those of all others.
func (c *Collector) Of(trace string, in bool) (spans []*tracepb.Span) {
	for _, s := range c.Spans() {
		if (hex.EncodeToString(s.TraceId) == trace) == in {
			spans = append(spans, s)
		}
	}
	return spans
}

// Links are how many links to a trace there are.
func (c *Collector) Links(trace string) (n int) {
	for _, s := range c.Spans() {
		for _, l := range s.Links {
			if hex.EncodeToString(l.TraceId) == trace {
				n++
			}
		}
	}
	return n
}

// SpanNames are the kinds and names of spans, sorted, as "SERVER POST /v1/posts".
func SpanNames(spans []*tracepb.Span) (names []string) {
	for _, s := range spans {
		names = append(names, strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")+" "+s.Name)
	}
	slices.Sort(names)
	return names
}
