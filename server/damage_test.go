package server_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
)

// mayors are posts of which every tenth says the same.
func mayors(n int) (posts [][]byte) {
	for i := range n {
		posts = append(posts, fmt.Appendf(nil, `{"id":"p%d","text":"The mayor of town number %d opened a bridge."}`+"\n", i, i%10))
	}
	return posts
}

// reuse is the status and body of what the index says of a post.
func reuse(p *e2e.Process, post string) (int, string) {
	p.TB.Helper()
	resp, err := http.Get(p.URL("/v1/posts/" + post + "/reuse"))
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// harmIndex writes noise over all pages of the index but the first two, which only say where the others are.
func harmIndex(t *testing.T, p *e2e.Process, r *rand.Rand) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(p.Dir, "lookup.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	info, err := f.Stat()
	for at := int64(2 * 4096); err == nil && at < info.Size(); at += 4096 {
		_, err = f.WriteAt(noise, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestADamagedIndexIsMadeAgain, at a start and while the server runs; the service goes on.
func TestADamagedIndexIsMadeAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	p := e2e.New(t)
	p.Start()
	if _, err := p.Post(mayors(200)); err != nil {
		t.Fatal(err)
	}
	knows := func(post string) func() bool {
		return func() bool {
			code, body := reuse(p, post)
			return code == http.StatusOK && strings.Contains(body, "number 9 opened a bridge")
		}
	}
	whole := knows("p199")
	p.Await(20*time.Second, "index", whole)
	for range 2 {
		if err := p.Kill(syscall.SIGKILL); err == nil {
			t.Fatal("it ended by itself")
		}
		harmIndex(t, p, r)
		p.Start()
		p.Await(20*time.Second, "index made again", whole)
		if n := p.Counters()["refrain_lookup_damaged_total"]; n != 1 {
			t.Errorf("%v files moved aside", n)
		}
	}
	harmIndex(t, p, r)
	if _, err := p.Post(mayors(300)[200:]); err != nil {
		t.Fatal(err)
	}
	p.Await(20*time.Second, "index moved aside", func() bool { return p.Counters()["refrain_lookup_damaged_total"] == 2 })
	p.Await(20*time.Second, "index made again", whole)
	p.Await(20*time.Second, "what came since", knows("p299"))
	if aside, _ := filepath.Glob(filepath.Join(p.Dir, "lookup.db.damaged-*")); len(aside) != 2 {
		t.Errorf("%q", aside)
	}
	if log := p.Log.String(); !strings.Contains(log, "made again from the event topic") {
		t.Error("the log does not say what happened")
	}
}
