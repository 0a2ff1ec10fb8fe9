package bluesky_test

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"refrain/ingest/bluesky"
)

// frame is one of RFC 6455: its first byte, the length that it claims, and what follows.
func frame(first byte, length uint64, body string) string {
	return string(binary.BigEndian.AppendUint64([]byte{first, 127}, length)) + body
}

const (
	text, more, last, packed, ping, closing = 0x81, 0x01, 0x80, 0xC1, 0x89, 0x88
	zeros                                   = "\x00\x00\x00\x00\x00\x00\x00\x00"
)

// garbage is what a server says behind a proper handshake, unless it says something instead of one; what is endless is
// said again and again.
var garbage = []struct {
	name                    string
	instead, begin, endless string
}{
	{name: "HTTP page", instead: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
	{name: "not found", instead: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
	{name: "SSH", instead: "SSH-2.0-OpenSSH_9.6\r\n"},
	{name: "TLS", instead: "\x15\x03\x01\x00\x02\x02\x46"},
	{name: "headers without an end", instead: "HTTP/1.1 101 Switching Protocols\r\nX: ", endless: "xxxxxxxx"},
	{name: "headers, many", instead: "HTTP/1.1 101 Switching Protocols\r\n", endless: "X-A: b\r\n"},
	{name: "page without an end", instead: "HTTP/1.1 500 Internal Server Error\r\n\r\n", endless: "xxxxxxxx"},
	{name: "wrong key", instead: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Accept: no\r\n\r\n"},
	{name: "other upgrade", instead: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"},
	{name: "compression not asked for", begin: frame(packed, 1<<30, ""), endless: zeros},
	{name: "frame of 2⁶³ bytes", begin: frame(text, 1<<63, "")},
	{name: "frame of 9·10¹⁸ bytes", begin: frame(text, 9e18, ""), endless: "xxxxxxxx"},
	{name: "fragments without an end", begin: frame(more, 1, "x"), endless: "\x00\x08xxxxxxxx"},
	{name: "empty fragments without an end", begin: frame(more, 1, "x"), endless: "\x00\x00" + "\x00\x01x"},
	{name: "fragment of nothing", begin: frame(last, 1, "x")},
	{name: "message within a message", begin: frame(more, 1, "x") + frame(text, 1, "x")},
	{name: "masked frame", begin: "\x81\x85abcdhello"},
	{name: "unknown kind", begin: frame(0x8B, 1, "x")},
	{name: "long ping", begin: frame(ping, 1<<20, ""), endless: "xxxxxxxx"},
	{name: "close with one byte", begin: "\x88\x01x"},
	{name: "text instead of frames", begin: "hello there\r\n", endless: "hello there\r\n"},
	{name: "zeros", endless: zeros},
}

// maxRead is how much of an endless answer a client may read. What a socket holds comes to it.
const maxRead = 64 << 20

// liar is a server that speaks garbage on its first connections, one kind each, and hands on to a firehose afterwards.
type liar struct {
	t     *testing.T
	calls atomic.Int64
	next  http.Handler
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(l.calls.Add(1)) - 1
	if n >= len(garbage) {
		l.next.ServeHTTP(w, r)
		return
	}
	c, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		l.t.Error(err)
		return
	}
	defer c.Close()
	g := garbage[n]
	first := g.instead
	if first == "" {
		first = handshake(r) + g.begin
	}
	sent := l.write(c, first, g.endless)
	if sent > maxRead {
		l.t.Errorf("%s: the client has read %d bytes of it", g.name, sent)
	}
	_, _ = io.Copy(io.Discard, bufio.NewReader(rw)) // until the client ends it
}

func handshake(r *http.Request) string {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		base64.StdEncoding.EncodeToString(sum[:]) + "\r\n\r\n"
}

func (l *liar) write(c net.Conn, first, endless string) (sent int) {
	n, err := io.WriteString(c, first)
	for block := strings.Repeat(endless, 4096); endless != "" && err == nil && sent <= maxRead; {
		sent += n
		n, err = io.WriteString(c, block)
	}
	return sent
}

// TestServersThatAnswerGarbage: 22 kinds of it, each an error that the log tells, and then posts.
func TestServersThatAnswerGarbage(t *testing.T) {
	f := mustFirehose(t, func(n int, _ int64, send func(string) error) {
		if send(created(1)) == nil {
			_ = send("")
		}
	})
	behind := f.handler
	web := httptest.NewServer(&liar{t: t, next: behind})
	t.Cleanup(web.Close)
	var log lockedLog
	cfg := bluesky.Default()
	cfg.URL, cfg.Silence, cfg.Logger = "ws"+strings.TrimPrefix(web.URL, "http")+"/subscribe", 500*time.Millisecond,
		slog.New(slog.NewTextHandler(&log, nil))
	cfg.MinBackoff, cfg.MaxPause = time.Millisecond, 5*time.Millisecond
	b, err := bluesky.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	for {
		batch := mustNext(t, b)
		batch.Done(nil)
		if len(batch.Posts) > 0 {
			break
		}
	}
	if now := heap(); now > before+128<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", before, now)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	cfg.Client.CloseIdleConnections()
	if n := strings.Count(log.String(), "connection lost"); n < len(garbage) {
		t.Errorf("%d of %d kinds in the log:\n%s", n, len(garbage), log.String())
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 4096 {
			t.Errorf("a line of %d bytes in the log: %.200s", len(line), line)
		}
	}
}

// heap is how large the heap has been: what the system gave for it.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys
}

type lockedLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestRedirectsAreNotFollowed: not to another address, not to the same.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reached.Add(1) }))
	t.Cleanup(private.Close)
	for _, to := range []string{private.URL + "/latest/meta-data", "/elsewhere", "http://169.254.169.254/", "http://[::1]:1/"} {
		var asked atomic.Int64
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.URL.Path != "/subscribe" {
				reached.Add(1)
			}
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}))
		var log lockedLog
		cfg := with(func(c *bluesky.Config) { c.URL = "ws" + strings.TrimPrefix(front.URL, "http") + "/subscribe" })
		cfg.MinBackoff, cfg.MaxPause, cfg.Logger = time.Millisecond, time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))
		b, err := bluesky.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		awaitTries(t, b, &asked, 3)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		cfg.Client.CloseIdleConnections()
		front.Close()
		if want := "not followed"; !strings.Contains(log.String(), want) {
			t.Errorf("redirected to %s the log does not say %q: %s", to, want, log.String())
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// awaitTries reads until the server was asked so often.
func awaitTries(t *testing.T, b *bluesky.Source, asked *atomic.Int64, n int64) {
	t.Helper()
	for asked.Load() < n {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := b.Next(ctx)
		cancel()
		if err == nil {
			t.Fatal("a batch came of a redirect")
		}
	}
}
