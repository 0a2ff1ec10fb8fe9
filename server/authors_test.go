package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// authorsClient talks to a server as a client does.
type authorsClient struct {
	t   *testing.T
	url string
}

func (c *authorsClient) request(method, path, body string) (status int, answer string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (c *authorsClient) post(id, author string) {
	c.t.Helper()
	body := fmt.Sprintf(`{"id":%q,"source":"x","author":%q,"text":"The very same words stand here again","created_at":%q}`,
		id, author, time.Now().Format(time.RFC3339Nano))
	if status, answer := c.request("POST", "/v1/posts", body); status != 202 && status != 200 {
		c.t.Fatalf("post %s: %d %s", id, status, answer)
	}
}

// until asks again and again.
func (c *authorsClient) until(path string, want int, ok func(answer string) bool) {
	c.t.Helper()
	var status int
	var answer string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if status, answer = c.request("GET", path, ""); status == want && ok(answer) {
			return
		}
	}
	c.t.Errorf("%s: %d %s", path, status, answer)
}

// TestDeleteAuthor deletes an author through the whole service.
func TestDeleteAuthor(t *testing.T) {
	s := mustRun(t)
	c := &authorsClient{t, "http://" + s.Addr()}
	any := func(string) bool { return true }
	c.post("1", "ann")
	c.post("2", "bob")
	c.post("3", "cid")
	c.until("/v1/posts/3/reuse?source=x", 200, func(a string) bool { return strings.Contains(a, `"post":"1"`) })
	if status, answer := c.request("DELETE", "/v1/authors/ann?source=x", ""); status != 204 {
		t.Fatalf("%d %s", status, answer)
	}
	c.until("/v1/posts/1/reuse?source=x", 404, func(a string) bool { return strings.Contains(a, "was deleted") })
	c.until("/v1/posts/3/reuse?source=x", 200, func(a string) bool { return !strings.Contains(a, `"post":"1"`) })
	c.until("/v1/events?from=start&until=now&format=ndjson", 200, func(a string) bool {
		return strings.Contains(a, `"data":{"source":"x","author":"ann"}`) && !strings.Contains(a, `"post":"1"`)
	})
	c.post("4", "ann") // the account is back
	c.until("/v1/match", 405, any)
	_, answer := c.request("POST", "/v1/match", `{"text":"The very same words stand here again"}`)
	if strings.Contains(answer, `"1"`) || !strings.Contains(answer, `"post":"2"`) {
		t.Errorf("match: %s", answer)
	}
	c.post("5", "dan")
	c.until("/v1/posts/5/reuse?source=x", 200, func(a string) bool { return strings.Contains(a, `"post":"2"`) })
	c.until("/v1/events?from=start&until=now&format=ndjson", 200, func(a string) bool {
		return strings.Contains(a, `"post":"5"`)
	})
	if status, answer := c.request("DELETE", "/v1/posts/5?source=x", ""); status != 204 {
		t.Fatalf("%d %s", status, answer)
	}
	c.until("/v1/posts/5/reuse?source=x", 404, any)
}
