package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// TestMetricsAreOpenMetrics holds what a server with all its series shows to the rules of OpenMetrics 1.0 that strict
// parsers refuse a page for (https://prometheus.io/docs/specs/om/open_metrics_spec/, "MetricFamily" and "Overall Structure").
func TestMetricsAreOpenMetrics(t *testing.T) {
	p := e2e.New(t, e2e.WithYAML(t, `
canary: {every: 1s}
publish:
  webhooks:
    - {name: desk, url: "http://127.0.0.1:9/", secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSwAAAAAAAA], allow_private: true}
`))
	p.Start()
	post(t, p, "", "")
	p.Await(20*time.Second, "a canary", func() bool { return p.Counters()["refrain_server_canaries_total"] > 0 })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL("/metrics"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/openmetrics-text") {
		t.Fatalf("content type %q", got)
	}
	families, errs := parseOpenMetrics(resp.Body)
	for _, err := range errs {
		t.Error(err)
	}
	for _, name := range []string{"refrain_build_info", "refrain_api_request_duration_seconds", "refrain_ingest_posts", "go_goroutines"} {
		if families[name] == "" {
			t.Errorf("no family %s among %d", name, len(families))
		}
	}
}

// suffixes are those that the samples of each type have.
var suffixes = map[string][]string{
	"counter": {"_total", "_created"}, "gauge": {""}, "info": {"_info"}, "unknown": {""},
	"histogram": {"_bucket", "_count", "_sum", "_created"}, "summary": {"", "_count", "_sum", "_created"},
}

// parseOpenMetrics returns the types of the families, and what is wrong: a family whose lines do not stand together, a
// sample that is of no family or of two, a type whose samples have other names, no end.
func parseOpenMetrics(page io.Reader) (families map[string]string, errs []error) {
	families, owner := map[string]string{}, map[string]string{}
	var current, last string
	sampled := false // a sample of the current family has come
	lines := bufio.NewScanner(page)
	for lines.Scan() {
		last = lines.Text()
		if words := strings.SplitN(last, " ", 4); words[0] == "#" && len(words) == 4 {
			if name := words[2]; families[name] != "" && (name != current || sampled) {
				errs = append(errs, fmt.Errorf("%s stands in two places, or is the name of two families", name))
			}
			current, sampled = words[2], false
			if words[1] == "TYPE" {
				families[current] = words[3]
				for _, suffix := range suffixes[words[3]] {
					if o := owner[current+suffix]; o != "" && o != current {
						errs = append(errs, fmt.Errorf("%s%s is of %s and of %s", current, suffix, current, o))
					}
					owner[current+suffix] = current
				}
			}
			continue
		}
		sampled = true
		if name := last[:strings.IndexAny(last+" ", "{ ")]; name != "#" && (current == "" || owner[name] != current) {
			errs = append(errs, fmt.Errorf("sample %s stands with %s, which is a %s", name, current, families[current]))
		}
	}
	if last != "# EOF" {
		errs = append(errs, fmt.Errorf("the page ends with %q", last))
	}
	return families, errs
}
