package damage

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"refrain/internal/datadir"
	"refrain/internal/e2e"
	"refrain/topic/jetstream"
	"refrain/topic/jetstream/blocks"
)

// run checks a directory and returns what is found, and what is said of the parts.
func run(t *testing.T, dir string) (found []datadir.Finding, parts []string) {
	t.Helper()
	n, err := datadir.Check(t.Context(), datadir.Config{
		Dir: dir, Found: func(f datadir.Finding) { found = append(found, f) }, Part: func(s string) { parts = append(parts, s) },
		Progress: func(done, of int64, _ string) {
			if done > of {
				t.Errorf("%d bytes of %d", done, of)
			}
		},
	})
	if err != nil || n != len(found) {
		t.Fatalf("%d findings, %d told, %v", n, len(found), err)
	}
	return found, parts
}

// TestSoundDirectories: as a server leaves them that was killed, or stopped; one in use is not looked at.
func TestSoundDirectories(t *testing.T) {
	killed, stopped := mustFill(t)
	for _, dir := range []string{killed, stopped} {
		before := contents(t, dir)
		found, parts := run(t, dir)
		if len(found) > 0 {
			t.Errorf("%v", found)
		}
		for _, want := range []string{
			"KV_state, ", "control, 5 messages", "events, ", "sentences, ", "lookup.db, ", "models, ",
			"dead-letters.jsonl, 60 lines", "dead-events.jsonl, ",
		} {
			if !slices.ContainsFunc(parts, func(s string) bool {
				return strings.HasPrefix(s, want) &&
					strings.HasSuffix(s, ": sound")
			}) {
				t.Errorf("%s: not among %q", want, parts)
			}
		}
		if !slices.Equal(before, contents(t, dir)) {
			t.Error("something has changed")
		}
	}
	p := on(t, stopped)
	var inUse *jetstream.InUseError
	if _, err := datadir.Check(t.Context(), datadir.Config{Dir: stopped}); !errors.As(err, &inUse) ||
		inUse.PID != p.Cmd.Process.Pid {
		t.Errorf("in use: %v", err)
	}
	mustStop(t, p)
	if _, err := datadir.Check(t.Context(), datadir.Config{Dir: t.TempDir()}); !errors.Is(err, datadir.ErrNoData) {
		t.Errorf("an empty folder: %v", err)
	}
}

// contents are the files of a directory, with all that is in them.
func contents(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, path := range mustFiles(t, dir) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, path, string(b))
	}
	return all
}

// TestCheckFindsDamage: a flipped bit anywhere in a topic is found, and in the index where it counts (lookup/boltstore
// tests what does). Text may become other text without anybody knowing: of dead letters, and of the list of models.
func TestCheckFindsDamage(t *testing.T) {
	killed, stopped := mustFill(t)
	n := 60
	if *e2e.Full {
		n = 10_000
	}
	r := rand.New(rand.NewPCG(4, 4))
	type count struct{ tried, found int }
	counts := map[string]*count{}
	for i := range n {
		dir := []string{killed, stopped}[i%2]
		files := mustFiles(t, dir)
		path := files[r.IntN(len(files))]
		bit, place := byte(1)<<r.IntN(8), 0
		mustFlip(t, path, func(size int) int { place = r.IntN(size); return place }, bit)
		found, _ := run(t, dir)
		name := strings.TrimPrefix(strings.TrimPrefix(path, dir+"/"), "jetstream/$G/streams/")
		if counts[name] == nil {
			counts[name] = &count{}
		}
		counts[name].tried++
		if len(found) > 0 {
			counts[name].found++
		} else if strings.HasPrefix(path, blocks.Dir(dir)) {
			t.Errorf("%s: bit %#x at %d: not found", name, bit, place)
		}
		mustFlip(t, path, func(int) int { return place }, bit)
	}
	for name, c := range counts {
		t.Logf("%s: %d flipped, %d found", name, c.tried, c.found)
	}
}

// TestCheckFindsMore: what is missing, cut off, or exchanged.
func TestCheckFindsMore(t *testing.T) {
	_, stopped := mustFill(t)
	learned := []byte(`{"current":0,"last":1,"models":[{"id":1,"name":"x"}]}`)
	for what, harm := range map[string]func(dir string) error{
		"a block is gone": func(dir string) error { return os.Remove(block(dir, "sentences")) },
		"a stream's description": func(dir string) error {
			return os.Remove(filepath.Join(blocks.Dir(dir), "events", "meta.inf"))
		},
		"the end of a block":   func(dir string) error { return os.Truncate(block(dir, "events"), 20_000) },
		"the end of the state": func(dir string) error { return os.Truncate(block(dir, "KV_state"), 1000) },
		"the end of the index": func(dir string) error { return os.Truncate(filepath.Join(dir, "lookup.db"), 20_000) },
		"a block of another":   func(dir string) error { return os.Rename(block(dir, "events"), block(dir, "sentences")) },
		"half a line": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "dead-letters.jsonl"), []byte("{\"pla\n{}\n"), 0o600)
		},
		"a model that is gone": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "models", "models.json"), learned, 0o600)
		},
		"a list of models": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "models", "models.json"), []byte("{"), 0o600)
		},
	} {
		dir := mustCopy(t, os.DirFS(stopped))
		if err := harm(dir); err != nil {
			t.Fatal(err)
		}
		if found, _ := run(t, dir); len(found) == 0 {
			t.Errorf("%s: not found", what)
		} else {
			t.Logf("%s: %s", what, strings.TrimPrefix(found[0].String(), dir))
		}
	}
}

// TestADirectoryIsSoundAfterItsRepair, but for what is missing in it.
func TestADirectoryIsSoundAfterItsRepair(t *testing.T) {
	_, stopped := mustFill(t)
	mustFlip(t, block(stopped, "events"), middle, 1)
	if found, _ := run(t, stopped); len(found) != 1+1 { // and the message is missing
		t.Errorf("%v", found)
	}
	mustStop(t, on(t, stopped))
	found, _ := run(t, stopped)
	if len(found) != 1 || !strings.Contains(found[0].Reason, "missing") {
		t.Errorf("%v", found)
	}
}
