package siege

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// attacker does harm by one attack after the other.
type attacker struct {
	tb      testing.TB
	address string
	client  http.Client
	rand    *rand.Rand
	n       int                    // names what it makes
	answers map[string]map[int]int // by attack, how often which status; 0: none
	attack  string                 // under way

	attempts []attempt // so far
}

func newAttacker(tb testing.TB, address string, seed uint64) *attacker {
	return &attacker{
		tb: tb, address: address, client: http.Client{Timeout: time.Minute, Transport: &http.Transport{}},
		rand: rand.New(rand.NewPCG(seed, seed)), n: int(seed) << 40, answers: map[string]map[int]int{},
	}
}

// run attacks until ctx ends.
func (a *attacker) run(ctx context.Context) {
	for ctx.Err() == nil {
		x := attacks[a.rand.IntN(len(attacks))]
		a.attack = x.name
		if a.answers[a.attack] == nil {
			a.answers[a.attack] = map[int]int{}
		}
		begin := time.Now()
		x.do(a, ctx)
		a.attempts = append(a.attempts, attempt{x.name, begin, time.Now()})
	}
}

// word is one that no other attacker and no real post has.
func (a *attacker) word() string {
	a.n++
	return fmt.Sprintf("zq%x", a.n)
}

func (a *attacker) words(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = a.word()
	}
	return strings.Join(all, " ")
}

// post is what an attacker may say in a post.
type post struct {
	ID     string `json:"id"`
	Source string `json:"source,omitempty"`
	Author string `json:"author,omitempty"`
	Time   any    `json:"created_at,omitempty"`
	Text   string `json:"text"`
}

// send posts some, compressed, and reads the answer.
func (a *attacker) send(ctx context.Context, posts ...post) {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, p := range posts {
		if p.ID == "" {
			p.ID = a.word()
		}
		if err := encoder.Encode(p); err != nil {
			a.tb.Error(err)
		}
	}
	if err := w.Close(); err != nil {
		a.tb.Error(err)
	}
	a.request(ctx, http.MethodPost, "/v1/posts", &body, "Content-Type", "application/x-ndjson", "Content-Encoding", "gzip")
}

// request makes a request, with pairs of header names and values, and reads the whole answer.
func (a *attacker) request(ctx context.Context, method, path string, body io.Reader, header ...string) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+a.address+path, body)
	if err != nil {
		a.tb.Errorf("%s: %v", a.attack, err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+malloryToken)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := a.client.Do(r)
	if err != nil {
		a.answers[a.attack][0]++
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // it may break off
	a.answers[a.attack][resp.StatusCode]++
}

// open opens a connection and sends the begin of a request on it, which is never ended; nil: it was refused.
func (a *attacker) open(begin string) net.Conn {
	c, err := net.DialTimeout("tcp", a.address, 5*time.Second)
	if err != nil {
		a.answers[a.attack][0]++
		return nil
	}
	_ = c.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(c, begin) // the server may have closed it
	return c
}

// hold keeps connections open without reading for a while.
func (a *attacker) hold(ctx context.Context, d time.Duration, connections []net.Conn) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
	for _, c := range connections {
		if c != nil {
			_ = c.Close()
		}
	}
}

func (a *attacker) head(method, path string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: " + a.address + "\r\nAuthorization: Bearer " + malloryToken + "\r\n"
}
