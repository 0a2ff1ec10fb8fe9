package train

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"refrain/hashcodes"
	"refrain/internal/dataset"
	"refrain/internal/oracle"
	"refrain/text"
)

// corpora are files of posts.
var corpora = []struct{ name, file string }{
	{"ira", "stream/ira_2012-02_2016-08.jsonl.zst"},
	{"weibo", "stream/weibo_ced_2010-2012.jsonl.zst"},
	{"hot", "stream/weibo_hot_2020-11_2023-12.jsonl.gz"},
	{"reuters", "news/reuters21578_to_1987-03-31.jsonl.gz"},
}

// TestLearnedCodesLoseNothing: of real text, every two sentences that the definition says match lie within the radius
// under learned codes, and pass each other's holders, at the threshold they were learned for and at others.
func TestLearnedCodesLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long: runs without -short")
	}
	for _, c := range corpora {
		t.Run(c.name, func(t *testing.T) {
			posts := 2000
			if c.name == "reuters" {
				posts = 300 // of many sentences each
			}
			f := &oracle.Feed{MinTokens: 4}
			if _, err := f.ReadFile(dataset.File(t, c.file), posts); err != nil {
				t.Fatal(err)
			}
			var sets [][]uint64
			for _, s := range f.Sentences() {
				sets = append(sets, s.Tokens)
			}
			sample := Collect(slices.Values(sets), 300, 1)
			index := f.Index()
			for _, learner := range Learners {
				config := Config{Learner: learner, Bits: 32, Ones: 2, Measure: fourFifths, Vocabulary: 200, Seed: 1, Workers: 2,
					Lambdas: Default().Lambdas, Affinities: Default().Affinities}
				m, _ := mustLearn(t, config, sample)
				for _, threshold := range []string{"0.5", "0.6", "0.8", "1"} {
					for _, similarity := range []text.Similarity{text.Jaccard, text.Cosine, text.Dice} {
						checkLossless(t, index, m, similarity, threshold)
					}
				}
			}
		})
	}
}

func checkLossless(t *testing.T, index *oracle.Index, m *hashcodes.Model, similarity text.Similarity, s string) {
	t.Helper()
	threshold, err := text.ParseThreshold(s)
	if err != nil {
		t.Fatal(err)
	}
	similar := similarity.At(threshold)
	matches, outside := 0, 0
	var worst string
	for match := range index.Matches(similar, 87600*time.Hour) {
		a, b := match.Later.Tokens, match.Earlier.Tokens
		d := hashcodes.Distance(m.Sign(make(hashcodes.Signature, m.Words()), a), m.Sign(make(hashcodes.Signature, m.Words()), b))
		matches++
		radius := hashcodes.Radius(similar, m.Ones(), len(a), len(b))
		if d > radius || !passes(m, similar, a, b) || !passes(m, similar, b, a) {
			outside++
			worst = fmt.Sprintf("distance %d, radius %d: %v", d, radius, match)
		}
	}
	if outside > 0 || matches == 0 {
		t.Errorf("%s, %v: %d of %d matching pairs outside the radius, for example %s", m.Name(), similar, outside, matches, worst)
	}
}

// passes reports whether y passes the holders of x.
func passes(m *hashcodes.Model, similar text.Measure, x, y []uint64) bool {
	tokens, further := hashcodes.NewBounds(similar, m.Ones()).For(len(x)).Apart(len(y))
	sx, sy := m.Sign(make(hashcodes.Signature, m.Words()), x), m.Sign(make(hashcodes.Signature, m.Words()), y)
	return m.Hold(hashcodes.NewHolders(m.Bits()), x).Within(sx, sy, tokens, further)
}
