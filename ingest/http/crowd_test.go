package http_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	httpsource "refrain/ingest/http"
)

// TestAnswersShareTheirBytes: uploads with everything in their answers hold no more than UploadBytes; what is left out is
// counted, and everything is accepted.
func TestAnswersShareTheirBytes(t *testing.T) {
	const lines, uploads = 20_000, 6
	var body bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&body, `{"id":"%s%d","text":"x"}`+"\n", strings.Repeat("a", 300), i)
	}
	s := mustServe(t, with(func(c *httpsource.Config) { c.UploadBytes = 24 << 20 }), durable)
	var wg sync.WaitGroup
	for range uploads {
		wg.Go(func() {
			resp, err := http.Post(s.url+"?results=all", "application/x-ndjson", bytes.NewReader(body.Bytes()))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var a struct {
				Accepted, Omitted int
				Results           []json.RawMessage
			}
			if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || a.Accepted != lines || len(a.Results)+a.Omitted != lines {
				t.Errorf("status %d: accepted %d, %d listed, %d omitted: %v", resp.StatusCode, a.Accepted, len(a.Results),
					a.Omitted, err)
			}
			if n := len(a.Results); n == 0 || n > 6<<20/(200+7*300)+100 {
				t.Errorf("%d lines listed: none, or more than there is room for", n)
			}
		})
	}
	wg.Wait()
}

// TestSlowUploadsGiveWay: uploads that send next to nothing hold all slots, until another comes.
func TestSlowUploadsGiveWay(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) {
		c.MaxUploads, c.ReadTimeout, c.Patience = 4, time.Hour, 20*time.Second
	}), durable)
	address, _, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), "/")
	for range 4 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/posts HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{\"id\":")
	}
	statuses := make(chan int)
	send := func() {
		resp, err := http.Post(s.url, "application/json", strings.NewReader(`{"id":"1","text":"x"}`))
		if err != nil {
			t.Error(err)
			statuses <- 0
			return
		}
		resp.Body.Close()
		statuses <- resp.StatusCode
	}
	// Who comes before the slow ones are known to be slow waits; who comes later gets the slot of one.
	for range 3 {
		go send()
	}
	for range 3 {
		if status := <-statuses; status != 200 {
			t.Errorf("status %d", status)
		}
	}
}

// TestNoPlace: as many uploads as there may be, none of them slow: the next is told so.
func TestNoPlace(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) { c.MaxUploads, c.Patience = 1, time.Millisecond }), durable)
	address, _, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), "/")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /v1/posts HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n")
	if _, err := c.Read(make([]byte, 1)); err != nil { // the body is asked for: it has a slot
		t.Fatal(err)
	}
	resp, err := http.Post(s.url, "application/json", strings.NewReader(`{"id":"1","text":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var p struct{ Type string }
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != 429 ||
		!strings.Contains(p.Type, "limits.uploads") || resp.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, type %q, %v: %v", resp.StatusCode, p.Type, resp.Header, err)
	}
}

// TestOneSenderLeavesSlots: however many uploads one sender begins, and stops in their middle, another gets in.
func TestOneSenderLeavesSlots(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) {
		c.MaxUploads, c.Patience = 8, time.Millisecond
		c.Sender = func(r *http.Request) string { return r.Header.Get("X-Sender") }
	}), durable)
	address, _, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), "/")
	statuses := map[int]int{}
	for range 8 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /v1/posts HTTP/1.1\r\nHost: x\r\nX-Sender: a\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		statuses[resp.StatusCode]++ // 100: the body is asked for, it has a slot
		if after := resp.Header.Get("Retry-After"); resp.StatusCode == 429 && after == "" {
			t.Error("429 without Retry-After")
		}
	}
	if statuses[100] != 6 || statuses[429] != 2 {
		t.Errorf("statuses %v, want 6 of the 8 slots for one sender, and 429 for the others", statuses)
	}
	for _, sender := range []string{"b", "c"} {
		r, _ := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader(`{"id":"1","text":"x"}`))
		r.Header.Set("X-Sender", sender)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s: status %d", sender, resp.StatusCode)
		}
	}
}

// TestLargePostsFindRoom: posts as large as they may be go through one after the other, also where several send them.
func TestLargePostsFindRoom(t *testing.T) {
	s := mustServe(t, with(func(c *httpsource.Config) { c.UploadBytes, c.Patience = 24<<20, 20*time.Second }), durable)
	body := fmt.Sprintf(`{"id":"1","text":"%s"}`, strings.Repeat(`\u0041`, 1<<20-1)) // 6 MiB
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			resp, err := http.Post(s.url, "application/json", strings.NewReader(body+"\n"+body+"\n"))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var a struct{ Accepted int }
			if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || a.Accepted != 2 {
				t.Errorf("status %d, %d accepted: %v", resp.StatusCode, a.Accepted, err)
			}
		})
	}
	wg.Wait()
}
