package detection_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
)

// TestIDsAreThoseOfTheBuildBefore compares with another build of the program, which REFRAIN_BEFORE names: its events by Jaccard
// have the ids that they have now, by whatever engine and codes.
func TestIDsAreThoseOfTheBuildBefore(t *testing.T) {
	before := os.Getenv("REFRAIN_BEFORE")
	if before == "" {
		t.Skip("REFRAIN_BEFORE names no build of refrain to compare with")
	}
	p := openProgress(t, "before")
	for _, file := range realFiles {
		posts := e2e.Lines(t, file.name, file.size())
		for _, threshold := range []string{"0.8", "0.6", "0.5"} {
			for _, span := range []string{"1h", "24h", "87600h"} {
				name := fmt.Sprintf("%s/threshold %s/span %s", filepath.Base(file.name), threshold, span)
				t.Run(name, func(t *testing.T) {
					s := e2e.DefaultSettings()
					s.Window.Threshold, s.Window.Span = mustMeasure(t, "jaccard", threshold).Threshold, mustDuration(t, span)
					want := sync.OnceValue(func() []feed.Hash { return idsOf(t, before, posts, threshold, span) })
					compareCodes(t, p, posts, s, want)
				})
			}
		}
	}
}

// compareCodes runs every engine with codes of several widths.
func compareCodes(t *testing.T, p *progress, posts []byte, s e2e.Settings, want func() []feed.Hash) {
	for _, codes := range codesTried(t) {
		for _, engine := range []string{"auto", "prefix", "scan"} {
			p.run(t, codes.Name()+" "+engine, func(t *testing.T) (events int) {
				s := s
				s.Window.Engine, s.Window.Model = mustEngine(t, engine), codes
				found := e2e.Detect(t, posts, s, nil)
				if missing, extra := oracle.Diff(oracle.Sorted(found), want()); len(missing)+len(extra) > 0 {
					t.Errorf("%d missing, %d extra of %d", len(missing), len(extra), len(want()))
				}
				return len(found)
			})
		}
	}
}

// codesTried are the learned ones of the program, and hashed ones.
func codesTried(t *testing.T) []*hashcodes.Model {
	t.Helper()
	all := []*hashcodes.Model{hashcodes.Default()}
	for _, c := range []struct{ bits, ones int }{{32, 1}, {64, 2}, {128, 4}, {256, 2}, {32, 2}} {
		m, err := hashcodes.NewMD5(c.bits, c.ones)
		must(t, err)
		all = append(all, m)
	}
	return all
}

// idsOf are those of the events that a build of the program prints.
func idsOf(t *testing.T, program string, posts []byte, threshold, span string) []feed.Hash {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "detect", "--threshold", threshold, "--span", span, "--texts=false", "-")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(posts), io.Discard
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var ids []feed.Hash
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		ids = append(ids, idOf(t, lines.Bytes()))
	}
	must(t, lines.Err())
	must(t, cmd.Wait())
	return oracle.Sorted(ids)
}

// idOf reads the id alone, since there are millions.
func idOf(t *testing.T, event []byte) feed.Hash {
	t.Helper()
	_, rest, found := bytes.Cut(event, []byte(`"id":"`))
	if !found {
		t.Fatalf("an event without an id: %s", event)
	}
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	h, err := feed.ParseHash(string(id))
	must(t, err)
	return h
}
