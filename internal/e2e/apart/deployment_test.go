// Package apart asks processes that share topics, each with a role of its own, what one process with all roles is asked: any of
// them answers, or says who does.
package apart

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"refrain/internal/devservers"
	"refrain/internal/e2e"
)

// deployment is several processes that share topics.
type deployment struct {
	t    *testing.T
	name string
	yaml string
}

// onEachBroker runs a test on topics of Kafka and of NATS. session is after when a process counts as gone.
func onEachBroker(t *testing.T, session time.Duration, more string, test func(d *deployment)) {
	brokers := map[string]func(*testing.T) string{
		"kafka": func(t *testing.T) string { return e2e.KafkaTopics(devservers.Kafka(t)) },
		"nats":  func(t *testing.T) string { return e2e.NATSTopics(devservers.NATS(t)) },
	}
	for _, kind := range []string{"kafka", "nats"} {
		t.Run(kind, func(t *testing.T) { test(newDeployment(t, brokers[kind](t), session, more)) })
	}
}

func newDeployment(t *testing.T, broker string, session time.Duration, more string) *deployment {
	d := &deployment{t: t, name: devservers.Name(t)}
	d.yaml = fmt.Sprintf(`
topics: {name: %[1]s, partitions: 4, %[2]s}
cluster: {handover_grace: 0s, session: %[3]v}
canary: {every: 0s}
lookup: {store: redis, redis: {url: "redis://%[4]s/0", prefix: "%[1]s:"}}
%[5]s
`, d.name, broker, session, devservers.Redis(t), more)
	return d
}

// launch starts a process, named after its roles and a number, and does not wait until it is ready.
func (d *deployment) launch(worker string, settings ...string) *e2e.Process {
	d.t.Helper()
	roles := strings.ReplaceAll(strings.TrimRight(worker, "-0123456789"), "+", ",")
	worker = strings.ReplaceAll(worker, "+", "_")
	p := e2e.NewWorker(d.t, d.yaml, worker, roles, settings...)
	p.Launch()
	return p
}

// start starts processes, and returns when all are ready.
func (d *deployment) start(workers ...string) (all []*e2e.Process) {
	d.t.Helper()
	for _, w := range workers {
		all = append(all, d.launch(w))
	}
	for _, p := range all {
		p.AwaitReady(time.Minute)
	}
	return all
}

// startFour starts a split, an api and two workers. The workers begin one after the other: two that begin at once, where there has
// never been one, may both take a partition, and need some seconds until everybody knows who keeps it.
func (d *deployment) startFour() (split, api, one, two *e2e.Process) {
	d.t.Helper()
	first := d.start("split-1", "api-1", "match-1")
	split, api, one = first[0], first[1], first[2]
	api.Await(time.Minute, "whole answer", func() bool { return !strings.Contains(matches(d.t, api.URL("")), "partial") })
	two = d.start("match-2")[0]
	d.awaitSettled(split, api, one, two)
	return split, api, one, two
}

// awaitSettled waits until two workers have two of the four partitions each, and everybody knows of it.
func (d *deployment) awaitSettled(split, api *e2e.Process, workers ...*e2e.Process) {
	d.t.Helper()
	api.Await(time.Minute, "two partitions each", func() bool {
		for _, p := range workers {
			if lastAssigned(p) != 2 {
				return false
			}
		}
		return true
	})
	split.Await(time.Minute, "word of all", func() bool { status, _ := do(split, "DELETE", "/v1/posts/none", ""); return status == 204 })
	api.Await(time.Minute, "whole answer", func() bool { return !strings.Contains(matches(d.t, api.URL("")), "partial") })
}

var assignedLine = regexp.MustCompile(`"partitions assigned","partitions":(\[[0-9,]*\]|null)`)

// lastAssigned is how many partitions a process was given last.
func lastAssigned(p *e2e.Process) int {
	all := assignedLine.FindAllStringSubmatch(p.Log.String(), -1)
	if len(all) == 0 || all[len(all)-1][1] == "null" {
		return 0
	}
	return strings.Count(all[len(all)-1][1], ",") + 1
}

// post sends lines, and wants all of them accepted.
func post(p *e2e.Process, lines ...string) {
	p.TB.Helper()
	var all [][]byte
	for _, l := range lines {
		all = append(all, []byte(l+"\n"))
	}
	if a, err := p.Post(all); err != nil || a.Accepted != len(lines) {
		p.TB.Fatalf("%+v, %v", a, err)
	}
}

// do sends a request, and returns what is answered.
func do(p *e2e.Process, method, path, body string) (status int, answer string) {
	p.TB.Helper()
	r, err := http.NewRequestWithContext(p.TB.Context(), method, p.URL(path), strings.NewReader(body))
	if err != nil {
		p.TB.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Timeout: 30 * time.Second}).Do(r)
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

// pause stops a process where it is, resume lets it go on.
func pause(p *e2e.Process)  { must(p, p.Pause()) }
func resume(p *e2e.Process) { must(p, p.Resume()) }

func must(p *e2e.Process, err error) {
	p.TB.Helper()
	if err != nil {
		p.TB.Fatal(err)
	}
}
