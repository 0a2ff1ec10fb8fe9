package server_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
)

// TestServeRetry sends posts without a usable time again, as a client does that has had no answer, with kills of the
// server in between. That must change nothing: no event of a post with what came after it, and none told anew.
func TestServeRetry(t *testing.T) {
	future := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	for _, test := range []struct{ name, time string }{
		{"without a time", ""},
		{"dated in the future", fmt.Sprintf(`"created_at":%q,`, future)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := e2e.New(t)
			p.Start()
			post := func(id string, pair int, last string) {
				t.Helper()
				line := fmt.Appendf(nil, `{"id":%[1]q,%[2]s"text":"mayor%[3]d opens%[3]d bridge%[3]d over%[3]d river%[3]d in%[3]d town%[3]d of%[3]d old%[3]d and %[4]s"}`+"\n", id, test.time, pair, last)
				if a, err := p.Post([][]byte{line}); err != nil || a.Accepted != 1 {
					t.Fatalf("post: %+v, %v", a, err)
				}
			}
			const pairs = 8
			for n := range pairs {
				first, second := fmt.Sprint("first", n), fmt.Sprint("second", n)
				post(first, n, "one")
				post(second, n, "two")
				for again := range 3 {
					if (n+again)%4 == 0 {
						p.Events() // all is through
						_ = p.Kill(syscall.SIGKILL)
						p.Start()
					}
					time.Sleep(2 * time.Millisecond) // another time
					post(first, n, "one")
					post(second, n, "two")
				}
			}
			told := map[feed.Hash]string{}
			for _, m := range matches(p) {
				content := fmt.Sprintf("%s repeats %s at %s, occurrences %d", m.Later.Post, m.Earlier.Post, m.Later.Time, m.Occurrences)
				if before, ok := told[m.ID]; ok && before != content {
					t.Errorf("one id, and %q and %q", before, content)
				}
				told[m.ID] = content
				if !strings.HasPrefix(m.Later.Post, "second") {
					t.Errorf("false: %s", content)
				}
			}
			if len(told) != pairs {
				t.Errorf("%d events, want %d", len(told), pairs)
			}
		})
	}
}

// matches are all events once everything accepted is through the route.
func matches(p *e2e.Process) (all []feed.Match) {
	resp, err := http.Get(p.URL("/v1/events?from=start&until=now"))
	if err != nil {
		p.TB.Fatal(err)
	}
	defer resp.Body.Close()
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok && strings.Contains(data, feed.ReuseType) {
			m, err := feed.DecodeEvent([]byte(data))
			if err != nil {
				p.TB.Fatal(err)
			}
			all = append(all, m)
		}
	}
	return all
}
