package feed

import (
	"encoding/json"
	"testing"
	"unicode"
)

func TestAttribute(t *testing.T) {
	for in, want := range map[string]string{
		"":                   "",
		"at://did:plc:a/b/c": "at://did:plc:a/b/c",
		"100%0A Ünï\u200b漢":  "100%0A Ünï\u200b漢",
		"a\nb\x00":           "a%0Ab%00",
		"\x7f\u0085":         "%7F%C2%85",
		"\uFDD0\uFFFE":       "%EF%B7%90%EF%BF%BE",
		"\U0010FFFF😀":        "%F4%8F%BF%BF😀",
	} {
		if got := Attribute(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestEventAttributes: whatever a post is called, its event's attributes are CloudEvents strings; data have the name as it is.
func TestEventAttributes(t *testing.T) {
	m := sampleMatch()
	m.Later.Post = "line\nfeed \x1b[31m\u0085\uFFFF"
	var e struct {
		Subject, Partitionkey string
		Data                  struct{ Later struct{ Post string } }
	}
	if err := json.Unmarshal(m.AppendEvent(nil, "dep"), &e); err != nil {
		t.Fatal(err)
	}
	for _, r := range e.Subject + e.Partitionkey {
		if unicode.IsControl(r) || r == 0xFFFF {
			t.Errorf("subject %q, partitionkey %q", e.Subject, e.Partitionkey)
		}
	}
	if e.Subject != e.Partitionkey || e.Subject != "line%0Afeed %1B[31m%C2%85%EF%BF%BF" || e.Data.Later.Post != m.Later.Post {
		t.Errorf("got %+v", e)
	}
}

func TestDataSchema(t *testing.T) {
	m := sampleMatch()
	plain := m.AppendEvent(nil, "dep")
	if got := m.AppendEventOf(nil, &Deployment{Name: "dep"}); string(got) != string(plain) {
		t.Errorf("without schemas:\n%s\n%s", got, plain)
	}
	b := m.AppendEventOf(nil, &Deployment{Name: "dep", Schemas: "https://example.org/schemas/"})
	var e struct{ DataSchema string }
	if err := json.Unmarshal(b, &e); err != nil || e.DataSchema != "https://example.org/schemas/dev.refrain.reuse.v1.json" {
		t.Errorf("%v: %+v", err, e)
	}
	got, ok := GlanceEvent(b)
	want, _ := GlanceEvent(plain)
	if !ok || got != want {
		t.Errorf("at a glance: %+v, without dataschema %+v", got, want)
	}
}
