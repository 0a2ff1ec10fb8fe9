package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"refrain/feed"
	"refrain/internal/oracle"
)

// Posted is the answer to POST /v1/posts.
type Posted struct {
	Accepted, Rejected int
	Results            []struct {
		Line               int
		ID, Status, Reason string
	}
}

// Post sends lines of posts in one request.
func (p *Process) Post(lines [][]byte) (Posted, error) {
	return p.PostBy(context.Background(), http.DefaultClient, lines)
}

// PostBy is Post by another client than the usual one.
func (p *Process) PostBy(ctx context.Context, client *http.Client, lines [][]byte) (Posted, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL("/v1/posts"), bytes.NewReader(bytes.Join(lines, nil)))
	if err != nil {
		return Posted{}, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := client.Do(req)
	if err != nil {
		return Posted{}, err
	}
	defer resp.Body.Close()
	return DecodePosted(resp)
}

// DecodePosted reads such an answer.
func DecodePosted(resp *http.Response) (a Posted, err error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	if resp.StatusCode != http.StatusOK {
		return a, fmt.Errorf("%s: %s", resp.Status, body)
	}
	return a, json.Unmarshal(body, &a)
}

// Feed sends posts in order, each batch again until it is acknowledged, while the server may come and go.
func (p *Process) Feed(lines [][]byte, batch int, progress func(sent int)) {
	p.TB.Helper()
	sent := 0
	for some := range slices.Chunk(lines, batch) {
		p.Await(time.Minute, "answer to a batch", func() bool {
			a, err := p.Post(some)
			return err == nil && a.Accepted+a.Rejected == len(some)
		})
		sent += len(some)
		progress(sent)
	}
}

// Events are the ids of all events once everything accepted is through the route.
func (p *Process) Events() []feed.Hash {
	p.TB.Helper()
	var ids []feed.Hash
	for _, m := range p.Matches() {
		ids = append(ids, m.ID)
	}
	return oracle.Sorted(ids)
}

// Matches are the events themselves, in the order of the topic.
func (p *Process) Matches() []feed.Match {
	p.TB.Helper()
	all, err := p.TryMatches()
	if err != nil {
		p.TB.Fatal(err)
	}
	return all
}

// TryMatches is Matches of a server that may not know yet how far the others are.
func (p *Process) TryMatches() (all []feed.Match, err error) {
	resp, err := http.Get(p.URL("/v1/events?from=start&until=now"))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body) // or it says no more
		return nil, fmt.Errorf("%s: %s", resp.Status, body)
	}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		if !ok || !strings.Contains(data, feed.ReuseType) {
			continue
		}
		m, err := feed.DecodeEvent([]byte(data))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, in.Err()
}

// Get is the whole answer to a request for a path.
func (p *Process) Get(path string) (status int, body string) {
	p.TB.Helper()
	resp, err := http.Get(p.URL(path))
	if err != nil {
		p.TB.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		p.TB.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// Retractions are the events that say that a post was deleted.
func (p *Process) Retractions() int {
	p.TB.Helper()
	_, events := p.Get("/v1/events?from=start&until=now")
	return strings.Count(events, "event: dev.refrain.retracted.v1")
}

// Delete deletes posts.
func (p *Process) Delete(ids ...string) {
	p.TB.Helper()
	for _, id := range ids {
		if err := p.TryDelete("/v1/posts/" + id); err != nil {
			p.TB.Fatal(err)
		}
	}
}

// TryDelete deletes what is at a path.
func (p *Process) TryDelete(path string) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, p.URL(path), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("DELETE %.40s: %s", path, resp.Status)
	}
	return nil
}
