// Package models tests what happens to a server under load whose codes change.
package models

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/models"
)

// server is one that is asked about its models.
type server struct{ *e2e.Process }

// modelStatus is what the API tells of the models.
func (p server) modelStatus() (s models.Status) {
	p.TB.Helper()
	resp, err := http.Get(p.URL("/v1/models"))
	if err != nil {
		p.TB.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		p.TB.Fatal(err)
	}
	return s
}

// postModels asks for something and returns the status of the answer.
func (p server) postModels(what string) int {
	p.TB.Helper()
	resp, err := http.Post(p.URL("/v1/models/"+what), "", nil)
	if err != nil {
		p.TB.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func (p server) awaitModels() models.Status {
	p.TB.Helper()
	p.Await(2*time.Minute, "end of what is done with models", func() bool { return p.modelStatus().Doing == "nothing" })
	return p.modelStatus()
}

// TestModelsChangeUnderLoad: a model is learned from the window of real posts and taken on, another one again and again
// while posts come, the process is killed in the midst of a change and begins with the model in use. The events equal those
// of detect.
func TestModelsChangeUnderLoad(t *testing.T) {
	t.Setenv("REFRAIN_WINDOW_ENGINE", "scan") // the one that codes mean most to; the others are tested with the detector
	t.Setenv("REFRAIN_WINDOW_BITS", "32")
	n := 12_000 // of fewer there is too little to learn from
	if *e2e.Full {
		n = 18_000
	}
	t.Setenv("REFRAIN_MODELS_SENTENCES", strconv.Itoa(n*2/3))
	t.Setenv("REFRAIN_MODELS_VOCABULARY", "500")
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	settings := e2e.DefaultSettings()
	settings.Window.Span = 87600 * time.Hour
	want := oracle.Sorted(e2e.Detect(t, posts, settings, nil))
	p := server{e2e.New(t, "REFRAIN_WINDOW_SPAN=87600h")}
	p.Start()
	all := e2e.SplitLines(posts)
	p.Feed(all[:n*2/3], 500, func(int) {})
	p.Events()
	if status := p.postModels("learn"); status != http.StatusAccepted {
		t.Fatalf("learn: status %d", status)
	}
	learned := p.awaitModels()
	if learned.Current != 1 || len(learned.Models) != 2 || learned.Changed != 4 {
		t.Fatalf("after learning: %+v", learned)
	}
	if m := learned.Models[1]; m.After >= m.Before || m.Why != "request" || m.Sentences < n/4 {
		t.Errorf("the model learned: %+v", m)
	}
	asked := 0
	p.Feed(all[n*2/3:n*5/6], 50, func(sent int) {
		if p.postModels(fmt.Sprintf("%d/use", asked%2)) == http.StatusAccepted {
			asked++
		}
	})
	p.awaitModels()
	if done := p.Counters()["refrain_models_changes_total/done"]; asked < 3 || done != 4*float64(asked+1) {
		t.Errorf("%d changes asked for, %v windows have changed, also to the model learned", asked, done)
	}
	p.postModels("1/use")
	p.Kill(syscall.SIGKILL)
	p.Start()
	if s := p.modelStatus(); s.Current != 1 || s.Doing != "nothing" {
		t.Errorf("after a crash: %+v", s)
	}
	p.Feed(all[n*5/6:], 500, func(int) {})
	if missing, extra := oracle.Diff(p.Events(), want); len(missing)+len(extra) > 0 {
		t.Errorf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	if status := p.postModels("9/use"); status != http.StatusNotFound {
		t.Errorf("an unknown model: status %d", status)
	}
	p.postModels("0/use")
	p.awaitModels()
	if err := os.Truncate(filepath.Join(p.Dir, "models", "1.model"), 30); err != nil {
		t.Fatal(err)
	}
	if status := p.postModels("1/use"); status != http.StatusUnprocessableEntity {
		t.Errorf("a damaged model: status %d", status)
	}
}
