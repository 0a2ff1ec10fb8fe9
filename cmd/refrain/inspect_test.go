package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestInspect: of files of each kind it says what they are, with which flags to start, and shows posts.
func TestInspect(t *testing.T) {
	presets := filepath.Join("..", "..", "ingest", "mapping", "testdata")
	for _, c := range []struct {
		args, stdin string
		want        []string
	}{
		{"--format csv -", "tweet_id;Tweet text;date\n9;The ferry leaves at noon. Hi.;2018-10-10T20:19:24Z\n", []string{
			"-: a table with semicolons between its columns; 1 record looked at", "tweet_id    100 %  string  \"9\"",
			`refrain detect --map 'id=tweet_id,text="Tweet text",created_at=date' --format csv -`,
			"9 at 2018-10-10T20:19:24Z\n  The ferry leaves at noon.\n  too short: Hi.\n"}},
		{"-", `{"name":"x","posts":{"list":[{"uri":"u1","body":"One"},{"uri":"u2","body":"Two"}]}}`, []string{
			"refrain detect --records posts.list --map id=uri,text=body -", "u1\n", "No field looks like a time"}},
		{"-", `{"id":"1","text":"as it should be"}`, []string{"-: JSON lines; 1 record", "refrain detect -\n", "1\n  as it should be"}},
		{"-", `{"a":1}`, []string{"No field looks like the id", "No field looks like the text"}},
		{"--map text=a -", `{"a":"b","id":"1"}`, []string{"refrain detect --map text=a -", "1\n"}},
		{presets + "/twitter-v1.jsonl", "", []string{"--preset twitter-v1 "}},
		{presets + "/twitter-v2.jsonl", "", []string{"--preset twitter-v2 ", "by noor_holak"}},
		{presets + "/twitter-archive.js", "", []string{"--preset twitter-archive "}},
		{presets + "/reddit.jsonl", "", []string{"--preset reddit "}},
		{presets + "/mastodon-outbox.json", "", []string{"--preset mastodon-outbox ", "are left out, as the preset says"}},
		{presets + "/mastodon.json", "", []string{"--preset mastodon "}},
		{presets + "/telegram.json", "", []string{"--preset telegram "}},
		{presets + "/telegram-all.json", "", []string{"--preset telegram-all "}},
		{presets + "/bluesky-jetstream.jsonl", "", []string{"--preset bluesky-jetstream "}},
		{presets + "/rss.xml", "", []string{"--preset rss ", "The ferry & the light"}},
		{presets + "/rss-atom.xml", "", []string{"--preset rss "}},
	} {
		var out, stderr bytes.Buffer
		m := Main{Stdin: strings.NewReader(c.stdin), Stdout: &out, Stderr: &stderr}
		m.Run(t.Context(), append([]string{"inspect"}, strings.Fields(c.args)...))
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s%s", c.args, want, &out, &stderr)
			}
		}
	}
}

// TestPresetsToEvents: each platform's export goes from file to events by one command.
func TestPresetsToEvents(t *testing.T) {
	path := filepath.Join("..", "..", "ingest", "mapping", "testdata", "mastodon.json")
	var out, stderr bytes.Buffer
	m := Main{Stdout: &out, Stderr: &stderr}
	if status := m.Run(t.Context(), []string{"detect", "--preset", "mastodon", path}); status != 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if strings.Count(out.String(), `"converted":true`) != 2 || !strings.Contains(out.String(), `"end":44,`) {
		t.Errorf("events\n%s\n%s", &out, &stderr)
	}
	out.Reset()
	stderr.Reset()
	path = filepath.Join("..", "..", "ingest", "mapping", "testdata", "telegram.json")
	m.Run(t.Context(), []string{"detect", "--preset", "telegram", path})
	for _, want := range []string{"1 post in ", "1 rejected", "1 other record left out, as the preset says"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in %s", want, &stderr)
		}
	}
}
