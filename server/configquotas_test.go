package server

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"refrain/detector"
	"refrain/internal/quota"
)

// TestQuotaConfig: what an entry leaves out is as for all, and a share becomes bytes a second.
func TestQuotaConfig(t *testing.T) {
	c := Default()
	c.Topics.SentenceBytes, c.Window.Span = 864_000, 24*time.Hour
	c.Quotas.Share, c.Quotas.Token = 0.5, Quota{Bytes: 100, Posts: 10}
	c.Quotas.Source, c.Quotas.Sources = Quota{Events: 3}, []SourceQuota{{Name: "s", Quota: Quota{Events: 7, Posts: 2}}}
	c.Auth.Tokens = []Token{{Name: "t", Quota: Quota{Posts: 1000}}}
	window := detector.Config{Span: c.Window.Span}
	n := &node{cfg: c, window: window}
	got := (&Server{cfg: c, node: n}).quotaConfig(c.Topics.SentenceBytes)
	if age := n.sentenceTopic().maxAge; got.ShareAge != age {
		t.Errorf("a share is owed for %v, and a full topic without posts keeps its records for %v", got.ShareAge, age)
	}
	for _, test := range []struct {
		what      string
		got, want quota.Limits
	}{
		{"token", got.Token, quota.Limits{Bytes: 100, Posts: 10, Share: 5}},
		{"token t", got.Tokens["t"], quota.Limits{Bytes: 100, Posts: 1000, Share: 5}},
		{"feed", got.Feed, quota.Limits{Share: 5}},
		{"source", got.Source, quota.Limits{Events: 3}},
		{"source s", got.Sources["s"], quota.Limits{Events: 7, Posts: 2}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.what, diff)
		}
	}
}

// TestQuotasAreChecked, each setting of them, and the names that go with every record.
func TestQuotasAreChecked(t *testing.T) {
	c := Default()
	c.Quotas = Quotas{
		Share: 1.1, Token: Quota{Bytes: -1, Posts: -1}, Source: Quota{Sentences: -1}, Sources: []SourceQuota{
			{Quota: Quota{Events: -1}}, {Name: "twice"}, {Name: "once"}, {Name: "twice"},
		},
	}
	for _, name := range []string{"two\r\nlines", strings.Repeat("x", maxTokenName+1), "Zürich, the newsroom"} {
		c.Auth.Tokens = append(c.Auth.Tokens, Token{
			Name: name, Token: "sixteen bytes at least", Scopes: []string{"read"}, Quota: Quota{Posts: -1},
		})
	}
	err := c.Validate()
	wantParts(t, err, "quotas.share", "quotas.burst", "quotas.token.bytes", "quotas.token.posts",
		"quotas.source.sentences", "quotas.sources[0].events",
		"quotas.sources[0].name: want the name of a source", `quotas.sources[3].name: "twice" is that of quotas.sources[1] too`,
		"auth.tokens[0].name", "auth.tokens[1].name", "auth.tokens[2].quota.posts")
	if strings.Contains(err.Error(), "quotas.sources[2]") || strings.Contains(err.Error(), "auth.tokens[2].name") {
		t.Errorf("a good name is refused: %v", err)
	}
}
