// Package damage tests what a server does whose files are not as it wrote them.
package damage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"refrain/internal/e2e"
	"refrain/topic/jetstream/blocks"
)

// mayor is a post; every tenth says the same.
func mayor(i int) []byte {
	return fmt.Appendf(nil, `{"id":"p%d","text":"The mayor of town number %d opened a bridge."}`+"\n", i, i%10)
}

// mustFill makes data directories with a real server: as it leaves them when it is killed, and when it is stopped.
func mustFill(t *testing.T) (killed, stopped string) {
	t.Helper()
	p := e2e.New(t)
	p.Start()
	for i := 0; i < 600; i += 10 {
		lines := [][]byte{[]byte("{\"id\":\"bad\"}\n")}
		for j := range 10 {
			lines = append(lines, mayor(i+j))
		}
		if _, err := p.Post(lines); err != nil {
			t.Fatal(err)
		}
	}
	p.Events()
	for i := range 5 {
		p.Delete(fmt.Sprintf("p%d", 100+i))
	}
	p.Await(10*time.Second, "retractions", func() bool { return p.Retractions() == 5 })
	time.Sleep(1500 * time.Millisecond) // states and cursors are stored every second
	_ = p.Kill(syscall.SIGKILL)
	killed = mustCopy(t, p.Dir)
	p.Start()
	p.Events()
	if err := p.Kill(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return killed, p.Dir
}

func mustCopy(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// on starts a server on a copy of a directory.
func on(t *testing.T, dir string) *e2e.Process {
	t.Helper()
	p := e2e.New(t)
	p.Dir = dir
	p.Env = append(p.Env, "REFRAIN_DATA_DIR="+dir)
	p.Start()
	return p
}

func mustFlip(t *testing.T, path string, at func(size int) int, bit byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at(len(b))] ^= bit
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func middle(size int) int { return size / 2 }

func block(dir, stream string) string { return filepath.Join(blocks.Dir(dir), stream, "msgs", "1.blk") }

// TestALostRecordIsCounted, of each topic, whether the server was stopped in order or not: there one record is lost, here
// all that follow in the block. The service goes on.
func TestALostRecordIsCounted(t *testing.T) {
	killed, stopped := mustFill(t)
	for from, name := range map[string]string{killed: "killed", stopped: "stopped"} {
		for _, stream := range []string{"sentences", "events", "control"} {
			t.Run(name+"/"+stream, func(t *testing.T) {
				dir := mustCopy(t, from)
				mustFlip(t, block(dir, stream), middle, 1)
				p := on(t, dir)
				p.Events()
				p.Await(20*time.Second, "count of what is lost", func() bool {
					c, err := p.TryCounters()
					return err == nil && c["refrain_topic_lost_records"] > 0
				})
				lost := p.Counters()["refrain_topic_lost_records"]
				if log := p.Log.String(); !strings.Contains(log, `"`+stream+`"`) || !strings.Contains(log, "damaged") {
					t.Error("the log does not say so")
				}
				before := len(p.Events())
				if _, err := p.Post([][]byte{mayor(1000), mayor(1010)}); err != nil {
					t.Fatal(err)
				}
				if after := len(p.Events()); after == before {
					t.Error("no events any more")
				}
				t.Logf("%v lost", lost)
				mustStop(t, p)
			})
		}
	}
}

func mustStop(t *testing.T, p *e2e.Process) {
	t.Helper()
	if err := p.Kill(syscall.SIGTERM); err != nil {
		t.Errorf("it does not end in order: %v", err)
	}
}

// TestALostStateRepeatsEvents: without positions everything is looked up again, with the same ids.
func TestALostStateRepeatsEvents(t *testing.T) {
	killed, stopped := mustFill(t)
	for _, from := range []string{killed, stopped} {
		p := on(t, mustCopy(t, from))
		want := p.Events()
		mustStop(t, p)
		for what, do := range map[string]func(dir string) error{
			"removed": func(dir string) error { return os.RemoveAll(filepath.Join(blocks.Dir(dir), "KV_state")) },
			"cut":     func(dir string) error { return os.Truncate(block(dir, "KV_state"), 1000) },
			"flipped": func(dir string) error {
				mustFlip(t, block(dir, "KV_state"), func(size int) int { return size - 20 }, 4)
				return nil
			},
		} {
			dir := mustCopy(t, from)
			if err := do(dir); err != nil {
				t.Fatal(err)
			}
			p := on(t, dir)
			p.Await(20*time.Second, "events", func() bool { return slices.Equal(slices.Compact(p.Events()), slices.Compact(want)) })
			mustStop(t, p)
			t.Logf("%s: %d distinct events again", what, len(slices.Compact(want)))
		}
	}
}

// TestTheServerStartsOverRandomDamage, whatever file it is in, and answers.
func TestTheServerStartsOverRandomDamage(t *testing.T) {
	killed, stopped := mustFill(t)
	n := 16
	if *e2e.Full {
		n = 200
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		dir := mustCopy(t, []string{killed, stopped}[i%2])
		files := mustFiles(t, dir)
		path := files[r.IntN(len(files))]
		bit := byte(1) << r.IntN(8)
		var place int
		mustFlip(t, path, func(size int) int { place = r.IntN(size); return place }, bit)
		t.Logf("%s: bit %#x at %d", strings.TrimPrefix(path, dir), bit, place)
		p := on(t, dir)
		if _, err := p.Post([][]byte{mayor(2000), mayor(2010)}); err != nil {
			t.Error(err)
		}
		p.Events()
		mustStop(t, p)
	}
}

// mustFiles are the files that hold anything.
func mustFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "refrain.lock" {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
