package followers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// front stands between clients and a server. It cuts the connections on which events run, gives the clients their
// script and takes their reports.
type front struct {
	*httptest.Server
	proxy httputil.ReverseProxy

	mu      sync.Mutex
	streams map[*line]bool // on which events run
	rough   bool           // every connection with events breaks soon
	round   int            // clients begin with 1, and anew with each
	query   string         // of their streams
	seen    []follow       // what the streams of this round have
	ended   atomic.Int64   // requests for events
}

// follow is what a client tells of one stream.
type follow struct {
	Opened int      // how often
	Posts  []string // that the events were about
	About  []string // what the server's page says of those that it shows
	Strays []string // data that came without a name
	Gone   string   // why it will not come back; "" if it will
}

func newFront(t *testing.T, server string) *front {
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{streams: map[*line]bool{}}
	f.proxy = httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Accept-Encoding") },
		FlushInterval:  -1,
		Transport:      &http.Transport{DisableCompression: true},
		ErrorLog:       log.New(io.Discard, "", 0),
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as if nobody listened
		ModifyResponse: watch,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/events", f.events)
	mux.HandleFunc("POST /report", f.report)
	mux.HandleFunc("GET /follow.js", file)
	mux.HandleFunc("GET /follow.html", file)
	mux.Handle("/", &f.proxy)
	f.Server = httptest.NewUnstartedServer(mux)
	f.Listener = listener{f.Listener}
	f.Config.ErrorLog = f.proxy.ErrorLog
	f.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, lineKey{}, c) }
	f.Start()
	t.Cleanup(f.Close)
	t.Cleanup(func() { f.cut() })
	return f
}

func file(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata"+r.URL.Path) }

// watch puts the script that reports behind the server's own page.
func watch(r *http.Response) error {
	if r.Request.URL.Path != "/" {
		return nil
	}
	page, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	script, err := testdata.ReadFile("testdata/watch.html")
	if err != nil {
		return err
	}
	page = append(page, script...)
	r.Body = io.NopCloser(bytes.NewReader(page))
	r.Header.Set("Content-Length", strconv.Itoa(len(page)))
	r.ContentLength = int64(len(page))
	return nil
}

func (f *front) events(w http.ResponseWriter, r *http.Request) {
	l := r.Context().Value(lineKey{}).(*line)
	f.mu.Lock()
	f.streams[l] = true
	if f.rough {
		l.scheduleBreak()
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.streams, l)
		f.ended.Add(1)
	}()
	f.proxy.ServeHTTP(w, r)
}

func (f *front) report(w http.ResponseWriter, r *http.Request) {
	var got struct {
		Round   string
		Streams []follow
	}
	err := json.NewDecoder(r.Body).Decode(&got)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && got.Round == strconv.Itoa(f.round) {
		f.seen = got.Streams
	}
	fmt.Fprint(w, f.round, " ", f.query)
}

// next lets the clients begin anew, with a query.
func (f *front) next(query string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.round, f.query, f.seen = f.round+1, query, nil
}

// cut breaks all streams of events.
func (f *front) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.streams {
		_ = l.Close()
	}
}

// startBreaking breaks all streams of events, and those that come, until stopBreaking.
func (f *front) startBreaking() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rough = true
	for l := range f.streams {
		l.scheduleBreak()
	}
}

func (f *front) stopBreaking() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rough = false
}

// all reports whether every stream of the clients fulfils a condition; there must be one.
func (f *front) all(ok func(follow) bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if !ok(s) {
			return false
		}
	}
	return len(f.seen) > 0
}

// latest is what the clients have told last.
func (f *front) latest() []follow {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// line is a connection that can break in the middle of an event.
type line struct {
	net.Conn
	mu    sync.Mutex
	rough bool
	left  int // bytes until it breaks, if it is rough
}

type lineKey struct{}

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &line{Conn: c}, nil
}

// scheduleBreak breaks the connection after some bytes or some time, politely or not. The header comes whole or not at all:
// half of one is an answer of another type to Chromium, after which it does not come back.
func (l *line) scheduleBreak() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rough, l.left = true, 400+rand.IntN(8000)
	if rand.IntN(8) == 0 {
		l.left = 0
	}
	if rand.IntN(2) == 0 {
		_ = l.Conn.(*net.TCPConn).SetLinger(0)
	}
	time.AfterFunc(rand.N(1500*time.Millisecond), func() { _ = l.Close() })
}

func (l *line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.rough || len(p) <= l.left {
		l.left -= len(p)
		return l.Conn.Write(p)
	}
	n, _ := l.Conn.Write(p[:max(0, l.left)])
	l.left = 0
	_ = l.Conn.Close()
	return n, net.ErrClosed
}
