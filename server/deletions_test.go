package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// requestPath sends a request with a path as it stands.
func requestPath(p *e2e.Process, method, path, body string) (status int, answer string, header http.Header) {
	p.TB.Helper()
	r, err := http.NewRequestWithContext(p.TB.Context(), method, p.URL(path), strings.NewReader(body))
	if err != nil {
		p.TB.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.TB.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.TB.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// escaped is a name as it has to stand in a path: also dots, which a client would take for a way up.
func escaped(name string) string { return strings.ReplaceAll(url.PathEscape(name), ".", "%2E") }

// TestNamesInPaths: whatever its name, a post can be asked for and deleted.
func TestNamesInPaths(t *testing.T) {
	p := e2e.New(t)
	p.Start()
	for i, name := range []string{
		"/", ".", "..", "a/b", "//", "%2F", "a b", "{$}", "../../x", "reuse", "/reuse", "?source=x", "é\x01",
	} {
		words := fmt.Sprintf("mayor%[1]d opens%[1]d bridge%[1]d over%[1]d river%[1]d", i)
		for _, id := range []string{name, fmt.Sprint("later", i)} {
			line, err := json.Marshal(map[string]string{"id": id, "text": words})
			if err != nil {
				t.Fatal(err)
			}
			if a, err := p.Post([][]byte{append(line, '\n')}); err != nil || a.Accepted != 1 {
				t.Fatalf("post %q: %+v, %v", id, a, err)
			}
		}
		reuse := "/v1/posts/" + escaped(name) + "/reuse"
		p.Await(20*time.Second, fmt.Sprintf("repeat of %q", name), func() bool {
			status, answer, _ := requestPath(p, "GET", reuse, "")
			return status == 200 && strings.Contains(answer, fmt.Sprint("later", i))
		})
		if status, answer, _ := requestPath(p, "DELETE", "/v1/posts/"+escaped(name), ""); status != 204 {
			t.Errorf("DELETE %q: %d %s", name, status, answer)
		}
		p.Await(20*time.Second, fmt.Sprintf("deletion of %q", name), func() bool {
			status, _, _ := requestPath(p, "GET", reuse, "")
			return status == 404
		})
	}
}

// deleteAll deletes posts of a source and returns how many deletions had which answer.
func deleteAll(p *e2e.Process, n int, path func(i int) string) (accepted, refused int64) {
	var next, yes, no atomic.Int64
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				switch status, answer, header := requestPath(p, "DELETE", path(int(i)), ""); {
				case status == 204:
					yes.Add(1)
				case status == 507 && header.Get("Retry-After") != "" && strings.Contains(answer, "urn:refrain:problem:deletions-full"):
					no.Add(1)
				default:
					p.TB.Errorf("DELETE %d: %d %s", i, status, answer)
				}
			}
		})
	}
	clients.Wait()
	return yes.Load(), no.Load()
}

// TestDeletionsWithinTheirShare: what deletions hold is a quarter of the budget, at most. Those that come then are refused,
// and none is forgotten: not by a restart either.
func TestDeletionsWithinTheirShare(t *testing.T) {
	const limit = 1_000_000 / 4 / 48
	p := e2e.New(t, "REFRAIN_WINDOW_BUDGET=1MB")
	p.Start()
	accepted, refused := deleteAll(p, limit*5/4, func(i int) string { return fmt.Sprint("/v1/posts/gone", i) })
	if accepted < limit || refused == 0 { // those that are on their way when it is reached get in
		t.Errorf("%d accepted and %d refused, there is room for %d", accepted, refused, limit)
	}
	p.Await(20*time.Second, "tombstones", func() bool { return p.Counters()["refrain_shard_tombstones"] == float64(accepted) })
	c := p.Counters()
	equal(t, "refused", c["refrain_ingest_deletions_total/refused"], float64(refused))
	if held, limit := c["refrain_shard_tombstones_bytes"], c["refrain_shard_tombstones_limit_bytes"]; held < limit ||
		held > limit*5/4 {
		t.Errorf("%v bytes held, the limit is %v", held, limit)
	}
	if status, answer, _ := requestPath(p, "DELETE", "/v1/posts/gone0", ""); status != 204 {
		t.Errorf("one that is deleted already: %d %s", status, answer)
	}
	_ = p.Kill(syscall.SIGKILL)
	p.Start()
	equal(t, "tombstones after a restart", p.Counters()["refrain_shard_tombstones"], float64(accepted))
	if a, err := p.Post([][]byte{[]byte(`{"id":"gone1","text":"The mayor opened a bridge in town."}` +
		"\n")}); err != nil || a.Accepted != 1 {
		t.Fatalf("post: %+v, %v", a, err)
	}
	p.Events()
	equal(t, "deleted sentences", p.Counters()["refrain_sigstore_sentences_total/deleted"], 1)
}

// TestFullControlTopic: what the topic of deletions may hold is a limit too, and says which.
func TestFullControlTopic(t *testing.T) {
	p := e2e.New(t, "REFRAIN_TOPICS_CONTROL_BYTES=100KB")
	p.Start()
	accepted, refused := deleteAll(p, 2000, func(i int) string { return fmt.Sprint("/v1/posts/gone", i) })
	if accepted < 100 || refused < 100 {
		t.Errorf("%d accepted and %d refused", accepted, refused)
	}
	if _, answer, _ := requestPath(p, "DELETE", "/v1/posts/another", ""); !strings.Contains(answer, "topics.control_bytes") {
		t.Errorf("refused with %s", answer)
	}
	p.Await(20*time.Second, "tombstones", func() bool { return p.Counters()["refrain_shard_tombstones"] == float64(accepted) })
	for range 1000 { // says nothing new, and takes no room
		if status, answer, _ := requestPath(p, "DELETE", "/v1/posts/gone0", ""); status != 204 && status != 507 {
			t.Fatalf("again: %d %s", status, answer)
		}
	}
}
