package feed_test

import (
	"strings"
	"testing"

	"refrain/feed"
)

// TestCheckReportsAllThatIsWrong: of a post that was made by hand.
func TestCheckReportsAllThatIsWrong(t *testing.T) {
	p := feed.Post{
		ID: "a\xff", Source: strings.Repeat("s", feed.MaxName+1), Text: strings.Repeat("t", feed.MaxText+1), Time: -1,
		Meta: "{}\n", Link: "javascript:alert(1)",
	}
	_, err := p.Check()
	for _, want := range []string{"id: not valid Unicode", "source: 1025 bytes", "text: 1048577 bytes", "created_at: year 1969", "meta: want", "link: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	for _, p := range []feed.Post{
		{}, {ID: "1", Meta: "[]"}, {ID: "1", Meta: "{"}, {ID: "1", Meta: `{"a":"` + strings.Repeat("m", feed.MaxMeta) + `"}`},
		{ID: "1", Link: "https://" + strings.Repeat("l", feed.MaxLink)}, {ID: "1", Link: "https://"}, {ID: "1", Time: 1 << 50},
	} {
		if note, err := p.Check(); err == nil {
			t.Errorf("%.60v: no error, and the note %q", p, note)
		}
	}
}

// TestCheckReplacesWhatIsNoUnicode: but in names, as in posts that are read.
func TestCheckReplacesWhatIsNoUnicode(t *testing.T) {
	p := feed.Post{ID: "1", Author: "ann\xff", Text: "a\xff\xfeb", Meta: `{"n":1}`, Link: "https://example.org/1"}
	note, err := p.Check()
	if err != nil || p.Author != "ann\uFFFD" || p.Text != "a\uFFFDb" || p.Meta == "" || p.Link == "" {
		t.Errorf("got %+v, %v", p, err)
	}
	if want := "author: invalid UTF-8 replaced by U+FFFD; text: invalid UTF-8 replaced by U+FFFD"; note != want {
		t.Errorf("note %q, want %q", note, want)
	}
}
