package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"refrain/internal/oracle"
	"refrain/models"
)

// modelStatus is what the API tells of the models.
func (p *process) modelStatus() (s models.Status) {
	p.tb.Helper()
	resp, err := http.Get(p.url("/v1/models"))
	if err != nil {
		p.tb.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		p.tb.Fatal(err)
	}
	return s
}

// askModels asks for something and returns the status of the answer.
func (p *process) askModels(what string) int {
	p.tb.Helper()
	resp, err := http.Post(p.url("/v1/models/"+what), "", nil)
	if err != nil {
		p.tb.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func (p *process) awaitModels() models.Status {
	p.tb.Helper()
	p.await(2*time.Minute, "end of what is done with models", func() bool { return p.modelStatus().Doing == "nothing" })
	return p.modelStatus()
}

// TestModelsChangeUnderLoad: a model is learned from the window of real posts and taken on, another one again and again
// while posts come, the process is killed in the midst of a change and begins with the model in use. The events equal those
// of detect.
func TestModelsChangeUnderLoad(t *testing.T) {
	t.Setenv("REFRAIN_WINDOW_ENGINE", "scan") // the one that codes mean most to; the others are tested with the detector
	t.Setenv("REFRAIN_WINDOW_BITS", "32")
	t.Setenv("REFRAIN_MODELS_SENTENCES", "12000")
	t.Setenv("REFRAIN_MODELS_VOCABULARY", "500")
	const n = 18_000
	posts := lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	want := oracle.Sorted(mustDetect(t, posts, 1<<30, "--span", "87600h").ids)
	p := newProcess(t, "--span", "87600h")
	p.start()
	all := splitLines(posts)
	p.feed(all[:n*2/3], 500, func(int) {})
	p.events()
	if status := p.askModels("learn"); status != http.StatusAccepted {
		t.Fatalf("learn: status %d", status)
	}
	learned := p.awaitModels()
	if learned.Current != 1 || len(learned.Models) != 2 || learned.Changed != 4 {
		t.Fatalf("after learning: %+v", learned)
	}
	if m := learned.Models[1]; m.After >= m.Before || m.Why != "request" || m.Sentences < 5000 {
		t.Errorf("the model learned: %+v", m)
	}
	asked := 0
	p.feed(all[n*2/3:n*5/6], 100, func(sent int) {
		if p.askModels(fmt.Sprintf("%d/use", asked%2)) == http.StatusAccepted {
			asked++
		}
	})
	p.awaitModels()
	if done := p.counters()["refrain_models_changes_total/done"]; asked < 3 || done != 4*float64(asked+1) {
		t.Errorf("%d changes asked for, %v windows have changed, also to the model learned", asked, done)
	}
	p.askModels("1/use")
	p.kill(syscall.SIGKILL)
	p.start()
	if s := p.modelStatus(); s.Current != 1 || s.Doing != "nothing" {
		t.Errorf("after a crash: %+v", s)
	}
	p.feed(all[n*5/6:], 500, func(int) {})
	if missing, extra := oracle.Diff(p.events(), want); len(missing)+len(extra) > 0 {
		t.Errorf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	if status := p.askModels("9/use"); status != http.StatusNotFound {
		t.Errorf("an unknown model: status %d", status)
	}
	p.askModels("0/use")
	p.awaitModels()
	if err := os.Truncate(filepath.Join(p.dir, "models", "1.model"), 30); err != nil {
		t.Fatal(err)
	}
	if status := p.askModels("1/use"); status != http.StatusUnprocessableEntity {
		t.Errorf("a damaged model: status %d", status)
	}
}
