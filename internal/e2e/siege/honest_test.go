package siege

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"
	"unicode"

	"refrain/internal/dataset"
	"refrain/internal/oracle"
)

// The honest client sends so many posts in each request, so often: 500 a second.
const (
	honestBatch = 50
	honestEvery = 100 * time.Millisecond
)

const (
	honestName = "honest"
	honestPost = "h-%08d"
)

// honest sends real posts at a steady rate, each batch again from the first line that was not accepted.
type honest struct {
	tb     testing.TB
	posts  *realPosts
	client http.Client
	url    string
	sent   *os.File        // all posts, as detect reads them
	delays []time.Duration // of the batches, from when they were due until all of them was accepted
	times  []time.Time     // when they were
	tries  map[int]int     // answers, by status; 0: none came
}

// run sends until end. A request is due at its tick, whether or not the one before it has been answered by then: a
// server that stops for a second is late for ten of them.
func (h *honest) run(begin, end time.Time) int {
	n := 0
	for due := begin; due.Before(end); due = due.Add(honestEvery) {
		time.Sleep(time.Until(due)) // the rate of a client is what is tested here
		lines := h.posts.next(honestBatch, due)
		for _, line := range lines {
			if _, err := h.sent.Write(line); err != nil {
				h.tb.Error(err)
			}
		}
		n += len(lines)
		h.send(lines, end.Add(5*time.Minute))
		h.delays, h.times = append(h.delays, time.Since(due)), append(h.times, time.Now())
	}
	return n
}

// acceptedAt is when the batch of a post was accepted.
func (h *honest) acceptedAt(post string) time.Time {
	var n int
	if _, err := fmt.Sscanf(post, honestPost, &n); err != nil {
		h.tb.Errorf("event of post %q, which nobody sent: %v", post, err)
		return time.Now()
	}
	return h.times[(n-1)/honestBatch]
}

// send tries until all lines are accepted, and waits as long as it is told to between the tries.
func (h *honest) send(lines [][]byte, limit time.Time) {
	for len(lines) > 0 {
		accepted, wait := h.try(lines)
		lines = lines[accepted:]
		if len(lines) == 0 {
			return
		}
		if time.Now().After(limit) {
			h.tb.Errorf("%d honest posts are not accepted at the end", len(lines))
			return
		}
		time.Sleep(wait)
	}
}

// try returns how many of the first lines were accepted, and how long to wait before the next try.
func (h *honest) try(lines [][]byte) (int, time.Duration) {
	r, err := http.NewRequest(http.MethodPost, h.url+"/v1/posts", bytes.NewReader(bytes.Join(lines, nil)))
	if err != nil {
		h.tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+honestToken)
	r.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := h.client.Do(r)
	if err != nil {
		h.tries[0]++
		return 0, 100 * time.Millisecond
	}
	defer resp.Body.Close()
	h.tries[resp.StatusCode]++
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, 100 * time.Millisecond
	}
	return acceptedLines(body), retryAfter(resp)
}

// acceptedLines is how many of the first lines an answer calls accepted, be it a result or a problem.
func acceptedLines(body []byte) int {
	var a struct {
		Results []struct{ Status string }
	}
	if json.Unmarshal(body, &a) != nil {
		return 0
	}
	for i, r := range a.Results {
		if r.Status != "accepted" {
			return i
		}
	}
	return len(a.Results)
}

func retryAfter(resp *http.Response) time.Duration {
	if s, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); err == nil {
		return s
	}
	return 100 * time.Millisecond
}

// realPosts are those of a file, again and again: in each pass with every letter exchanged for another, so that texts
// repeat within a pass as they do in the file, and not those of another pass.
type realPosts struct {
	tb   testing.TB
	in   *bufio.Reader
	pass rune
	n    int
}

func newRealPosts(tb testing.TB) *realPosts {
	p := &realPosts{tb: tb}
	p.open()
	return p
}

func (p *realPosts) open() {
	p.tb.Helper()
	file, err := oracle.Open(dataset.File(p.tb, "stream/ira_2012-02_2016-08.jsonl.zst"))
	if err != nil {
		p.tb.Fatal(err)
	}
	p.tb.Cleanup(func() { _ = file.Close() })
	p.in = bufio.NewReaderSize(file, 1<<20)
}

// next returns posts of the present, one a line.
func (p *realPosts) next(n int, now time.Time) (lines [][]byte) {
	for range n {
		line, err := p.in.ReadBytes('\n')
		if err == io.EOF {
			p.pass++
			p.open()
			line, err = p.in.ReadBytes('\n')
		}
		if err != nil {
			p.tb.Fatal(err)
		}
		lines = append(lines, p.renew(line, now))
	}
	return lines
}

func (p *realPosts) renew(line []byte, now time.Time) []byte {
	var post struct {
		ID     string `json:"id"`
		Source string `json:"source"`
		Author string `json:"author"`
		Time   int64  `json:"created_at"`
		Lang   string `json:"lang"`
		Text   string `json:"text"`
	}
	var is struct{ Author, Lang, Text string }
	if err := json.Unmarshal(line, &is); err != nil {
		p.tb.Fatal(err)
	}
	p.n++
	post.ID, post.Source, post.Time = fmt.Sprintf(honestPost, p.n), honestName, now.UnixMilli()
	post.Author, post.Lang, post.Text = is.Author, is.Lang, p.shift(is.Text)
	out, err := json.Marshal(post)
	if err != nil {
		p.tb.Fatal(err)
	}
	return append(out, '\n')
}

// shift exchanges letters of the two alphabets that nearly all posts are in.
func (p *realPosts) shift(text string) string {
	out := []rune(text)
	for i, r := range out {
		for _, alphabet := range [][2]rune{{'a', 'z'}, {'A', 'Z'}, {'а', 'я'}, {'А', 'Я'}} {
			if r >= alphabet[0] && r <= alphabet[1] && unicode.IsLetter(r) {
				out[i] = alphabet[0] + (r-alphabet[0]+p.pass)%(alphabet[1]-alphabet[0]+1)
			}
		}
	}
	return string(out)
}
