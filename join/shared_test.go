package join

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"refrain/internal/dataset"
	"refrain/text"
)

// expected is what is known of a file of sets: confirmed by comparing every two.
type expected struct {
	Unique int            `json:"unique_sets"`
	Pairs  map[string]int `json:"jaccard_self_join_pairs"`
}

// mustOpen opens a compressed file of the data.
func mustOpen(tb testing.TB, name string) io.Reader {
	tb.Helper()
	f, err := os.Open(dataset.File(tb, filepath.Join("setjoin", name)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	return z
}

func mustSets(tb testing.TB, name string) *Collection {
	tb.Helper()
	c := &Collection{}
	lines := bufio.NewScanner(mustOpen(tb, name+".sets.txt.gz"))
	lines.Buffer(nil, 1<<20)
	var set []uint64
	for lines.Scan() {
		set = set[:0]
		for field := range strings.FieldsSeq(lines.Text()) {
			n, err := strconv.ParseUint(field, 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			set = append(set, n)
		}
		if err := c.Add(set); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// mustPairs are the pairs that a file lists, with their similarity.
func mustPairs(tb testing.TB, name string) map[[2]int]float64 {
	tb.Helper()
	pairs := map[[2]int]float64{}
	lines := bufio.NewScanner(mustOpen(tb, name+".pairs_jaccard0.8.txt.gz"))
	for lines.Scan() {
		var a, b int
		var similarity float64
		if _, err := fmt.Sscan(lines.Text(), &a, &b, &similarity); err != nil {
			tb.Fatal(err)
		}
		pairs[[2]int{a, b}] = similarity
	}
	return pairs
}

// TestKnownPairs joins real sets by every algorithm: as many pairs as are known, and at 0.8 just those.
func TestKnownPairs(t *testing.T) {
	for _, name := range []string{"ira_2015-11", "reuters_to_0331", "zhihu_2022"} {
		var want expected
		content, err := os.ReadFile(dataset.File(t, "setjoin/"+name+".expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, &want); err != nil {
			t.Fatal(err)
		}
		c, listed := mustSets(t, name), mustPairs(t, name)
		if c.Len() != want.Unique || len(listed) != want.Pairs["0.8"] {
			t.Fatalf("%s: %d sets, %d pairs listed, want %d and %d", name, c.Len(), len(listed), want.Unique, want.Pairs["0.8"])
		}
		for threshold, pairs := range want.Pairs {
			for a := range Algorithms {
				if costly := Algorithm(a) != Ours && threshold < "0.8"; costly && !*full || testing.Short() && threshold < "0.9" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, threshold, Algorithm(a)), func(t *testing.T) {
					joinKnown(t, c, threshold, Algorithm(a), pairs, listed)
				})
			}
		}
	}
}

func joinKnown(t *testing.T, c *Collection, threshold string, a Algorithm, want int, listed map[[2]int]float64) {
	cfg := Default()
	cfg.Algorithm = a
	theta, err := text.ParseThreshold(threshold)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Measure = text.Jaccard.At(theta)
	for cfg.Workers = 1; cfg.Workers <= 4; cfg.Workers++ {
		if !*full && cfg.Workers > 1 && cfg.Workers != 1+len(threshold)%4 {
			continue
		}
		got := 0
		stats, err := Self(t.Context(), cfg, c, func(p Pair) error {
			got++
			if similarity, ok := listed[[2]int{p.A, p.B}]; threshold == "0.8" && (!ok || math.Abs(similarity-p.Similarity) > 1e-6) {
				t.Errorf("%d and %d: similarity %v, listed %v, %t", p.A, p.B, p.Similarity, similarity, ok)
			}
			return nil
		})
		if err != nil || got != want || stats.Pairs != int64(want) {
			t.Errorf("%d workers: %d pairs, want %d; %v", cfg.Workers, got, want, err)
		}
		t.Logf("%d workers: prepared in %v, joined in %v; %s", cfg.Workers, stats.Prepare, stats.Join, stats.String())
	}
}
