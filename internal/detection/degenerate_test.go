package detection_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"refrain/internal/e2e"
	"refrain/internal/oracle"
	"refrain/text"
)

// degenerate are posts at the edges: no words, one word, the same one again and again, sentences of squares of words one within
// another (where cosines are met exactly), in reverse, with one word another, and longer than a sentence may be.
func degenerate(t *testing.T) []byte {
	texts := []string{"", " ", "!!!", "🙂🙂", "https://example.org/", "RT @ann:", "@ann", "#ann #ann", "ann", "ann ann ann ann ann", "Ann!", "中", "中中中", "中国", "国中"}
	for _, n := range []int{1, 2, 3, 4, 5, 8, 9, 16, 25, 36, 64, 100, 128, 144, 225, 250, 255, 256, 257, 300, 512, 600} {
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprintf("w%d", i)
		}
		texts = append(texts, strings.Join(words, " "))
		slices.Reverse(words)
		texts = append(texts, strings.Join(append(words, words...), " "))
		words[0] = "other"
		texts = append(texts, strings.Join(words[:n], " "))
	}
	var posts bytes.Buffer
	for i, text := range slices.Concat(texts, texts) {
		line, err := json.Marshal(map[string]any{"id": fmt.Sprint(i), "text": text, "created_at": 1_700_000_000_000 + i})
		must(t, err)
		posts.Write(append(line, '\n'))
	}
	return posts.Bytes()
}

// TestDegenerateSentences compares the route with the definition, by every measure and engine, at usual thresholds, at 1 and beside it,
// at the least there is, and where sets of squares meet the cosine exactly.
func TestDegenerateSentences(t *testing.T) {
	posts := degenerate(t)
	thresholds := []string{"1", "999999/1000000", "9/10", "4/5", "800001/1000000", "3/4", "2/3", "1/2", "1/4", "1/16", "1/1000000"}
	lengths := []int{0, 1, 4}
	if testing.Short() { // for the race detector: goroutines meet alike at all of them
		thresholds, lengths = []string{"4/5", "1/16"}, []int{1}
	}
	for _, minTokens := range lengths {
		f := &oracle.Feed{MinTokens: minTokens}
		for p, err := range oracle.Posts(bytes.NewReader(posts), 0) {
			must(t, err)
			f.Add(&p)
		}
		for _, similarity := range text.Similarities {
			for _, threshold := range thresholds {
				s := e2e.DefaultSettings()
				similar := mustMeasure(t, similarity, threshold)
				s.Window.Similarity, s.Window.Threshold, s.MinTokens = similar.Similarity, similar.Threshold, minTokens
				want := oracle.IDs(f.Brute(similar, s.Window.Span))
				for _, engine := range []string{"auto", "prefix", "scan"} {
					s.Window.Engine = mustEngine(t, engine)
					found := oracle.Sorted(e2e.Detect(t, posts, s, nil))
					if missing, extra := oracle.Diff(found, want); len(missing)+len(extra) > 0 || len(want) == 0 {
						t.Errorf("%v, %d words or more, %s: %d missing, %d extra of %d", similar, minTokens, engine, len(missing), len(extra), len(want))
						for _, m := range oracle.Explain(f.Brute(similar, s.Window.Span), missing, 2) {
							t.Logf("missing: %.300s", m)
						}
					}
				}
			}
		}
	}
}
