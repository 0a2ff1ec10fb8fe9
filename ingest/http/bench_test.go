package http_test

import (
	"strings"
	"testing"

	httpsource "refrain/ingest/http"
)

// BenchmarkPosts sends requests of 10,000 short posts as NDJSON over loopback; every batch is acknowledged at
// once, so it shows what reading, decoding and answering cost.
func BenchmarkPosts(b *testing.B) {
	const n = 10_000
	body := posts(n)
	s := mustServe(b, httpsource.Default(), durable)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if r := send(b, s.url, strings.NewReader(body), ndjson...); r.Accepted != n {
			b.Fatalf("%d accepted", r.Accepted)
		}
		s.mu.Lock()
		s.batches = nil
		s.mu.Unlock()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "posts/s")
}
