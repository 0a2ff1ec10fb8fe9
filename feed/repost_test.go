package feed

import (
	"strings"
	"testing"
)

// TestNoSuchField: a feed may have a field of our name that is something else; id and text every post needs.
func TestNoSuchField(t *testing.T) {
	fields, err := ParseFields("source=, lang= ,author=by|from")
	if err != nil {
		t.Fatal(err)
	}
	const line = `{"id":"1","source":{"id":2},"lang":17,"by":"ann","text":"a"}`
	if p, _, err := DecodePost([]byte(line), fields); err != nil || p.Source != "" || p.Author != "ann" || p.Lang != "" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, found := fields.Find("source"); found {
		t.Error("a column source is ours")
	}
	for _, spec := range []string{"text=", "id=", "nothing="} {
		if _, err := ParseFields(spec); err == nil {
			t.Errorf("%s is taken", spec)
		}
	}
}

// TestReposted: the text of a repost that is cut is taken from where all of it is, and no other one is touched.
func TestReposted(t *testing.T) {
	fields, err := ownNames.WithReposted("of.long|of.text")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`{"id":"1","text":"RT @ann: cut he…","of":{"text":"cut here"}}`:              "RT @ann: cut here",
		`{"id":"1","text":"RT @ann: cut he…","of":{"text":"cut…","long":"cut not"}}`: "RT @ann: cut not",
		`{"id":"1","text":"RT @ann: cut he…","of":null}`:                             "RT @ann: cut he…",
		`{"id":"1","text":"RT @ann: cut he…","of":{"text":""}}`:                      "RT @ann: cut he…",
		`{"id":"1","text":"RT @ann: whole","of":{"text":"whole and more"}}`:          "RT @ann: whole",
		`{"id":"1","text":"cut he…","of":{"text":"cut here"}}`:                       "cut he…",
	} {
		if p, _, err := DecodePost([]byte(line), fields); err != nil || p.Text != want {
			t.Errorf("%s: %q, %v", line, p.Text, err)
		}
	}
	long := `{"id":"1","text":"RT @ann: cut…","of":{"text":"` + strings.Repeat("a", MaxText) + `"}}`
	if _, _, err := DecodePost([]byte(long), fields); err == nil {
		t.Error("a text beyond the limit is taken")
	}
}
