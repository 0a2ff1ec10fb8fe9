package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"refrain/internal/e2e"
)

// desk is a receiver as they are: it verifies what it gets by the official library, and answers.
type desk struct {
	*httptest.Server
	verifier *webhooks.Webhook

	mu      sync.Mutex
	refuse  bool
	forged  int
	got     map[string]int // how often each event came, by its later post
	answers int            // of 2xx
	tests   int
}

const deskSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLwSwAAAAAAAA"

func newDesk(t *testing.T) *desk {
	verifier, err := webhooks.NewWebhook(deskSecret)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{verifier: verifier, got: map[string]int{}}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

// ServeHTTP implements http.Handler.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		err = d.verifier.Verify(body, r.Header)
	}
	var event struct {
		Type string
		Data struct{ Later struct{ Post string } }
	}
	if err != nil || json.Unmarshal(body, &event) != nil {
		d.forged++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if d.refuse {
		http.Error(w, "not today", http.StatusTeapot)
		return
	}
	d.answers++
	if event.Type == "dev.refrain.test.v1" {
		d.tests++
	} else {
		d.got[event.Data.Later.Post]++
	}
	_, _ = io.WriteString(w, "thank you") // a client that is gone has nobody to be told
}

func (d *desk) set(refuse bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuse = refuse
}

// atLeast reports whether the events of posts FROM to TO have come so often.
func (d *desk) atLeast(n, from, to int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := from; i < to; i++ {
		if d.got[fmt.Sprint("again", i)] < n {
			return false
		}
	}
	return true
}

// repeat posts texts twice each: an event for each number.
func repeat(t *testing.T, p *e2e.Process, from, to int) {
	t.Helper()
	var lines [][]byte
	for i := from; i < to; i++ {
		text := strings.Repeat(fmt.Sprintf("word%dx ", i), 3) + fmt.Sprintf("and %dth of all that is said %d times here", i, i)
		lines = append(lines, fmt.Appendf(nil, "{\"id\":\"1st%d\",\"text\":%q}\n{\"id\":\"again%d\",\"text\":%q}\n", i, text, i, text))
	}
	if _, err := p.Post(lines); err != nil {
		t.Fatal(err)
	}
	p.Events() // all of it is through
}

// ask sends a request about the endpoint, and returns the answer.
func ask(t *testing.T, p *e2e.Process, method, path, body string, want int) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.URL("/v1/webhooks/desk"+path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		t.Fatalf("%s %s: %s: %s: %v", method, path, resp.Status, answer, err)
	}
	return string(answer)
}

// TestWebhookByAPI: a receiver is tested, paused over a crash, sent a time again while other events come and through
// another crash, and sent what it had refused; the log shows all of it.
func TestWebhookByAPI(t *testing.T) {
	begun, d := time.Now(), newDesk(t)
	p := e2e.New(t, e2e.WithYAML(t, fmt.Sprintf(`
publish:
  webhooks:
    - {name: desk, url: %q, secrets: [%s], allow_private: true, retries: [200ms, 200ms]}
`, d.URL, deskSecret)))
	p.Start()
	status := func(part string) func() bool {
		return func() bool { _, got := p.Get("/v1/webhooks"); return strings.Contains(got, part) }
	}
	restart := func() { _ = p.Kill(syscall.SIGKILL); p.Start() }
	if got := ask(t, p, "POST", "/test", "", 200); !strings.Contains(got, `"outcome":"delivered","status":200,"body":"thank you"`) {
		t.Errorf("test: %s", got)
	}
	repeat(t, p, 0, 100)
	p.Await(20*time.Second, "the first events", func() bool { return d.atLeast(1, 0, 100) })

	ask(t, p, "POST", "/pause", "", 204)
	repeat(t, p, 100, 200)
	restart()
	repeat(t, p, 200, 300)
	p.Await(10*time.Second, "a pause that outlasts a crash", status(`"state":"paused"`))
	if d.atLeast(1, 100, 101) || d.atLeast(1, 299, 300) {
		t.Error("an event came while the endpoint was paused")
	}
	ask(t, p, "POST", "/resume", "", 204)
	p.Await(20*time.Second, "what came meanwhile", func() bool { return d.atLeast(1, 100, 300) })

	replay := fmt.Sprintf(`{"from":%q}`, begun.Add(-time.Hour).UTC().Format(time.RFC3339))
	ask(t, p, "POST", "/replay", replay, 202)
	repeat(t, p, 300, 400)
	restart()
	repeat(t, p, 400, 500)
	p.Await(30*time.Second, "all that was there twice, and what came meanwhile", func() bool { return d.atLeast(2, 0, 300) && d.atLeast(1, 300, 500) })
	p.Await(10*time.Second, "the end of the replay", func() bool { return !status(`"replay"`)() })

	d.set(true)
	repeat(t, p, 500, 504) // five that fail would be an outage
	p.Await(20*time.Second, "dead letters", status(`"dead":4`))
	if got := ask(t, p, "POST", "/test", "", 200); !strings.Contains(got, `"outcome":"failed","status":418,"error":"418 I'm a teapot","body":"not today\n"`) {
		t.Errorf("test: %s", got)
	}
	d.set(false)
	ask(t, p, "POST", "/replay", `{"deadLetters":true}`, 202)
	p.Await(20*time.Second, "dead letters again", func() bool { return d.atLeast(1, 500, 504) })
	d.holdLog(t, p)
}

// holdLog reads the log by pages, and compares it with what came.
func (d *desk) holdLog(t *testing.T, p *e2e.Process) {
	t.Helper()
	delivered, dead, next := 0, 0, ""
	for {
		var page struct {
			Deliveries []struct{ Outcome string }
			Next       string
		}
		if err := json.Unmarshal([]byte(ask(t, p, "GET", "/deliveries?limit=70&after="+next, "", 200)), &page); err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Deliveries {
			switch a.Outcome {
			case "delivered":
				delivered++
			case "dead":
				dead++
			}
		}
		if next = page.Next; next == "" {
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// A crash leaves out of the log what was answered and not yet written: four requests at most, two times.
	if delivered > d.answers || delivered < d.answers-8 || dead != 4 || d.forged > 0 || d.tests != 1 {
		t.Errorf("the log has %d delivered, %d dead; the receiver %d, %d tests, %d forged", delivered, dead, d.answers, d.tests, d.forged)
	}
}
