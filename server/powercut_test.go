package server_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// powerCut gives streams of a killed server back what they were at some moment before.
type powerCut struct {
	*rand.Rand
	p      *e2e.Process
	to     string
	copies map[string][]string // copies by stream, oldest first
	n      int
}

// lagging are the streams that reach the disk later than the sentences.
var lagging = []string{"events", "control", "KV_state"}

func (c *powerCut) stream(name string) string {
	return filepath.Join(c.p.Dir, "jetstream", "$G", "streams", name)
}

// copy keeps a stream as it is, while the server writes it.
func (c *powerCut) copy(name string) {
	c.p.TB.Helper()
	c.n++
	to := filepath.Join(c.to, strconv.Itoa(c.n))
	for _, sub := range []string{".", "msgs"} {
		files, err := os.ReadDir(filepath.Join(c.stream(name), sub))
		if err == nil {
			err = os.MkdirAll(filepath.Join(to, sub), 0o700)
		}
		if err != nil {
			c.p.TB.Fatal(err)
		}
		for _, f := range slices.Backward(files) {
			data, err := os.ReadFile(filepath.Join(c.stream(name), sub, f.Name()))
			if err == nil && f.Type().IsRegular() {
				err = os.WriteFile(filepath.Join(to, sub, f.Name()), data, 0o600)
			}
			if err != nil && f.Type().IsRegular() && !os.IsNotExist(err) {
				c.p.TB.Fatal(err)
			}
		}
	}
	c.copies[name] = append(c.copies[name], to)
}

// cut kills the server, and starts it on what is left.
func (c *powerCut) cut() {
	c.p.TB.Helper()
	_ = c.p.Kill(syscall.SIGKILL)
	for _, name := range lagging {
		made := c.copies[name]
		moment := c.IntN(len(made))
		if err := os.RemoveAll(c.stream(name)); err != nil {
			c.p.TB.Fatal(err)
		}
		if err := os.CopyFS(c.stream(name), os.DirFS(made[moment])); err != nil {
			c.p.TB.Fatal(err)
		}
		c.copies[name] = made[:moment+1] // what came after never was
		c.p.TB.Logf("%s: moment %d of %d", name, moment, len(made))
	}
	c.p.Start()
}

// TestServeSurvivesPowerCuts: the server is killed, and its events, deletions and states are of other moments than its
// sentences: the events equal those of detect.
func TestServeSurvivesPowerCuts(t *testing.T) {
	n := 3000
	if *e2e.Full {
		n = 10_000
	}
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	want := oracle.Sorted(e2e.Detect(t, posts, e2e.DefaultSettings(), nil))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := &powerCut{Rand: rand.New(rand.NewPCG(seed, 0)), p: e2e.New(t), to: t.TempDir(), copies: map[string][]string{}}
	c.p.Start()
	for _, name := range lagging {
		c.copy(name)
	}
	cuts := 3
	c.p.Feed(e2e.SplitLines(posts), 200, func(sent int) {
		c.copy(lagging[c.IntN(len(lagging))])
		if sent*4 > (4-cuts)*n && cuts > 0 {
			cuts--
			c.cut()
		}
	})
	missing, extra := oracle.Diff(c.p.Events(), want)
	if len(missing)+len(extra) > 0 {
		t.Fatalf("%d events missing, %d false, of %d", len(missing), len(extra), len(want))
	}
	t.Logf("%d events equal after %d power cuts", len(want), 3-cuts)
}
