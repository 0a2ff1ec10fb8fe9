package failures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// service is one process that has its topics on a broker, with posts to send it.
type service struct {
	*e2e.Process
	name  string // of its topics
	yaml  string
	lines [][]byte
}

// newService does not start it. broker is what topics has beside the name.
func newService(t *testing.T, broker string, settings ...string) *service {
	name := devservers.Name(t)
	yaml := fmt.Sprintf(`
window: {max_hold: 2000d}
topics: {name: %[1]s, partitions: 3, %[2]s}
cluster: {handover_grace: 1s, session: 2s}
lookup:
  store: redis
  retention: 1000h
  redis: {url: "redis://%[3]s/0", prefix: "%[1]s:"}
canary: {every: 0s}
`, name, broker, devservers.Redis(t))
	s := &service{Process: e2e.New(t, append(settings, e2e.WithYAML(t, yaml))...), name: name, yaml: yaml}
	s.lines = e2e.SplitLines(e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", 1000))
	return s
}

// withSettings is another process of the same configuration, but for some settings.
func (s *service) withSettings(settings ...string) *service {
	other := *s
	other.Process = e2e.New(s.TB, append(settings, e2e.WithYAML(s.TB, s.yaml))...)
	return &other
}

// topic is the name of one of its topics on the broker.
func (s *service) topic(name string) string { return s.name + "-" + name }

// part is one of the four quarters of the posts.
func (s *service) part(n int) [][]byte {
	quarter := len(s.lines) / 4
	return s.lines[n*quarter : (n+1)*quarter]
}

// post sends posts until they are accepted.
func (s *service) post(lines [][]byte) {
	s.TB.Helper()
	s.Feed(lines, 100, func(int) {})
}

// wantNotReady waits until /readyz is 503 with a condition of that name whose detail says all of the words. The log has the
// condition too.
func (s *service) wantNotReady(condition string, words ...string) {
	s.TB.Helper()
	var last string
	defer func() {
		if s.TB.Failed() {
			s.TB.Logf("/readyz: %s", last)
		}
	}()
	s.Await(2*time.Minute, fmt.Sprintf("%s with %q at /readyz", condition, words), func() bool {
		detail, all := s.condition(condition)
		last = all
		log := s.Log.String()
		return containsAll(detail, words) && strings.Contains(log, `"condition":"`+condition+`"`)
	})
}

func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// condition is the detail of one that holds, "" where it does not, and all that /readyz says.
func (s *service) condition(name string) (detail, all string) {
	resp, err := http.Get(s.URL("/readyz"))
	if err != nil {
		return "", err.Error()
	}
	defer resp.Body.Close()
	var p struct {
		Conditions []struct{ Name, Detail string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		return "", fmt.Sprint(resp.Status, " ", err)
	}
	for _, c := range p.Conditions {
		if all += c.Name + ": " + c.Detail + "\n"; c.Name == name {
			detail = c.Detail
		}
	}
	return detail, all
}

// wantRefused sends a post that nobody needs, which must be refused with the word when to come again.
func (s *service) wantRefused() {
	s.TB.Helper()
	line := fmt.Sprintf(`{"id":"refused","source":"refused","created_at":"2016-01-01T00:00:00Z","text":"%s"}`, "Words that nobody else has ever put together")
	resp, err := (&http.Client{Timeout: 2 * time.Minute}).Post(s.URL("/v1/posts"), "application/x-ndjson", bytes.NewReader([]byte(line+"\n")))
	if err != nil {
		s.TB.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		s.TB.Errorf("a post is answered %s, Retry-After %q; want 503", resp.Status, resp.Header.Get("Retry-After"))
	}
}

// wantEvents compares the events with what detect says of posts. Events may be there more than once.
func (s *service) wantEvents(lines [][]byte) {
	s.TB.Helper()
	s.AwaitReady(time.Minute)
	t := s.TB.(*testing.T)
	want := oracle.Sorted(e2e.Detect(t, bytes.Join(lines, nil), e2e.DefaultSettings(), nil))
	got := slices.Compact(s.Events())
	if missing, extra := oracle.Diff(got, want); len(missing)+len(extra) > 0 {
		t.Errorf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
}

// wantIndex asks the index for what the last event tells of its later post.
func (s *service) wantIndex() {
	s.TB.Helper()
	all := s.Matches()
	last := &all[len(all)-1]
	s.Await(time.Minute, "reuse in the index", func() bool {
		status, body := s.Get("/v1/posts/" + url.PathEscape(last.Later.Post) + "/reuse?source=" + url.QueryEscape(last.Later.Source))
		return status == http.StatusOK && strings.Contains(body, last.Group.String())
	})
}

// wantLog waits until the log says all of the words.
func (s *service) wantLog(words ...string) {
	s.TB.Helper()
	s.Await(2*time.Minute, fmt.Sprintf("%q in the log", words), func() bool { return containsAll(s.Log.String(), words) })
}

// wantRestarts waits until the process has started again so often, and the log says why.
func (s *service) wantRestarts(n int, words ...string) {
	s.TB.Helper()
	s.wantLog(words...)
	s.Await(2*time.Minute, "new start", func() bool {
		return strings.Count(s.Log.String(), `"msg":"starting again"`) == n && strings.Count(s.Log.String(), `"msg":"serving"`) == n+1
	})
}

// wantEnd waits until the process ends by itself, with an error that says all of the words.
func (s *service) wantEnd(words ...string) {
	s.TB.Helper()
	if err, ok := s.AwaitEnd(time.Minute); !ok {
		s.TB.Errorf("the process goes on, want an end that says %q", words)
	} else if log := s.Log.String(); err == nil || !containsAll(log, words) {
		s.TB.Errorf("ended with %v; want %q in the log", err, words)
	}
}
