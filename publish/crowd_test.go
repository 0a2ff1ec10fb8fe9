package publish_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"refrain/publish"
	"refrain/topic"
)

// counted counts how many readers of a topic there are, have been, and were at once.
type counted struct {
	topic.Topic
	open, opened, maxOpen atomic.Int64
}

func (c *counted) Open(ctx context.Context, from []int64) (topic.Reader, error) {
	r, err := c.Topic.Open(ctx, from)
	if err == nil {
		c.opened.Add(1)
		n := c.open.Add(1)
		for seen := c.maxOpen.Load(); n > seen && !c.maxOpen.CompareAndSwap(seen, n); seen = c.maxOpen.Load() {
		}
	}
	return &countedReader{r, c}, err
}

type countedReader struct {
	topic.Reader
	of *counted
}

func (c *countedReader) Close() error {
	c.of.open.Add(-1)
	return c.Reader.Close()
}

// deaf is a client that asks for events and never reads.
func deaf(t *testing.T, url, query string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := fmt.Fprintf(conn, "GET /?%s HTTP/1.1\r\nHost: x\r\n\r\n", query); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // it is served
		t.Fatal(err)
	}
}

// TestStreamsShareAReader: what is read for clients at the end of the topic is read once, however many they are.
func TestStreamsShareAReader(t *testing.T) {
	top := &counted{Topic: newMemory(topic.MemoryConfig{Partitions: 1, Ordered: true, MaxFetch: 256})}
	_, url := serve(t, top)
	var clients []*client
	for range 50 {
		c := connect(t, url)
		if m, err := c.next(); err != nil || m.kind != "position" {
			t.Fatal(m, err)
		}
		clients = append(clients, c)
	}
	appendPosts(t, top, names(0, 500)...)
	for _, c := range clients {
		if got, _ := c.posts(t, 500); got[0] != "p0" || got[499] != "p499" {
			t.Fatalf("got %q to %q", got[0], got[499])
		}
	}
	// Some may have been behind for a moment.
	if n := top.opened.Load(); n > 10 {
		t.Errorf("%d readers for 50 clients of the same events", n)
	}
}

var full = flag.Bool("full", false, "the long versions of the tests")

// TestDeafClientsDoNotHoldReaders: many clients that do not read want all that is retained. Another one gets it beside them,
// and never were more readers open than a few.
func TestDeafClientsDoNotHoldReaders(t *testing.T) {
	top := &counted{Topic: newMemory(topic.MemoryConfig{Partitions: 1, Ordered: true, MaxFetch: 256})}
	long := strings.Repeat("x", 10_000)
	for i := range 200 {
		appendPosts(t, top, fmt.Sprint(i, long)) // 8 MB of events
	}
	clients := 50
	if *full {
		clients = 200
	}
	_, url := serve(t, top)
	for range clients {
		deaf(t, url, "from=start")
	}
	c := connect(t, url+"?from=start")
	c.lines.Buffer(nil, 1<<20)
	if got, _ := c.posts(t, 200); !strings.HasPrefix(got[199], "199x") {
		t.Errorf("the last is %.10q", got[199])
	}
	if readers := top.maxOpen.Load(); readers > 9 { // 8, and that of the hub
		t.Errorf("%d readers at once", readers)
	}
}

// quick is a client that reads as fast as it can. It counts the bytes that it has.
func quick(t *testing.T, url, query string) *atomic.Int64 {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /?%s HTTP/1.1\r\nHost: x\r\n\r\n", query); err != nil {
		t.Fatal(err)
	}
	var got atomic.Int64
	read := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-read })
	go func() {
		defer close(read)
		for b := make([]byte, 64<<10); ; {
			n, err := conn.Read(b)
			if got.Add(int64(n)); err != nil {
				return
			}
		}
	}()
	return &got
}

// TestQuickClientsTakeTurns: as many clients as there are readers, none of which is ever too slow for its own, do not keep
// them from others until they have all that there is.
func TestQuickClientsTakeTurns(t *testing.T) {
	publish.SetReaderTurn(t, 20*time.Millisecond)
	const events, bytes = 1600, 64 << 20
	top := newMemory(topic.MemoryConfig{Partitions: 1, Ordered: true, MaxFetch: 8})
	long := strings.Repeat("x", 10_000)
	for i := range events {
		appendPosts(t, top, fmt.Sprint(i, long))
	}
	_, url := serve(t, top)
	var others []*atomic.Int64
	for range publish.ReadersAtOnce {
		others = append(others, quick(t, url, "from=start"))
	}
	for _, o := range others {
		for o.Load() < 1<<18 { // it has a reader
			time.Sleep(time.Millisecond)
		}
	}
	c := connect(t, url+"?from=start")
	c.lines.Buffer(nil, 1<<20)
	c.posts(t, 1)
	for _, o := range others {
		if n := o.Load(); n > bytes/2 {
			t.Errorf("a client has %d bytes of %d before another has its first event", n, bytes)
		}
	}
}

// TestDeafClientsGiveWay: when what waits for clients is as much as may be, those that do not read are cut off, long
// before their time is up; who reads gets everything.
func TestDeafClientsGiveWay(t *testing.T) {
	top := newMemory(topic.MemoryConfig{Partitions: 1, Ordered: true, MaxFetch: 256})
	_, url := serve(t, top, func(c *publish.EventsConfig) { c.MaxBytes, c.WriteTimeout = 4<<20, time.Hour })
	for range 20 {
		deaf(t, url, "")
	}
	c := connect(t, url)
	c.lines.Buffer(nil, 8<<20)
	if m, err := c.next(); err != nil || m.kind != "position" {
		t.Fatal(m, err)
	}
	long := strings.Repeat("x", 200_000) // more than a connection's buffers, with the others: 800 kB an event
	for i := range 30 {
		appendPosts(t, top, fmt.Sprint(i, long))
		if got, _ := c.posts(t, 1); !strings.HasPrefix(got[0], fmt.Sprint(i, "x")) {
			t.Fatalf("got %.10q, want event %d", got[0], i)
		}
	}
}

// TestCutOffClientsResume: a client that was cut off gets the rest by the position it has.
func TestCutOffClientsResume(t *testing.T) {
	top := newMemory(topic.MemoryConfig{Partitions: 1, Ordered: true, MaxFetch: 256})
	_, url := serve(t, top)
	appendPosts(t, top, names(0, 3000)...)
	first := connect(t, url+"?from=start")
	_, ids := first.posts(t, 1000)
	_, _ = io.CopyN(io.Discard, first.Body, 1)
	first.Body.Close()
	second := connect(t, url, "Last-Event-ID", ids[999])
	if got, _ := second.posts(t, 2000); got[0] != "p1000" || got[1999] != "p2999" {
		t.Errorf("got %q to %q", got[0], got[1999])
	}
}
