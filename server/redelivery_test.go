package server_test

import (
	"fmt"
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
	dayAfterNext := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	t.Run("without a time", func(t *testing.T) { testRetry(t, "") })
	t.Run("dated in the future", func(t *testing.T) { testRetry(t, fmt.Sprintf(`"created_at":%q,`, dayAfterNext)) })
}

func testRetry(t *testing.T, created string) {
	const tries = 4
	pairs := 4
	if *e2e.Full {
		pairs = 16
	}
	p := e2e.New(t)
	p.Start()
	for n := range pairs {
		for again := range tries {
			if (n+again)%4 == 3 {
				p.Events() // all is through
				_ = p.Kill(syscall.SIGKILL)
				p.Start()
			}
			time.Sleep(2 * time.Millisecond) // another time
			postPair(p, created, n)
		}
	}
	contents := map[feed.Hash]string{}
	for _, m := range p.Matches() {
		content := fmt.Sprintf("%s repeats %s at %s, occurrences %d", m.Later.Post, m.Earlier.Post, m.Later.Time, m.Occurrences)
		if before, ok := contents[m.ID]; ok && before != content {
			t.Errorf("one id, and %q and %q", before, content)
		}
		contents[m.ID] = content
		if !strings.HasPrefix(m.Later.Post, "second") {
			t.Errorf("false: %s", content)
		}
	}
	if len(contents) != pairs {
		t.Errorf("%d events, want %d", len(contents), pairs)
	}
}

// postPair posts two near texts, one after the other.
func postPair(p *e2e.Process, created string, n int) {
	p.TB.Helper()
	for i, id := range []string{"first", "second"} {
		text := fmt.Sprintf("mayor%[1]d opens%[1]d bridge%[1]d over%[1]d river%[1]d in%[1]d town%[1]d of%[1]d old%[1]d "+
			"and %[2]d", n, i)
		line := fmt.Appendf(nil, `{"id":"%s%d",%s"text":%q}`+"\n", id, n, created, text)
		if a, err := p.Post([][]byte{line}); err != nil || a.Accepted != 1 {
			p.TB.Fatalf("post: %+v, %v", a, err)
		}
	}
}
