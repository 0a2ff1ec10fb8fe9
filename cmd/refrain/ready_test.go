package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestReady: the status says whether the server wants posts, and stderr why it does not.
func TestReady(t *testing.T) {
	for name, c := range map[string]struct {
		status       int
		answer       string
		exit         int
		stdout, errs string
	}{
		"ready":     {200, "ok\nwarning: source_down: A source is away.\n", 0, "ok\nwarning: source_down: A source is away.\n", ""},
		"not ready": {503, `{"title":"Not ready","detail":"Posts wait."}`, 1, "", "503 Service Unavailable: Not ready: Posts wait."},
		"details": {503, `{"title":"Not ready","detail":"Posts wait.","conditions":[{"name":"lag","detail":"7 s\n"},{"name":"storage"}]}`, 1, "",
			"Posts wait.\n  lag: 7 s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/readyz" {
					t.Errorf("asked %s", r.URL.Path)
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.answer)
			}))
			defer s.Close()
			exit, stdout, errs := runReady("--server", s.URL)
			if exit != c.exit || stdout != c.stdout || !strings.Contains(errs, c.errs) {
				t.Errorf("status %d, stdout %q, stderr %q", exit, stdout, errs)
			}
		})
	}
}

// TestReadyWaits until the server is ready.
func TestReadyWaits(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	exit, _, errs := runReady("--server", s.URL, "--wait", "1m")
	if exit != 0 || asked.Load() != 3 || strings.Count(errs, "waiting: ") != 1 {
		t.Errorf("status %d after %d questions: %s", exit, asked.Load(), errs)
	}
}

func TestReadyOfNobody(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	if exit, _, errs := runReady("--server", s.URL); exit != 1 || errs == "" {
		t.Errorf("status %d, stderr %q", exit, errs)
	}
	if exit, _, _ := runReady("--server", "match-1:8080"); exit != 2 {
		t.Errorf("an address without http://: status %d", exit)
	}
}

func runReady(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	m := Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	status = m.Run(context.Background(), append([]string{"ready"}, args...))
	return status, out.String(), errs.String()
}

// TestLocalServer: a container asks itself where the image makes it listen.
func TestLocalServer(t *testing.T) {
	for listens, want := range map[string]string{
		"0.0.0.0:8080": "http://127.0.0.1:8080", ":9000": "http://127.0.0.1:9000", "[::]:80": "http://127.0.0.1:80",
		"10.0.0.5:8080": "http://10.0.0.5:8080", "": "http://127.0.0.1:8080",
	} {
		if got := localServer(listens); got != want {
			t.Errorf("%q: %s, want %s", listens, got, want)
		}
	}
}
