package apart

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
)

// TestRetryElsewhere: a post without a time whose answer is lost is sent again to another split, and stays one post; what came
// between is no witness for it.
func TestRetryElsewhere(t *testing.T) {
	onEachBroker(t, 2*time.Second, "", func(d *deployment) {
		all := d.start("split-1", "split-2", "match-1", "match-2", "api-1")
		one, two, api := all[0], all[1], all[4]
		first := `{"id":"first","text":"` + long + `"}`
		post(one, first)
		post(two, `{"id":"second","text":"`+long+` again"}`)
		post(two, first)
		post(one, first)
		post(one, `{"id":"third","text":"`+long+`"}`)
		var pairs []string
		seen := map[feed.Hash]bool{}
		for _, m := range api.Matches() {
			if seen[m.ID] { // delivered at least once
				continue
			}
			seen[m.ID] = true
			pairs = append(pairs, m.Later.Post+" "+m.Earlier.Post+" "+m.Later.Text)
		}
		want := []string{"second first " + long + " again", "third first " + long, "third second " + long}
		if len(pairs) != len(want) {
			d.t.Fatalf("events %q, want %q", pairs, want)
		}
		for _, w := range want {
			if strings.Count(strings.Join(pairs, "\n")+"\n", w+"\n") != 1 {
				d.t.Errorf("events %q, want %q", pairs, want)
			}
		}
	})
}

// TestResumeElsewhere: a client of one api goes on at another.
func TestResumeElsewhere(t *testing.T) {
	onEachBroker(t, 2*time.Second, "", func(d *deployment) {
		all := d.start("split-1", "match-1", "api-1", "api-2")
		split, one, two := all[0], all[2], all[3]
		post(split, `{"id":"1","text":"`+long+`"}`, `{"id":"2","text":"`+long+`"}`)
		last, subjects := stream(one, "/v1/events?from=start&until=now", "")
		if subjects != "2" || last == "" {
			d.t.Fatalf("first: %q at %q", subjects, last)
		}
		post(split, `{"id":"3","text":"`+long+`"}`)
		if _, subjects := stream(two, "/v1/events?until=now", last); subjects != "3" {
			d.t.Errorf("resumed elsewhere: %q", subjects)
		}
	})
}

// stream reads a stream to its end: the last id, and whom the events are about.
func stream(p *e2e.Process, path, resume string) (last, subjects string) {
	p.TB.Helper()
	ctx, cancel := context.WithTimeout(p.TB.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL(path), nil)
	if err != nil {
		p.TB.Fatal(err)
	}
	if resume != "" {
		r.Header.Set("Last-Event-ID", resume)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.TB.Fatal(err)
	}
	defer resp.Body.Close()
	for in := bufio.NewScanner(resp.Body); in.Scan(); {
		if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
			last = id
		}
		if _, rest, ok := strings.Cut(in.Text(), `"subject":"`); ok {
			subject, _, _ := strings.Cut(rest, `"`)
			subjects += subject
		}
	}
	return last, subjects
}
