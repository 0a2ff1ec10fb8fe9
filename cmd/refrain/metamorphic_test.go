package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/oracle"
)

// variants are ways to do the same: none may change an event.
var variants = []string{
	"--batch 1", "--batch 7", "--batch 1000",
	"--partitions 3 --workers 1", "--partitions 3 --workers 2", "--partitions 8 --workers 4", "--partitions 8 --workers 1 --batch 7",
	"--engine scan", "--engine prefix",
	"--bits 32 --ones 1", "--bits 32 --ones 2", "--bits 64 --ones 2", "--bits 128 --ones 4", "--bits 256 --ones 1",
	"--engine scan --bits 32 --ones 2", "--engine scan --bits 128 --ones 2 --partitions 3",
}

// TestVariantsGiveTheSameEvents runs one feed under every variant, in order, and the same posts in another order
// and delivered twice.
func TestVariantsGiveTheSameEvents(t *testing.T) {
	for _, file := range realFiles {
		n := file.posts / 3
		if *full {
			n = 20_000
		}
		posts := lines(t, file.name, n)
		for _, setting := range []string{"--threshold 0.8", "--threshold 0.5 --min-tokens 1 --span 1h"} {
			want := oracle.Sorted(mustDetect(t, posts, 1<<30, strings.Fields(setting)...).ids)
			same := func(name string, posts []byte, args string) {
				t.Run(fmt.Sprintf("%s/%s/%s", file.name, setting, name), func(t *testing.T) {
					got := oracle.Sorted(mustDetect(t, posts, 1<<30, strings.Fields(setting+" "+args)...).ids)
					if missing, extra := oracle.Diff(got, want); len(missing)+len(extra) > 0 {
						t.Errorf("%d events missing, %d extra, of %d", len(missing), len(extra), len(want))
					}
				})
			}
			for _, v := range variants {
				same(v, posts, v)
			}
			for seed := range uint64(3) {
				// Whoever deals the posts out again gives each the time it had: in a file a post without one
				// takes that of the posts before it.
				late := shuffle(t, stamped(t, posts), seed, 5*time.Minute)
				same(fmt.Sprintf("shuffled within lateness, seed %d", seed), late, "--batch 7")
				same(fmt.Sprintf("shuffled within lateness, seed %d, partitions", seed), late, "--partitions 3 --workers 2")
			}
			same("delivered twice", append(slices.Clone(posts), posts...), "")
			same("every post twice", twice(posts), "--partitions 3")
		}
	}
}

// stamped gives posts without a time the one that a file gives them.
func stamped(tb testing.TB, posts []byte) []byte {
	tb.Helper()
	var greatest feed.Time
	var out bytes.Buffer
	for _, line := range splitLines(posts) {
		p, _, err := feed.DecodePost(line, nil)
		if err != nil {
			continue
		}
		greatest = max(greatest, p.Time)
		if p.Timed {
			out.Write(line)
			continue
		}
		var object map[string]any
		if err := json.Unmarshal(line, &object); err != nil {
			tb.Fatal(err)
		}
		object["created_at"] = greatest.String()
		b, err := json.Marshal(object)
		if err != nil {
			tb.Fatal(err)
		}
		out.Write(append(b, '\n'))
	}
	return out.Bytes()
}

// shuffle puts posts in the order of their time plus a random delay below the lateness.
func shuffle(tb testing.TB, posts []byte, seed uint64, lateness time.Duration) []byte {
	tb.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	type arrival struct {
		at   feed.Time
		line []byte
	}
	var all []arrival
	for _, line := range splitLines(posts) {
		p, _, err := feed.DecodePost(line, nil)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, arrival{p.Time + feed.Time(r.Int64N(lateness.Milliseconds())), line})
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return int(a.at - b.at) })
	var out bytes.Buffer
	for _, a := range all {
		out.Write(a.line)
	}
	return out.Bytes()
}

// twice repeats every line at once.
func twice(posts []byte) []byte {
	var out bytes.Buffer
	for _, line := range splitLines(posts) {
		out.Write(line)
		out.Write(line)
	}
	return out.Bytes()
}

// TestWhatStandsBeforeDamageIsDetected: a file that breaks off, and a malformed line under --strict, end the run with
// an error, after the events of everything before.
func TestWhatStandsBeforeDamageIsDetected(t *testing.T) {
	posts := lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", 6000)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(posts); err != nil {
		t.Fatal(err)
	}
	if err := z.Flush(); err != nil { // and never closed
		t.Fatal(err)
	}
	want := mustDetect(t, posts, 1<<30).ids
	for name, c := range map[string]struct {
		input []byte
		args  []string
	}{
		"cut short": {packed.Bytes(), []string{"detect", "-"}},
		"strict":    {append(slices.Clone(posts), "bad\n"...), []string{"detect", "--strict", "-"}},
	} {
		var out, stderr bytes.Buffer
		m := Main{Stdin: bytes.NewReader(c.input), Stdout: &out, Stderr: &stderr}
		if status := m.Run(context.Background(), c.args); status != 1 {
			t.Errorf("%s: status %d: %s", name, status, stderr.String())
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n != len(want) {
			t.Errorf("%s: %d events, want %d: %s", name, n, len(want), stderr.String())
		}
	}
}
