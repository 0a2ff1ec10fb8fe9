package bluesky_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"refrain/ingest/bluesky"
)

// TestFormsThatAreNotReadAreRefused: with compress=true each message became a dead letter, with the others none came.
func TestFormsThatAreNotReadAreRefused(t *testing.T) {
	const server = "wss://jetstream.example.org"
	for address, hint := range map[string]string{
		server + "/subscribe?compress=true":                                           "leave compress out",
		server + "/subscribe?requireHello=true":                                       "leave it out",
		server + "/xrpc/network.bsky.jetstream.subscribeEvents?cursor=1":              "want Jetstream's own, wss://HOST/subscribe",
		"https://bsky.network/xrpc/com.atproto.sync.subscribeRepos":                   "subscribeRepos is another protocol",
		server + "/subscribe?compress=false&requireHello=false&maxMessageSizeBytes=0": "",
	} {
		cfg := bluesky.Default()
		cfg.URL = address
		switch _, err := bluesky.New(cfg); {
		case hint == "" && err != nil:
			t.Errorf("%s: %v", address, err)
		case hint != "" && (err == nil || !strings.Contains(err.Error(), hint)):
			t.Errorf("%s: error %v, want one with %q", address, err, hint)
		}
	}
}

// TestTheReasonOfARefusalIsShown: a server that refuses says why, and is told who asks. One that got a password is not quoted.
func TestTheReasonOfARefusalIsShown(t *testing.T) {
	if got := refusal(t, ""); !strings.Contains(got, "the server says") || !strings.Contains(got, "must be an integer") {
		t.Errorf("logged %.3000s", got)
	}
	if got := refusal(t, "user:hidden@"); strings.Contains(got, "the server says") || strings.Contains(got, "dXNlcjpoaWRkZW4=") {
		t.Errorf("logged what a server says that knows a password: %.3000s", got)
	}
}

// refusal is the log of a source whose server refuses it.
func refusal(t *testing.T, login string) string {
	t.Helper()
	var asked atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("User-Agent"); got != "Refrain/1.2.3" {
			t.Errorf("User-Agent %q", got)
		}
		asked.Add(1)
		http.Error(w, r.Header.Get("Authorization")+" invalid\x1b[31m cursor:\nmust be an integer"+strings.Repeat("!", 1<<20), http.StatusBadRequest)
	}))
	defer web.Close()
	var log lockedLog
	cfg := with(func(c *bluesky.Config) {
		c.URL = "ws://" + login + strings.TrimPrefix(web.URL, "http://") + "/subscribe"
	})
	cfg.UserAgent, cfg.Logger = "Refrain/1.2.3", slog.New(slog.NewTextHandler(&log, nil))
	cfg.MinBackoff, cfg.MaxPause = time.Millisecond, time.Millisecond
	src, err := bluesky.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	awaitTries(t, src, &asked, 3)
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Client.CloseIdleConnections()
	got := log.String()
	if strings.Contains(got, "\x1b") || int64(strings.Count(got, "!")) > 1024*asked.Load() {
		t.Errorf("logged %.3000s", got)
	}
	return got
}
