package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"refrain/feed"
	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/text"
)

// Two texts of 8 and 12 words, 8 in common: Jaccard 0.667, cosine 0.816, Dice 0.8.
const (
	eightWords  = "one two three four five six seven eight"
	twelveWords = eightWords + " nine ten eleven twelve"
)

// testBegan is the time of the posts: a text is looked up as of now.
var testBegan = time.Now()

func postOf(id, text string) []byte {
	return fmt.Appendf(nil, `{"id":"%s","created_at":%d,"text":"%s"}`+"\n", id, testBegan.UnixMilli(), text)
}

// matchPosts asks with a threshold, as JSON, and returns the posts whose sentences match, or the refusal.
func matchPosts(p *e2e.Process, threshold string) (status int, posts []string, answer string) {
	p.TB.Helper()
	question := fmt.Sprintf(`{"text":"%s","threshold":%s}`, eightWords, threshold)
	resp, err := http.Post(p.URL("/v1/match"), "application/json", strings.NewReader(question))
	if err != nil {
		p.TB.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.TB.Fatal(err)
	}
	var a struct {
		Sentences []struct {
			Matches []struct {
				Measure string
				Earlier struct{ Post string }
			}
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		p.TB.Fatal(err)
	}
	for _, s := range a.Sentences {
		for _, m := range s.Matches {
			posts = append(posts, m.Measure+" "+m.Earlier.Post)
		}
	}
	slices.Sort(posts)
	return resp.StatusCode, posts, string(body)
}

// TestMatchFromAThreshold: at or above the window's, compared as numbers, by the window's measure; below it nothing is
// known, and that is said.
func TestMatchFromAThreshold(t *testing.T) {
	p := e2e.New(t, "REFRAIN_WINDOW_MEASURE=cosine")
	p.Start()
	posts := [][]byte{postOf("8", eightWords), postOf("12", twelveWords)}
	p.Feed(posts, 2, func(int) {})
	p.Events()
	for _, threshold := range []string{`0.8`, `"0.8"`, `"4/5"`, `"8/10"`, `0.80`, `0.81`, `"40/49"`} {
		if _, got, answer := matchPosts(p, threshold); !slices.Equal(got, []string{"cosine 12", "cosine 8"}) {
			t.Errorf("%s: got %q: %s", threshold, got, answer)
		}
	}
	for _, threshold := range []string{`0.817`, `"9/11"`, `1`} {
		if _, got, answer := matchPosts(p, threshold); !slices.Equal(got, []string{"cosine 8"}) {
			t.Errorf("%s: got %q: %s", threshold, got, answer)
		}
	}
	for threshold, why := range map[string]string{
		`0.79`: "nothing below 0.8", `"3/4"`: "nothing below 0.8", `0`: "more than 0", `1.5`: "at most 1", `"high"`: "want a decimal",
		`null`: "want a number", `""`: "want a number",
	} {
		status, _, answer := matchPosts(p, threshold)
		if status != http.StatusBadRequest || !strings.Contains(answer, why) {
			t.Errorf("%s: got %d: %s, want 400 and %q", threshold, status, answer, why)
		}
	}
}

// TestAnotherMeasure: as with another threshold, a data directory goes on with it. The window is filled anew by it,
// what was told stays told, and what comes now is told by the new one.
func TestAnotherMeasure(t *testing.T) {
	p := e2e.New(t, "REFRAIN_WINDOW_MEASURE=cosine")
	p.Start()
	posts := [][]byte{postOf("8", eightWords), postOf("12", twelveWords)}
	p.Feed(posts, 2, func(int) {})
	cosine := detectedBy(t, text.Cosine, posts)
	if missing, extra := oracle.Diff(p.Events(), cosine); len(missing)+len(extra) > 0 || len(cosine) != 1 {
		t.Fatalf("%d events missing, %d extra, of %d", len(missing), len(extra), len(cosine))
	}
	if _, body := p.Get("/v1/explain?a=one+two+three+four+five+six&b=one+two+three+four"); !strings.Contains(body, `{"measure":"cosine","threshold":"4/5"`) ||
		!strings.Contains(body, "cosine 4/√(6·4) = 0.816 reaches 4/5") {
		t.Errorf("explained as %s", body)
	}
	if err := p.Kill(syscall.SIGTERM); err != nil { // which saves how far it has come
		t.Fatal(err)
	}
	p.Env = append(p.Env, "REFRAIN_WINDOW_MEASURE=dice")
	p.Start()
	later := postOf("8 again", eightWords)
	p.Feed([][]byte{later}, 1, func(int) {})
	both := detectedBy(t, text.Dice, append(posts, later))
	before := detectedBy(t, text.Dice, posts)
	want := slices.DeleteFunc(both, func(id feed.Hash) bool { return slices.Contains(before, id) })
	want = oracle.Sorted(append(cosine, want...))
	if missing, extra := oracle.Diff(p.Events(), want); len(missing)+len(extra) > 0 || len(want) != 3 {
		t.Errorf("%d events missing, %d extra, of %d", len(missing), len(extra), len(want))
	}
	if _, got, answer := matchPosts(p, `0.8`); !slices.Equal(got, []string{"dice 12", "dice 8"}) {
		t.Errorf("got %q: %s", got, answer)
	}
}

func detectedBy(t *testing.T, s text.Similarity, posts [][]byte) []feed.Hash {
	t.Helper()
	settings := e2e.DefaultSettings()
	settings.Window.Similarity = s
	return oracle.Sorted(e2e.Detect(t, bytes.Join(posts, nil), settings, nil))
}

// TestAnotherMeasureAfterACrash: whatever was decided before by one measure, or threshold, and what after by the other: each event is
// right by one of the two, what comes after the change is found by the new one in all that came before, and what both find is
// not lost between them.
func TestAnotherMeasureAfterACrash(t *testing.T) {
	n := 2000
	if *e2e.Full {
		n = 4000
	}
	posts := e2e.SplitLines(e2e.Lines(t, "stream/ira_2012-02_2016-08.jsonl.zst", n))
	for _, change := range [][2]text.Measure{
		{text.Cosine.At(text.DefaultThreshold), text.Dice.At(text.DefaultThreshold)},
		{text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), text.Cosine.At(text.Threshold{Num: 9, Den: 10})},
		{text.Jaccard.At(text.Threshold{Num: 9, Den: 10}), text.Jaccard.At(text.Threshold{Num: 1, Den: 2})},
		{text.Jaccard.At(text.Threshold{Num: 1, Den: 2}), text.Jaccard.At(text.Threshold{Num: 9, Den: 10})},
	} {
		t.Run(fmt.Sprintf("%v to %v", change[0], change[1]), func(t *testing.T) {
			before, after := posts[:len(posts)/2], posts[len(posts)/2:]
			p := e2e.New(t)
			setMeasure(p, change[0])
			p.Start()
			p.Feed(before, 500, func(int) {})
			_ = p.Kill(syscall.SIGKILL) // while some of them are on their way
			setMeasure(p, change[1])
			p.Start()
			p.Feed(after, 500, func(int) {})
			got := namesOf(p.Matches())
			old, young, all := matchedBy(t, change[0], before), matchedBy(t, change[1], before), matchedBy(t, change[1], posts)
			for id, pair := range got.pairs {
				if old.pairs[id] != pair && all.pairs[id] != pair {
					t.Errorf("%s is right by neither", pair)
				}
			}
			for id, pair := range all.pairs {
				if young.pairs[id] == "" && got.pairs[id] == "" {
					t.Errorf("%s came after the change and is missing", pair)
				}
			}
			for pair := range old.known {
				if young.known[pair] && !got.known[pair] {
					t.Errorf("%s is missing by both", pair)
				}
			}
			t.Logf("%d events, %d by the old measure, %d by the new one", len(got.pairs), len(old.pairs), len(all.pairs))
		})
	}
}

func setMeasure(p *e2e.Process, m text.Measure) {
	p.Env = append(p.Env, "REFRAIN_WINDOW_MEASURE="+m.Similarity.String(), "REFRAIN_WINDOW_THRESHOLD="+m.Threshold.String())
}

// names are events by their ids, and the pairs of a sentence and a text that they are of, which other measures have too.
type names struct {
	pairs map[feed.Hash]string
	known map[string]bool
}

func namesOf(matches []feed.Match) names {
	n := names{map[feed.Hash]string{}, map[string]bool{}}
	for _, m := range matches {
		pair := fmt.Sprintf("sentence %d of %s, repeating %s", m.Later.Sentence, m.Later.Post, m.Group)
		n.pairs[m.ID], n.known[pair] = pair, true
	}
	return n
}

func matchedBy(t *testing.T, m text.Measure, posts [][]byte) names {
	t.Helper()
	settings := e2e.DefaultSettings()
	settings.Window.Similarity, settings.Window.Threshold = m.Similarity, m.Threshold
	var matches []feed.Match
	e2e.Detect(t, bytes.Join(posts, nil), settings, func(m *feed.Match) { matches = append(matches, *m) })
	return namesOf(matches)
}
