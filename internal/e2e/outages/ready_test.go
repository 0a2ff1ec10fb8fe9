package outages

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"refrain/internal/devservers"
)

// TestNotReadyWithoutPartitions: a worker that has not been dealt its partitions is not ready, though nothing that it has
// lags. Who upgrades one worker after the other would stop the next one too soon.
func TestNotReadyWithoutPartitions(t *testing.T) {
	d := newDeployment(t, oneKafka(t), devservers.StartRedis(t).Addr(), "")
	d.add("match-1", "match")
	d.awaitReady()
	second := d.add("match-1", "match") // is told to wait, since its name is taken
	answer := second.firstReadiness()
	if !strings.Contains(answer, "catching_up") {
		t.Errorf("/readyz answers %q, want that it has no partitions yet", answer)
	}
}

// firstReadiness is what a process answers first about its readiness once it has started.
func (p *process) firstReadiness() (answer string) {
	p.TB.Helper()
	p.Await(30*time.Second, "answer to /readyz", func() bool {
		resp, err := http.Get(p.URL("/readyz"))
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		answer = string(body)
		return err == nil && !strings.Contains(answer, `"starting"`)
	})
	return answer
}
