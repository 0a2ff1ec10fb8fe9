package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"refrain/detector"
	"refrain/feed"
	"refrain/hashcodes"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/text"
)

// detectIDs are the ids of the events that the command prints.
func detectIDs(t *testing.T, posts []byte, args ...string) (ids []feed.Hash, matches []feed.Match) {
	t.Helper()
	var out bytes.Buffer
	if stderr, status := runDetect(t, bytes.NewReader(posts), &out, append(args, "--batch", "500")...); status != 0 {
		t.Fatalf("%q: %s", args, stderr)
	}
	for line := range bytes.Lines(out.Bytes()) {
		m, err := feed.DecodeEvent(line)
		if err != nil {
			t.Fatal(err)
		}
		ids, matches = append(ids, m.ID), append(matches, m)
	}
	return oracle.Sorted(ids), matches
}

// TestDetectFlags: each flag does to the events of real posts what its setting does, and something else than the default.
func TestDetectFlags(t *testing.T) {
	skipShort(t)
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", 3000)
	byDefault, _ := detectIDs(t, posts)
	for flag, change := range map[string]func(*e2e.Settings){
		"":                 func(*e2e.Settings) {},
		"--threshold 0.5":  func(s *e2e.Settings) { s.Window.Threshold = text.Threshold{Num: 1, Den: 2} },
		"--measure cosine": func(s *e2e.Settings) { s.Window.Similarity = text.Cosine },
		"--measure dice --threshold 0.5": func(s *e2e.Settings) {
			s.Window.Similarity, s.Window.Threshold = text.Dice, text.Threshold{Num: 1, Den: 2}
		},
		"--span 2h":      func(s *e2e.Settings) { s.Window.Span = 2 * time.Hour },
		"--min-tokens 1": func(s *e2e.Settings) { s.MinTokens = 1 },
		"--threshold 0.5 --engine prefix --max-matches 1": func(s *e2e.Settings) { // which are left out differs by engine
			s.Window.Engine = detector.Prefix
			s.Window.Threshold, s.Window.MaxMatches, s.Window.Flood = text.Threshold{Num: 1, Den: 2}, 1, 1
			s.Window.MaxLater, s.Window.FloodLater = 1, 1
		},
	} {
		settings := e2e.DefaultSettings()
		change(&settings)
		want := oracle.Sorted(e2e.Detect(t, posts, settings, nil))
		got, _ := detectIDs(t, posts, strings.Fields(flag)...)
		if missing, extra := oracle.Diff(got, want); len(missing)+len(extra) > 0 || len(want) == 0 {
			t.Errorf("%q: %d events missing, %d extra, of %d", flag, len(missing), len(extra), len(want))
		}
		if missing, extra := oracle.Diff(got, byDefault); flag != "" && len(missing)+len(extra) == 0 {
			t.Errorf("%q: the events of the default", flag)
		}
	}
}

// TestDetectFlagsOfCodes: these change no event, but the Hamming distances that it tells.
func TestDetectFlagsOfCodes(t *testing.T) {
	skipShort(t)
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", 3000)
	distances := func(model *hashcodes.Model) (sum int) {
		settings := e2e.DefaultSettings()
		settings.Window.Threshold, settings.Window.Model = text.Threshold{Num: 1, Den: 2}, model
		e2e.Detect(t, posts, settings, func(m *feed.Match) { sum += m.Hamming })
		return sum
	}
	for _, c := range []struct{ bits, ones int }{{32, 1}, {256, 1}, {64, 3}} {
		model, err := hashcodes.NewMD5(c.bits, c.ones)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"--threshold", "0.5", "--bits", strconv.Itoa(c.bits), "--ones", strconv.Itoa(c.ones)}
		_, matches := detectIDs(t, posts, args...)
		sum := 0
		for i := range matches {
			sum += matches[i].Hamming
		}
		if want := distances(model); sum != want || want == distances(hashcodes.Default()) {
			t.Errorf("%d bits, %d ones: distances of %d in all, want %d", c.bits, c.ones, sum, want)
		}
	}
}

// TestOutputFlags: a sheet has the events that the lines have, filters leave out what they say, and the summary counts what
// is written.
func TestOutputFlags(t *testing.T) {
	skipShort(t)
	posts := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", 3000)
	_, all := detectIDs(t, posts)
	bots := filepath.Join(t.TempDir(), "bots.txt")
	if err := os.WriteFile(bots, []byte("\ufeff"+all[0].Later.Author+"\r\n\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, keeps := range map[string]func(m *feed.Match) bool{
		"":                         func(*feed.Match) bool { return true },
		"--min-authors 2":          func(m *feed.Match) bool { return m.Authors >= 2 },
		"--lang en":                func(m *feed.Match) bool { return m.Later.Lang == "en" },
		"--other-authors":          func(m *feed.Match) bool { return !m.SameAuthor },
		"--exclude-author " + bots: func(m *feed.Match) bool { return m.Later.Author != all[0].Later.Author },
	} {
		var want []string
		for i := range all {
			if keeps(&all[i]) {
				want = append(want, all[i].ID.String())
			}
		}
		var out bytes.Buffer
		stderr, status := runDetect(t, bytes.NewReader(posts), &out, append(strings.Fields(args), "--output", "csv", "--batch", "500")...)
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || status != 0 {
			t.Fatalf("%q: %v, %s", args, err, stderr)
		}
		var got []string
		for _, row := range rows[1:] {
			got = append(got, row[slices.Index(rows[0], "event")])
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) || len(want) == 0 {
			t.Errorf("%q: %d events, want %d", args, len(got), len(want))
		}
		if line := fmt.Sprintf("\n%d events; the window", len(want)); !strings.Contains(stderr, line) {
			t.Errorf("%q: want %q in %s", args, line, stderr)
		}
		if more := fmt.Sprintf("%d events more left out", len(all)-len(want)); len(want) < len(all) && !strings.Contains(stderr, more) {
			t.Errorf("%q: want %q in %s", args, more, stderr)
		}
	}
}
