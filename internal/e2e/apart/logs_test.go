package apart

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"refrain/internal/config"
	"refrain/internal/e2e"
	"refrain/server"
)

// printed is what `refrain topics print` prints.
func (d *deployment) printed(log string) string {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), "refrain.yaml")
	if err := os.WriteFile(path, []byte(d.yaml), 0o600); err != nil {
		d.t.Fatal(err)
	}
	cfg, err := config.Load(path, []string{"REFRAIN_DATA_DIR=" + d.t.TempDir()})
	if err != nil {
		d.t.Fatal(err)
	}
	var out bytes.Buffer
	if err := server.PrintLog(context.Background(), cfg, log, &out); err != nil {
		d.t.Fatal(err)
	}
	return out.String()
}

// TestDeadLetters: what any process has refused is in one place.
func TestDeadLetters(t *testing.T) {
	onEachBroker(t, 2*time.Second, "", func(d *deployment) {
		for i, p := range d.start("split-1", "split-2", "match-1")[:2] {
			for range 20 {
				if status, answer := do(p, "POST", "/v1/posts", `{"id":"`+string(rune('a'+i))+`"}`); status != http.StatusUnprocessableEntity {
					d.t.Fatal(status, answer)
				}
			}
		}
		got := d.printed("dead-letters")
		if n := strings.Count(got, "\n"); n != 40 || strings.Count(got, `\"id\":\"a\"`) != 20 || strings.Count(got, `\"id\":\"b\"`) != 20 {
			d.t.Errorf("%d lines: %s", n, got)
		}
	})
}

// receiver is an endpoint of webhooks.
type receiver struct {
	*httptest.Server
	status atomic.Int64
	got    atomic.Int64
}

func newReceiver(t *testing.T) *receiver {
	r := new(receiver)
	r.status.Store(http.StatusOK)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if r.status.Load() == http.StatusOK {
			r.got.Add(1)
		}
		w.WriteHeader(int(r.status.Load()))
	}))
	t.Cleanup(r.Close)
	return r
}

// TestWebhooksAnywhere: whichever process is asked, the answer is about the one that delivers; another one that takes its place
// knows what was given up, and what was delivered.
func TestWebhooksAnywhere(t *testing.T) {
	to := newReceiver(t)
	more := `publish: {webhooks: [{name: desk, url: "` + to.URL + `", secrets: [whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=], ` +
		`allow_private: true, retries: [10ms]}]}`
	onEachBroker(t, 2*time.Second, more, func(d *deployment) {
		t := d.t
		to.status.Store(http.StatusOK)
		to.got.Store(0)
		all := d.start("split-1", "match-1", "publish-1", "publish-2")
		split, both := all[0], all[2:]
		runner := d.runnerOf("desk", both)
		other := both[0]
		if other == runner {
			other = both[1]
		}
		for _, p := range both {
			for _, verb := range []string{"pause", "resume"} {
				begin := time.Now()
				if status, answer := do(p, "POST", "/v1/webhooks/desk/"+verb, ""); status != 204 || time.Since(begin) > 5*time.Second {
					t.Errorf("%s: %d %s after %v", verb, status, answer, time.Since(begin))
				}
			}
		}

		post(split, `{"id":"1","text":"`+long+`"}`, `{"id":"2","text":"`+long+`"}`)
		for _, p := range both {
			p.Await(20*time.Second, "delivery in the status", func() bool { s := webhookStatus(p); return s.State == "active" && s.Delivered == 1 })
			p.Await(20*time.Second, "delivery in the log", func() bool { return deliveries(p, "delivered") == 1 })
		}
		to.status.Store(http.StatusBadRequest)
		post(split, `{"id":"3","text":"`+long+`"}`)
		runner.Await(20*time.Second, "dead letter", func() bool { return webhookStatus(runner).Dead == 1 })
		if got := d.printed("dead-events"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "webhook desk") {
			t.Errorf("dead events: %s", got)
		}

		_ = runner.Kill(9)
		status, answer := do(other, "POST", "/v1/webhooks/desk/pause", "")
		if status != 204 && !(status == 503 && strings.Contains(answer, "webhook-away")) {
			t.Errorf("who ran it is dead: %d %s", status, answer)
		}
		other.Await(30*time.Second, "another one that runs it", func() bool { s := webhookStatus(other); return s.State != "unknown" })
		to.status.Store(http.StatusOK)
		before := to.got.Load()
		other.Await(30*time.Second, "replay", func() bool {
			_, _ = do(other, "POST", "/v1/webhooks/desk/resume", "")
			status, _ := do(other, "POST", "/v1/webhooks/desk/replay", `{"deadLetters":true}`)
			return status == 202
		})
		other.Await(30*time.Second, "dead letter sent again", func() bool { return to.got.Load() > before })
		other.Await(30*time.Second, "log of both", func() bool { return deliveries(other, "dead") >= 1 && deliveries(other, "delivered") >= 2 })
	})
}

type webhookState struct {
	Name, State     string
	Delivered, Dead int
}

func webhookStatus(p *e2e.Process) webhookState {
	p.TB.Helper()
	status, answer := do(p, "GET", "/v1/webhooks", "")
	var all struct{ Webhooks []webhookState }
	if err := json.Unmarshal([]byte(answer), &all); err != nil || status != 200 || len(all.Webhooks) != 1 {
		p.TB.Fatalf("%d %s", status, answer)
	}
	return all.Webhooks[0]
}

func deliveries(p *e2e.Process, outcome string) int {
	p.TB.Helper()
	status, answer := do(p, "GET", "/v1/webhooks/desk/deliveries?limit=1000&outcome="+outcome, "")
	if status != 200 {
		p.TB.Fatalf("%d %s", status, answer)
	}
	return strings.Count(answer, `"outcome"`)
}

// runnerOf is the process that runs a webhook.
func (d *deployment) runnerOf(name string, all []*e2e.Process) (runner *e2e.Process) {
	d.t.Helper()
	all[0].Await(time.Minute, "process that runs "+name, func() bool {
		i := slices.IndexFunc(all, func(p *e2e.Process) bool {
			return strings.Contains(p.Log.String(), `"this process runs","role":"publish","name":"`+name)
		})
		if i >= 0 {
			runner = all[i]
		}
		return i >= 0 && webhookStatus(all[0]).State == "active" && webhookStatus(all[1]).State == "active"
	})
	for _, p := range all { // where it was dealt out twice the last one counts
		if log := p.Log.String(); strings.LastIndex(log, "this process runs") > strings.LastIndex(log, "another process runs") {
			runner = p
		}
	}
	return runner
}
