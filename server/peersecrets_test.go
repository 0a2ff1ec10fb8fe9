package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// echo is a peer that begins with some bytes and says back what it is told: what a client quotes of its peer's words has
// what the client said itself, in the words of an error where the protocol has such.
func echo(t *testing.T, greeting, before, after string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	serve := func(c net.Conn) {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(100 * time.Millisecond)) // then the client comes again
		_, _ = io.WriteString(c, greeting)
		b := make([]byte, 64<<10)
		for {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, before+string(b[:n])+after)
		}
	}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// collector takes traces.
func collector(t *testing.T) (url string, all func() string) {
	t.Helper()
	var mu sync.Mutex
	var got strings.Builder
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&got, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return got.String()
	}
}

// TestSecretsOfPeersStayInside: what a server logs in with elsewhere is in nothing that it puts out, whether the peer is
// away, or refuses it and repeats it.
func TestSecretsOfPeersStayInside(t *testing.T) {
	const secret = "mARKer-0123456789"
	away := e2e.FreeAddress(t)
	nats := echo(t,
		`INFO {"server_id":"x","version":"2.15.0","proto":1,"auth_required":true,"jetstream":true,"headers":true,"max_payload":1048576}`+"\r\n",
		"-ERR '", "'\r\n")
	redis := echo(t, "", "-ERR ", "\r\n")
	plain := echo(t, "", "", "")
	traces, traced := collector(t)

	var sources, sinks, kafkaSources, kafkaSinks strings.Builder
	i := 0
	for _, address := range []string{away, nats, plain} {
		for _, login := range []string{"user: user, password: " + secret, "token: " + secret, ""} {
			i++
			at := "nats://" + address
			if login == "" {
				login, at = "tls: {enabled: false}", "nats://user:"+secret+"@"+address
			}
			fmt.Fprintf(&sources, "  - {servers: [%q], stream: S%d, %s}\n", at, i, login)
			fmt.Fprintf(&sinks, "  - {name: nats%d, servers: [%q], subject: s%d, %s}\n", i, at, i, login)
		}
	}
	for _, address := range []string{away, plain} {
		for _, mechanism := range []string{"plain", "scram-sha-256"} {
			i++
			login := fmt.Sprintf("sasl: {mechanism: %s, user: user, password: %s}", mechanism, secret)
			fmt.Fprintf(&kafkaSources, "  - {brokers: [%q], topics: [t%d], %s}\n", address, i, login)
			fmt.Fprintf(&kafkaSinks, "  - {name: kafka%d, brokers: [%q], topic: t%d, %s}\n", i, address, i, login)
		}
	}
	for _, store := range []string{away, redis} {
		config := filepath.Join(t.TempDir(), "refrain.yaml")
		if err := os.WriteFile(config,
			[]byte("log: {level: debug}\nauth:\n  tokens:\n  - {name: root, token: "+secret+"-admin, scopes: [admin]}\n"+
				"ingest:\n  nats:\n"+sources.String()+"  kafka:\n"+kafkaSources.String()+
				"  bluesky: {enabled: true, url: \"ws://user:"+secret+"@"+plain+"/subscribe\"}\n"+
				"publish:\n  nats:\n"+sinks.String()+"  kafka:\n"+kafkaSinks.String()+
				"lookup: {store: redis, redis: {url: \"redis://user:"+secret+"@"+store+"/0\"}}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := e2e.New(t, e2e.WithConfig(config), "OTEL_EXPORTER_OTLP_ENDPOINT="+traces, "OTEL_BSP_SCHEDULE_DELAY=100")
		p.Start()
		out := map[string]string{}
		p.Await(time.Minute, "word of every peer", func() bool {
			_ = askAs(t, p, secret+"-admin", "POST", "/v1/posts") // a server with nothing to do has no spans
			out["/readyz"] = askAs(t, p, secret+"-admin", "GET", "/readyz")
			return strings.Contains(out["/readyz"], "source_down") && strings.Contains(traced(), "refrain") &&
				strings.Contains(p.Log.String(), "kafka")
		})
		for _, request := range []string{
			"GET /metrics", "GET /livez", "GET /v1/webhooks", "POST /v1/posts", "POST /v1/match", "GET /v1/posts/1/reuse",
			"GET /v1/texts/0",
		} {
			method, path, _ := strings.Cut(request, " ")
			out[request] = askAs(t, p, secret+"-admin", method, path)
		}
		out["/readyz for others"] = askAs(t, p, secret+"-wrong", "GET", "/readyz")
		out["the log"], out["the traces"] = p.Log.String(), traced()
		for what, text := range out {
			if i := strings.Index(text, secret); i >= 0 || text == "" {
				t.Errorf("store %s: %s has a secret, or nothing: %.300s", store, what, text[max(0, i-200):])
			}
		}
	}
}

// askAs returns the header and body of an answer.
func askAs(t *testing.T, p *e2e.Process, token, method, path string) string {
	t.Helper()
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
	defer resp.Body.Close()
	var all strings.Builder
	if err := resp.Header.Write(&all); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&all, resp.Body); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
