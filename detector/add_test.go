package detector_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"refrain/detector"
	"refrain/feed"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/sigstore"
)

// newDetector is one with the settings that detect has.
func newDetector(tb testing.TB, s e2e.Settings) *detector.Detector {
	tb.Helper()
	s.Window.MinTokens = s.MinTokens
	d, err := detector.New(s.Window)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// addAll returns what Add finds in posts, as events show it, and how many of them are none.
func addAll(tb testing.TB, d *detector.Detector, posts []feed.Post) (all []feed.Match, refused int) {
	tb.Helper()
	for _, p := range posts {
		matches, err := d.Add(p)
		if err != nil {
			refused++
		}
		for i := range matches {
			m, err := feed.DecodeEvent(matches[i].AppendEvent(nil, "refrain"))
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, m)
		}
	}
	return all, refused
}

// detectAll returns what `refrain detect` finds in the same posts. Its clock moves on after each, as Add's does.
func detectAll(tb testing.TB, posts []byte, s e2e.Settings) (all []feed.Match) {
	tb.Helper()
	s.Batch = 1
	e2e.Detect(tb, posts, s, func(m *feed.Match) { all = append(all, *m) })
	return all
}

// compareEvents holds them to one another, in order and with all their fields.
func compareEvents(t interface{ Fatalf(string, ...any) }, got, want []feed.Match) {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("event %d:\n%+v, want\n%+v", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
}

// TestAddFindsWhatDetectFinds on real posts.
func TestAddFindsWhatDetectFinds(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 4000
	}
	lines := e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n)
	var posts []feed.Post
	for p, err := range oracle.Posts(bytes.NewReader(lines), 0) {
		if err == nil {
			posts = append(posts, p)
		}
	}
	for name, s := range settingsOfAdd() {
		t.Run(name, func(t *testing.T) {
			want := detectAll(t, lines, s)
			got, refused := addAll(t, newDetector(t, s), posts)
			compareEvents(t, got, want)
			if refused > 0 || len(got) < n/100 {
				t.Errorf("%d events of %d posts, %d of them refused: nothing was put to the test", len(got), n, refused)
			}
		})
	}
}

func settingsOfAdd() map[string]e2e.Settings {
	short := e2e.DefaultSettings()
	short.MinTokens, short.Window.Span, short.Window.Lateness = 1, time.Hour, time.Second
	return map[string]e2e.Settings{"default": e2e.DefaultSettings(), "min tokens 1, span 1h, lateness 1s": short}
}

// addedPost is a post as a program makes it, and as a line.
type addedPost struct {
	post feed.Post
	line string
}

// someTexts are few, so that they repeat: near, far and within one post, with many sentences, none, and what is no UTF-8.
var someTexts = []string{
	"The quick brown fox jumps over the lazy dog.", "Look! The quick brown fox jumps over the lazy dog, again.",
	"A b c d e f g h. A b c d e f g i. A b c d e f g h.", "RT @ann: a b c d e f g h", "Short.", "",
	"Caf\xff au lait costs three pounds here today", strings.Repeat("Here stands one of many. There stands another one. ", 40),
}

func drawPost(r *rapid.T, now int) addedPost {
	p := feed.Post{
		ID:     fmt.Sprint(rapid.IntRange(0, 30).Draw(r, "id")),
		Source: rapid.SampledFrom([]string{"", "s"}).Draw(r, "source"),
		Author: rapid.SampledFrom([]string{"", "ann", "ben", "cem\xfe"}).Draw(r, "author"),
		Lang:   rapid.SampledFrom([]string{"", "en"}).Draw(r, "lang"),
		Text:   rapid.SampledFrom(someTexts).Draw(r, "text"),
	}
	switch rapid.IntRange(0, 40).Draw(r, "oddity") {
	case 0:
		p.ID = ""
	case 1:
		p.ID += "\xff"
	case 2:
		p.Author = strings.Repeat("a", feed.MaxName+1)
	case 3:
		now += 1e6
	}
	line := fmt.Sprintf(`{"id":"%s","source":"%s","author":"%s","lang":"%s","text":"%s"`,
		p.ID, p.Source, p.Author, p.Lang, p.Text)
	if rapid.IntRange(0, 9).Draw(r, "untimed") > 0 {
		seconds := max(0, now-rapid.IntRange(0, 5).Draw(r, "late"))
		p.Time, p.Timed = feed.Time(seconds*1000), seconds == 0
		line += fmt.Sprintf(`,"created_at":%d`, seconds)
	}
	return addedPost{p, line + "}\n"}
}

