package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"refrain/feed"
	"refrain/internal/e2e"
)

// TestLinksAndMetaSurviveKill: what a source keeps of a post, and the link that it makes, are in the events of the post;
// also when the post that it repeats comes later, after the window was made again from the topic.
func TestLinksAndMetaSurviveKill(t *testing.T) {
	config := filepath.Join(t.TempDir(), "refrain.yaml")
	settings := "ingest:\n  http:\n    keep: [followers, user.name]\n    link: https://example.org/{author}/{id}\n"
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	p := e2e.New(t, e2e.WithConfig(config))
	p.Start()
	post := func(id string, minute int) {
		t.Helper()
		const form = `{"id":%q,"author":"ann","created_at":"2020-01-01T00:%02d:00Z","followers":%d,"user":{"name":"a/n"},"other":[1],` +
			`"text":"The very same words stand here once again"}` + "\n"
		a, err := p.Post([][]byte{fmt.Appendf(nil, form, id, minute, minute)})
		if err != nil || a.Accepted != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	post("later", 4)
	p.Events() // it is in the window
	p.Kill(syscall.SIGKILL)
	p.Start()
	post("latest", 5)
	post("first", 3)
	want := map[string]string{
		"later":  `https://example.org/ann/later {"followers":4,"user.name":"a/n"}`,
		"latest": `https://example.org/ann/latest {"followers":5,"user.name":"a/n"}`,
	}
	for _, m := range p.Matches() {
		if got := m.Later.Link + " " + m.Later.Meta; got != want[m.Later.Post] || m.Later.Group != m.Group ||
			m.Group == (feed.Hash{}) {
			t.Errorf("%s: got %s, group %s of %s, want %s", m.Later.Post, got, m.Later.Group, m.Group, want[m.Later.Post])
		}
		delete(want, m.Later.Post)
	}
	if len(want) > 0 {
		t.Errorf("no event of %v", want)
	}
}
