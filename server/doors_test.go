package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// patience is far more than the limits of these tests, and less than a test may take: a server without them fails here.
const patience = 20 * time.Second

// dial opens a connection whose kernel buffers are small: what is not read comes to stand at the server soon.
func dial(t *testing.T, p *e2e.Process, request string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10) // a wish
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c
}

// answer is the status of what a connection is answered, and its body.
func answer(t *testing.T, c net.Conn) (int, string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// closed waits until the server has closed a connection, whatever it sent before.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection stays")
	}
}

// TestBodiesThatDoNotCome: half a body holds its connection for read_timeout, whoever reads it.
func TestBodiesThatDoNotCome(t *testing.T) {
	p := e2e.New(t, "REFRAIN_LIMITS_READ_TIMEOUT=1s")
	p.Start()
	const head = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{\"text\":"
	for request, want := range map[string]int{
		"POST /v1/match": 408, "POST /v1/posts": 408, "DELETE /v1/posts/1": 204, "POST /v1/models/0/use": 0,
	} {
		c := dial(t, p, request+head)
		status, body := answer(t, c)
		if want != 0 && status != want {
			t.Errorf("%s: status %d, want %d: %s", request, status, want, body)
		}
		closed(t, c)
	}
}

// TestAnswersThatAreNotRead: an answer that nobody reads is given up.
func TestAnswersThatAreNotRead(t *testing.T) {
	// an answer of 11 MB, more than the kernel takes
	p := e2e.New(t, "REFRAIN_LIMITS_WRITE_TIMEOUT=1s", "REFRAIN_LIMITS_UPLOAD_BYTES=400MiB")
	p.Start()
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	for i := range 20_000 {
		fmt.Fprintf(z, `{"id":"%s%d","text":"x"}`+"\n", strings.Repeat("a", 500), i)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var all []net.Conn
	for range 1 {
		all = append(all, dial(t, p, fmt.Sprintf("POST /v1/posts?results=all HTTP/1.1\r\nHost: localhost\r\n"+
			"Content-Type: application/x-ndjson\r\n"+
			"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", body.Len(), body.String())))
	}
	p.Await(time.Minute, "uploads", func() bool { return p.Counters()["refrain_ingest_posts_total/accepted"] == 20_000 })
	p.Await(patience, "connections cut off", func() bool { return connected(t, p, all) == 0 })
}

// connected counts the connections that the kernel calls established on the server's side.
func connected(t *testing.T, p *e2e.Process, all []net.Conn) (n int) {
	t.Helper()
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", p.Cmd.Process.Pid))
	if err != nil {
		t.Skip("no table of connections: ", err)
	}
	for _, c := range all {
		local, remote := c.LocalAddr().(*net.TCPAddr).Port, c.RemoteAddr().(*net.TCPAddr).Port
		if strings.Contains(string(table), fmt.Sprintf("0100007F:%04X 0100007F:%04X 01", remote, local)) {
			n++
		}
	}
	return n
}

// TestConnectionsAreLimited: waiting ones make room; where all are busy, health is answered, and the rest is told why not.
func TestConnectionsAreLimited(t *testing.T) {
	p := e2e.New(t, "REFRAIN_LIMITS_CONNECTIONS=20", "REFRAIN_LIMITS_STREAMS=1000")
	p.Start()
	http.DefaultClient.CloseIdleConnections()
	for range 100 { // ask for nothing, or do not get to the end of it
		dial(t, p, "")
		dial(t, p, "GET / HTTP/1.1\r\n")
	}
	if status, _ := answer(t,
		dial(t, p, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")); status != 200 {
		t.Errorf("beside connections that wait: status %d", status)
	}
	for range 20 {
		c := dial(t, p, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if _, err := c.Read(make([]byte, 1)); err != nil { // it is being answered
			t.Fatal(err)
		}
	}
	for range 40 {
		status, body := answer(t, dial(t, p, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		if status != 503 || !strings.Contains(body, "limits.connections") {
			t.Fatalf("beside busy ones: status %d: %s", status, body)
		}
		for _, path := range []string{"/livez", "/readyz", "/metrics"} {
			if status, body := answer(t,
				dial(t, p, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")); status != 200 {
				t.Fatalf("%s beside busy ones: status %d: %s", path, status, body)
			}
		}
	}
	if c := p.Counters(); c["refrain_server_connections_closed_total"] < 150 || c["refrain_api_refused_total"] < 40 {
		t.Errorf("closed %v, refused %v", c["refrain_server_connections_closed_total"], c["refrain_api_refused_total"])
	}
}

// TestHeadersAreLimited: also what is logged of them.
func TestHeadersAreLimited(t *testing.T) {
	p := e2e.New(t)
	p.Start()
	for _, n := range []int{60_000, 900_000} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", p.URL("/v1/events?until=now"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-ID", strings.Repeat("1.", n/2)+"1")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			continue // closed while the header was on its way
		}
		resp.Body.Close()
		if n > 64<<10 && resp.StatusCode != 431 {
			t.Errorf("%d bytes of header: status %d", n, resp.StatusCode)
		}
	}
	for line := range strings.Lines(p.Log.String()) {
		if len(line) > 32<<10 {
			t.Errorf("a line of %d bytes in the log", len(line))
		}
	}
}

// TestSecretsStayInside: none is in the log, the metrics or an answer, whatever was asked for.
func TestSecretsStayInside(t *testing.T) {
	const marker = "mARKer-0123456789"
	config := filepath.Join(t.TempDir(), "refrain.yaml")
	if err := os.WriteFile(config, []byte(`
log: {level: debug}
auth:
  tokens:
  - {name: root, token: `+marker+`-admin, scopes: [admin]}
  - {name: reader, token: `+marker+`-reader, scopes: [read]}
publish:
  webhooks:
  - name: desk
    url: http://user:`+marker+`-password@127.0.0.1:1/
    secrets: [whsec_`+strings.Repeat("bUFSS2VyLTAxMjM0NTY3ODk", 2)+`==]
    headers: {X-Key: `+marker+`-header}
    allow: [127.0.0.0/8]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := e2e.New(t, e2e.WithConfig(config))
	p.Start()
	var answers strings.Builder
	for _, token := range []string{"", marker + "-reader", marker + "-admin", marker + "-unknown"} {
		for _, request := range []string{
			"GET /", "GET /metrics", "GET /v1/webhooks", "GET /v1/models", "GET /v1/events?until=now",
			"GET /v1/explain?a=a&b=b", "GET /v1/texts/0",
			"POST /v1/posts", "POST /v1/match", "DELETE /v1/posts/9", "GET /v1/posts/1/reuse", "POST /v1/webhooks/desk/enable",
			"POST /v1/webhooks/desk/test", "GET /v1/webhooks/desk/deliveries",
			"GET /nothing", "GET /metrics?x",
		} {
			method, path, _ := strings.Cut(request, " ")
			r, err := http.NewRequestWithContext(t.Context(), method, p.URL(path),
				strings.NewReader(`{"id":"1","text":"Some words that come again and again"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Header.Write(&answers)
			_, _ = io.Copy(&answers, resp.Body)
			resp.Body.Close()
		}
	}
	for what, text := range map[string]string{"the log": p.Log.String(), "an answer": answers.String()} {
		for _, secret := range []string{marker, "bUFSS2VyLTAxMjM0NTY3ODk"} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s has a secret: %.200s", what, text[max(0, i-100):])
			}
		}
	}
	if !strings.Contains(p.Log.String(), "token=root") && !strings.Contains(p.Log.String(), `"token":"root"`) {
		t.Error("the log does not name who asked")
	}
}

// TestDirectoriesAreTheirOwners: nobody else on the machine reads posts, or writes a model.
func TestDirectoriesAreTheirOwners(t *testing.T) {
	p := e2e.New(t)
	p.Start()
	if _, err := p.Post([][]byte{[]byte(`{"id":"1"}` + "\n"), []byte(`{"id":"2","text":"a"}` + "\n")}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", e.Name(), info.Mode())
		}
	}
	if len(entries) < 3 {
		t.Errorf("%d entries", len(entries))
	}
}