// TestAddOfAnyPostsFindsWhatDetectFinds: redelivered and changed, late, without a time, in the future, and no posts at all.
func TestAddOfAnyPostsFindsWhatDetectFinds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := e2e.DefaultSettings()
		s.Window.Span = time.Duration(rapid.IntRange(1, 40).Draw(r, "span")) * time.Second
		s.Window.Lateness = time.Duration(rapid.IntRange(0, 5).Draw(r, "lateness")) * time.Second
		s.MinTokens = rapid.IntRange(0, 5).Draw(r, "min tokens")
		var lines strings.Builder
		var posts []feed.Post
		for i := range rapid.IntRange(1, 120).Draw(r, "posts") {
			p := drawPost(r, i/2)
			posts = append(posts, p.post)
			lines.WriteString(p.line)
		}
		got, _ := addAll(t, newDetector(t, s), posts)
		compareEvents(r, got, detectAll(t, []byte(lines.String()), s))
	})
}

// TestAddRefusesWhatIsNoPost, and has changed nothing then.
func TestAddRefusesWhatIsNoPost(t *testing.T) {
	d := newDetector(t, e2e.DefaultSettings())
	for _, p := range []feed.Post{{Text: someTexts[0]}, {ID: "1", Text: someTexts[0], Link: "ftp://example.org"}} {
		if matches, err := d.Add(p); err == nil || matches != nil {
			t.Errorf("%+v: %d matches, error %v", p, len(matches), err)
		}
	}
	if n := d.Totals().Occurrences; n > 0 {
		t.Errorf("the window holds %d sentences, want none", n)
	}
}

// TestDeletedPostsNeverWere: a Detector that has forgotten posts and authors finds what one finds that was never told of
// them, and shows none of them; what is added again counts.
func TestDeletedPostsNeverWere(t *testing.T) {
	told, never := newDetector(t, e2e.DefaultSettings()), newDetector(t, e2e.DefaultSettings())
	gone := map[string]bool{"3": true, "12": true}
	var before, after, left []feed.Post
	for i := range 40 {
		p := numberedPost(i)
		gone[p.ID] = gone[p.ID] || p.Author == "author 1"
		before, after = append(before, p), append(after, numberedPost(100+i))
		if !gone[p.ID] {
			left = append(left, p)
		}
	}
	addAll(t, told, before)
	addAll(t, never, left)
	err := told.Delete(feed.Tombstone{Post: "3"}, feed.Tombstone{Post: "12"}, feed.Tombstone{Author: "author 1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := told.Totals().Occurrences; got != len(left) {
		t.Errorf("%d sentences are left, want %d", got, len(left))
	}
	got, _ := addAll(t, told, after)
	want, _ := addAll(t, never, after)
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].ID != want[i].ID || got[i].Earlier != want[i].Earlier || got[i].First != want[i].First {
			t.Errorf("got\n%+v, want\n%+v", got[i], want[i])
		}
		if gone[got[i].Earlier.Post] || gone[got[i].First.Post] {
			t.Errorf("a match shows what was deleted: %+v", got[i])
		}
	}
	got, _ = addAll(t, told, before[:4])
	want, _ = addAll(t, never, before[:4])
	compare(t, ids(got), oracle.Sorted(ids(want)))
	if err := told.Delete(feed.Tombstone{}); err == nil {
		t.Error("a deletion of nothing is none")
	}
}

// numberedPost says one of seven texts, by one of five authors.
func numberedPost(i int) feed.Post {
	text := fmt.Sprintf("These are the words of text number %d", i%7)
	return feed.Post{ID: fmt.Sprint(i), Author: fmt.Sprint("author ", i%5), Text: text, Time: feed.Time(1000 * (1 + i))}
}

// TestBudgetOfADetector: it stays within it, and says what that takes.
func TestBudgetOfADetector(t *testing.T) {
	s, forced := e2e.DefaultSettings(), 0
	s.Window.Budget = 300 << 10
	s.Window.OnForced = func(f sigstore.Forced) { forced += f.Groups }
	d := newDetector(t, s)
	for i := range 4000 {
		text := fmt.Sprintf("Text number %d has words of its own: %d and %d", i, 3*i, 7*i)
		if _, err := d.Add(feed.Post{ID: fmt.Sprint(i), Text: text, Time: feed.Time(i)}); err != nil {
			t.Fatal(err)
		}
		if totals := d.Totals(); totals.Bytes > s.Window.Budget {
			t.Fatalf("after %d posts %d bytes, and the budget is %d", i, totals.Bytes, s.Window.Budget)
		}
	}
	if totals := d.Totals(); forced == 0 || totals.Forced != int64(forced) || totals.Span >= s.Window.Span {
		t.Errorf("%d texts were forced out, and the totals are %+v", forced, totals)
	}
}
