package siege

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
)

// follower follows the events and notes those about honest posts, and when they came.
type follower struct {
	tb     testing.TB
	url    string
	mu     sync.Mutex
	ids    map[feed.Hash]bool
	came   []arrival // of the events of honest posts, each once
	others int
	last   string // position
}

// arrival is when the event of a post came that was due at a time.
type arrival struct {
	post    string
	due, at time.Time
}

// delays are from when posts were due until their events were here, and from when they were accepted.
func (f *follower) delays(h *honest) (due, accepted []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.came {
		due = append(due, a.at.Sub(a.due))
		accepted = append(accepted, max(0, a.at.Sub(h.acceptedAt(a.post)))) // its event may be here before the answer
	}
	return due, accepted
}

// run follows until ctx ends, over connections that may break.
func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := f.stream(ctx); err != nil && ctx.Err() == nil {
			f.tb.Logf("follower: %v, and again", err)
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (f *follower) stream(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/v1/events?from=start", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+honestToken)
	if f.last != "" {
		r.Header.Set("Last-Event-ID", f.last)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("events: %s", resp.Status)
	}
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		f.line(in.Bytes())
	}
	return in.Err()
}

func (f *follower) line(line []byte) {
	if id, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
		f.last = string(id)
	}
	data, ok := bytes.CutPrefix(line, []byte("data: "))
	if !ok || !feed.IsReuse(data) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !bytes.Contains(data, []byte(`"source":"`+honestName+`"`)) { // they are many and large: this client is to keep up
		f.others++
		return
	}
	m, err := feed.DecodeEvent(data)
	if err != nil {
		f.tb.Errorf("event: %v", err)
		return
	}
	if m.Later.Source != honestName {
		f.others++
		return
	}
	if !f.ids[m.ID] {
		f.came = append(f.came, arrival{m.Later.Post, m.Later.Time.Time(), time.Now()})
	}
	f.ids[m.ID] = true
}

func (f *follower) counts() (honest, others int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ids), f.others
}

// sample is what the process holds at one moment.
type sample struct {
	at        time.Duration
	anonymous int64 // RssAnon in bytes
	disk      int64
	ready     int // status of /readyz; 0: no answer
}

// watch samples a process until ctx ends.
func watch(ctx context.Context, pid int, url, dir string) (all []sample) {
	begin := time.Now()
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return all
		case <-t.C:
		}
		s := sample{at: time.Since(begin), anonymous: e2e.RSSAnon(pid)}
		if i%25 == 0 {
			s.disk, s.ready = diskUse(dir), status(url+"/readyz")
		} else if len(all) > 0 {
			s.disk, s.ready = all[len(all)-1].disk, all[len(all)-1].ready
		}
		all = append(all, s)
	}
}

func diskUse(dir string) (sum int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0 // the file is gone
	}
	for _, e := range entries {
		if e.IsDir() {
			sum += diskUse(dir + "/" + e.Name())
		} else if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

func status(url string) int {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
