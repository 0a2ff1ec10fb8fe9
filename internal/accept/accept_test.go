package accept_test

import (
	"net/http"
	"testing"

	"refrain/internal/accept"
)

func TestBest(t *testing.T) {
	const sse, lines = "text/event-stream", "application/x-ndjson"
	for header, want := range map[string]string{
		"": sse, "*/*": sse, "text/*": sse, lines: lines, "application/*": lines, sse: sse, "text/html": "",
		"text/event-stream;q=0.5, application/x-ndjson": lines, "text/event-stream;q=0, */*": lines,
		"text/html, */*;q=0.1": sse, "APPLICATION/X-NDJSON": lines, "rubbish": sse, "*/*;q=0": "", "text/*;q=0,text/event-stream": sse,
		"application/x-ndjson;q=0.9, text/event-stream;q=0.9": sse, "application/xml, rubbish": "",
	} {
		got, ok := accept.Best(http.Header{"Accept": {header}}, sse, lines)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", header, got, ok, want)
		}
	}
	if got, ok := accept.Best(http.Header{"Accept": {"text/html", lines}}, sse, lines); !ok || got != lines {
		t.Errorf("two headers: %q, %v", got, ok)
	}
}

func TestBody(t *testing.T) {
	for header, want := range map[string]bool{
		"": true, "application/json": true, "application/json; charset=UTF-8": true, "application/ld+json": true,
		"application/x-ndjson": true, "application/x-www-form-urlencoded": true, "APPLICATION/JSON": true,
		"application/xml": false, "text/plain;charset=UTF-8": false, "multipart/form-data; boundary=x": false,
		"application/json; charset=latin1": false, "nonsense": false, "application/": false,
	} {
		if got := accept.Body(header, "application/json", "application/x-ndjson"); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
	if accept.Body("application/x-ndjson", "application/json") {
		t.Error("lines are taken where there is one object")
	}
}
