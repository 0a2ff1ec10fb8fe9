package apart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"refrain/internal/config"
	"refrain/internal/devservers"
	"refrain/internal/e2e"
	"refrain/server"
)

// subsets are all of the roles but none at all.
func subsets() (all [][]string) {
	for set := 1; set < 1<<len(server.Roles); set++ {
		var some []string
		for i, r := range server.Roles {
			if set&(1<<i) != 0 {
				some = append(some, r)
			}
		}
		all = append(all, some)
	}
	return all
}

// asked is what a client might ask of a process, and which role answers.
var asked = []struct{ method, path, role string }{
	{"POST", "/v1/posts", "split"}, {"DELETE", "/v1/authors/nobody", "split"}, {"GET", "/v1/models", "match"}, {"GET", "/v1/webhooks", "publish"},
	{"GET", "/v1/posts/1/reuse", "api"}, {"GET", "/v1/events?until=now", "api"}, {"GET", "/", "api"}, {"GET", "/v1/explain?a=a&b=b", "api"},
	{"GET", "/livez", ""}, {"GET", "/readyz", ""}, {"GET", "/metrics", ""}, {"GET", "/openapi.yaml", ""},
}

// TestRoles starts a process with each set of roles: it says what it is, and answers what is its own, and of the rest who does.
func TestRoles(t *testing.T) {
	d := newDeployment(t, e2e.NATSTopics(devservers.NATS(t)), 2*time.Second, "")
	whole := d.start("split+match+publish+lookup+api-1")[0]
	whole.Await(time.Minute, "whole answer", func() bool { return !strings.Contains(matches(t, whole.URL("")), "partial") })
	for i, roles := range subsets() {
		if n := len(roles); !*e2e.Full && n > 1 && n < len(server.Roles)-1 {
			continue
		}
		t.Run(strings.Join(roles, ","), func(t *testing.T) { d.wantRoles(t, roles, fmt.Sprint("other-", i)) })
	}
}

func (d *deployment) wantRoles(t *testing.T, roles []string, worker string) {
	var log e2e.Logged
	cfg := d.config(t, "REFRAIN_HTTP=127.0.0.1:0", "REFRAIN_WORKER="+worker, "REFRAIN_ROLES="+strings.Join(roles, ","))
	cfg.Logger = log.Logger()
	address, stop := run(t, cfg)
	defer stop()
	for _, q := range asked {
		status, answer := request(t, q.method, address+q.path)
		mine := q.role == "" || strings.Contains(strings.Join(roles, ","), q.role)
		says := "This process does not have the role " + q.role
		if refused := strings.Contains(answer, says); refused == mine || !mine && status != http.StatusNotFound {
			t.Errorf("%s %s: %d %s", q.method, q.path, status, answer)
		}
	}
	if got := log.String(); !strings.Contains(got, "roles="+strings.Join(roles, ",")) || !strings.Contains(got, "worker="+worker) {
		t.Errorf("log: %s", got)
	}
}

func (d *deployment) config(t *testing.T, environ ...string) server.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "refrain.yaml")
	if err := os.WriteFile(path, []byte(d.yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, append([]string{"REFRAIN_DATA_DIR=" + t.TempDir()}, environ...))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// run runs a server in this process.
func run(t *testing.T, cfg server.Config) (address string, stop func()) {
	t.Helper()
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := s.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return "http://" + s.Addr(), func() { cancel(); running.Wait() }
}

func request(t *testing.T, method, url string) (status int, answer string) {
	t.Helper()
	p := &e2e.Process{TB: t, Address: strings.TrimPrefix(url[:strings.Index(url[7:], "/")+7], "http://")}
	return do(p, method, url[strings.Index(url[7:], "/")+7:], "")
}

// TestEmbeddedIndexApart: an index in a data directory is nobody else's, so it is for a process that both keeps and asks it.
func TestEmbeddedIndexApart(t *testing.T) {
	for _, roles := range subsets() {
		cfg := server.Default()
		cfg.Roles, cfg.Topics.Kafka.Brokers = roles, []string{"127.0.0.1:9092"}
		keeps, asks := strings.Contains(strings.Join(roles, ","), "lookup"), strings.Contains(strings.Join(roles, ","), "api")
		if err := cfg.Validate(); (err != nil) != (keeps != asks) {
			t.Errorf("%v: %v", roles, err)
		}
	}
}

// TestIndexInEachProcess: where two processes keep and ask an index of their own each has all of it.
func TestIndexInEachProcess(t *testing.T) {
	d := newDeployment(t, e2e.NATSTopics(devservers.NATS(t)), 2*time.Second, "")
	d.yaml = strings.Replace(d.yaml, "store: redis", "store: embedded", 1)
	all := d.start("split+match-1", "lookup+api-1", "lookup+api-2")
	post(all[0], `{"id":"1","text":"`+long+`"}`, `{"id":"2","text":"`+long+`"}`)
	for _, p := range all[1:] {
		p.Await(20*time.Second, "reuse", func() bool {
			_, answer := do(p, "GET", "/v1/posts/2/reuse", "")
			return strings.Contains(answer, `"post":"1"`)
		})
	}
}

// TestWaitsForBroker: a process whose broker is not there says that it lives, and what it waits for.
func TestWaitsForBroker(t *testing.T) {
	d := newDeployment(t, e2e.KafkaTopics(e2e.FreeAddress(t)), 2*time.Second, "")
	p := d.launch("split-1")
	p.Await(20*time.Second, "reason", func() bool {
		status, answer := get(p, "/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(answer, "no broker answers")
	})
	if status, answer := do(p, "GET", "/livez", ""); status != http.StatusOK {
		t.Errorf("livez: %d %s", status, answer)
	}
	if status, answer := do(p, "POST", "/v1/posts", `{"id":"1","text":"a"}`); status != http.StatusServiceUnavailable || !strings.Contains(answer, "starting") {
		t.Errorf("posts: %d %s", status, answer)
	}
	if resp, err := http.Get(p.URL("/v1/events")); err == nil {
		t.Errorf("a stream is answered with %s: a browser would never come back", resp.Status)
		resp.Body.Close()
	}
	if _, err := p.TryCounters(); err != nil {
		t.Error(err)
	}
	if err := p.Kill(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("it was told to stop: %v", err)
	}
}
