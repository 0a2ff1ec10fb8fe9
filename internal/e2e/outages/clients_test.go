package outages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clientBatch is how many posts a client sends at once.
const clientBatch = 50

// clients send posts over HTTP when they are due, each batch again and again until all of it is accepted, as they are told to.
type clients struct {
	http    http.Client
	urls    []string
	turn    atomic.Int64
	answers answers
}

func newClients(splits []*process, n int) *clients {
	c := &clients{http: http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: n}}}
	for _, p := range splits {
		c.urls = append(c.urls, p.URL("/v1/posts"))
	}
	return c
}

// send has n clients send posts, in their order as far as they are at once, until ctx ends: what was begun is delivered even so.
// While all clients are busy the posts wait where they come from. It returns how many were sent.
func (c *clients) send(ctx context.Context, n int, posts []post) (sent int) {
	batches := make(chan []post)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for batch := range batches {
				c.deliver(batch)
			}
		})
	}
	for batch := range slices.Chunk(posts, clientBatch) {
		if sleepUntil(ctx, batch[len(batch)-1].due); ctx.Err() != nil {
			break
		}
		batches <- batch
		sent += len(batch)
	}
	close(batches)
	all.Wait()
	return sent
}

// begin sends beside the test until stop is called, which returns how many posts were sent.
func (c *clients) begin(t *testing.T, posts []post) (stop func() (sent int)) {
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan int, 1)
	go func() { sent <- c.send(ctx, manyClients, posts) }()
	return func() int {
		cancel()
		return <-sent
	}
}

func sleepUntil(ctx context.Context, at time.Time) {
	wait := time.NewTimer(time.Until(at))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// maxDelivery is after how long a client gives up: the comparison with detect will say so.
const maxDelivery = 15 * time.Minute

// deliver sends a batch until it is accepted.
func (c *clients) deliver(batch []post) {
	ctx, cancel := context.WithTimeout(context.Background(), maxDelivery)
	defer cancel()
	body := joined(batch)
	for ctx.Err() == nil {
		pause, done := c.try(ctx, body, len(batch))
		if done {
			return
		}
		sleepUntil(ctx, time.Now().Add(pause))
	}
}

// maxPause is how long a client waits at most though it is told to wait longer.
const maxPause = 5 * time.Second

func (c *clients) try(ctx context.Context, body []byte, n int) (pause time.Duration, done bool) {
	url := c.urls[int(c.turn.Add(1))%len(c.urls)]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, true // of a URL of ours
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	begin := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		c.answers.add("no answer", time.Since(begin), "")
		return 100 * time.Millisecond, false
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return 100 * time.Millisecond, false
	}
	c.answers.add(strconv.Itoa(resp.StatusCode), time.Since(begin), resp.Header.Get("Retry-After"))
	if resp.StatusCode == http.StatusOK {
		return 0, bytes.Contains(answer, fmt.Appendf(nil, `"accepted":%d,`, n))
	}
	after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	return max(100*time.Millisecond, min(time.Duration(after)*time.Second, maxPause)), false
}

// answers counts what clients were answered.
type answers struct {
	mu      sync.Mutex
	count   map[string]int
	longest map[string]time.Duration
	hasty   int // refusals without Retry-After
}

func (a *answers) add(status string, took time.Duration, retryAfter string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count, a.longest = map[string]int{}, map[string]time.Duration{}
	}
	a.count[status]++
	a.longest[status] = max(a.longest[status], took)
	if (status == "429" || status == "503") && retryAfter == "" {
		a.hasty++
	}
}

func (a *answers) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, status := range slices.Sorted(maps.Keys(a.count)) {
		all = append(all, fmt.Sprintf("%s: %d (after %v at most)", status, a.count[status], a.longest[status].Round(time.Millisecond)))
	}
	return strings.Join(all, ", ")
}

// check wants nothing but answers that a client can go by.
func (a *answers) check() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for status := range a.count {
		if !slices.Contains([]string{"200", "429", "503", "no answer"}, status) {
			errs = append(errs, fmt.Errorf("%d answers %s", a.count[status], status))
		}
	}
	if a.hasty > 0 {
		errs = append(errs, fmt.Errorf("%d refusals without Retry-After", a.hasty))
	}
	return errors.Join(errs...)
}
