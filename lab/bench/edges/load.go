package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"
)

// load fills a window that lets nothing go, and then asks at a fixed rate, whether answers come or not: a request's
// time counts from when it was due.
func (b *bench) load(ctx context.Context) error {
	s, err := b.start(ctx, "load", fmt.Sprintf("window: {span: 87600h}\nlookup: {store: redis, redis: {url: "+
		"\"redis://%s/0\", prefix: %q}}\n",
		b.redis, b.scratch+"load:"))
	if err != nil {
		return err
	}
	defer s.end()
	held, err := b.fill(ctx, s)
	if err != nil {
		return err
	}
	posts, err := decode(b.lines)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	pick := func() post { return posts[rand.IntN(len(posts))] }
	for _, what := range []struct {
		name    string
		request func() (*http.Request, error)
	}{
		{"GET /v1/posts/{id}/reuse", func() (*http.Request, error) {
			return http.NewRequestWithContext(ctx, http.MethodGet, s.url("/v1/posts/"+url.PathEscape(pick().ID)+"/reuse"), nil)
		}},
		{"POST /v1/match", func() (*http.Request, error) {
			body, err := json.Marshal(map[string]string{"text": pick().Text})
			if err != nil {
				return nil, err
			}
			return http.NewRequestWithContext(ctx, http.MethodPost, s.url("/v1/match"), bytes.NewReader(body))
		}},
	} {
		times, err := b.request(ctx, client, what.request)
		if err != nil {
			return fmt.Errorf("%s: %w", what.name, err)
		}
		row(fmt.Sprintf("%s at %d/s, %.0f sentences in the window", what.name, b.rate, held), "p50 %v, p99 %v, greatest %v of %d",
			quantile(times, 0.5), quantile(times, 0.99), times[len(times)-1].Round(10*time.Microsecond), len(times))
	}
	return nil
}

// fill posts the input until the window holds enough sentences.
func (b *bench) fill(ctx context.Context, s *service) (held float64, err error) {
	in, err := os.Open(b.input)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<20)
	for held < float64(b.sentences) {
		lines, err := readLines(r, 20_000)
		if err != nil {
			return 0, err
		}
		if len(lines) == 0 {
			return 0, fmt.Errorf("%s fills the window with %.0f sentences only", b.input, held)
		}
		if err := s.post(ctx, lines, 1000); err != nil {
			return 0, err
		}
		if _, err := s.events(ctx); err != nil {
			return 0, err
		}
		if held, _, err = s.metric("refrain_sigstore_occurrences"); err != nil {
			return 0, err
		}
	}
	_, err = s.awaitMetric(ctx, "refrain_publish_lag", func(v float64) bool { return v == 0 })
	return held, err
}

type post struct{ ID, Text string }

func decode(lines [][]byte) ([]post, error) {
	posts := make([]post, len(lines))
	for i := range lines {
		if err := json.Unmarshal(lines[i], &posts[i]); err != nil {
			return nil, err
		}
	}
	return posts, nil
}

// request makes requests at the rate, and returns how long each took, sorted.
func (b *bench) request(ctx context.Context, client *http.Client,
	request func() (*http.Request, error)) ([]time.Duration, error) {
	n := int(b.lasting.Seconds() * float64(b.rate))
	times, errs := make([]time.Duration, n), make([]error, n)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range n {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(b.rate))
		time.Sleep(time.Until(due))
		r, err := request()
		if err != nil {
			return nil, err
		}
		all.Go(func() {
			errs[i] = finish(client, r)
			times[i] = time.Since(due)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(times)
	return times, ctx.Err()
}

func finish(client *http.Client, r *http.Request) error {
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(10 * time.Microsecond)
}
