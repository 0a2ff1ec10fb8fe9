package lossless

import (
	"math/rand/v2"
	"slices"
	"testing"

	"refrain/hashcodes"
	"refrain/lab/eval"
	"refrain/text"
)

// TestModelsAreKept: what is in the folder is taken, not learned again; another seed is another model.
func TestModelsAreKept(t *testing.T) {
	s := smallSpec("ner")
	dir := t.TempDir()
	first := mustModel(t, &trainer{dir: dir, earlier: earlierSets(), logf: t.Logf}, s)
	again := mustModel(t, &trainer{dir: dir, logf: t.Logf}, s) // which has nothing to learn from
	if !slices.EqualFunc(slices.Collect(first.Entries()), slices.Collect(again.Entries()), equalEntries) ||
		again.CPU != first.CPU {
		t.Errorf("%v after %v s, read again %v after %v s", first.Name(), first.CPU, again.Name(), again.CPU)
	}
	s.seed++
	if _, err := (&trainer{dir: dir, logf: t.Logf}).model(t.Context(), s); err == nil {
		t.Error("a model of another seed was taken")
	}
}

// TestFewerOnesAreTheSameModel: models does not learn again what a learner that was allowed more ones states fewer of. That
// is right only as long as direct learns for each number by itself.
func TestFewerOnesAreTheSameModel(t *testing.T) {
	s := smallSpec("direct")
	tr := &trainer{earlier: earlierSets(), logf: t.Logf}
	both, err := tr.models(t.Context(), s, []int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	if both[1].Ones() != 1 || both[0].Model != both[1].Model {
		t.Fatalf("states %d ones: the test needs a text where one is better", both[1].Ones())
	}
	s.ones = 1
	alone := mustModel(t, &trainer{earlier: earlierSets(), logf: t.Logf}, s)
	if !slices.EqualFunc(slices.Collect(alone.Entries()), slices.Collect(both[0].Entries()), equalEntries) {
		t.Error("learned for one bit alone, the codes are others")
	}
}

func smallSpec(learner string) spec {
	return spec{"random", learner, 32, 2, text.Threshold{Num: 3, Den: 5}, 50, 600, 1}
}

func earlierSets() [][]uint64 {
	return distinct(randomSets(rand.New(rand.NewPCG(7, 8)), 900, 300))
}

func mustModel(t *testing.T, tr *trainer, s spec) trained {
	t.Helper()
	m, err := tr.model(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func equalEntries(a, b hashcodes.Entry) bool {
	return a.Token == b.Token && a.Hashed == b.Hashed && slices.Equal(a.Positions, b.Positions)
}

// TestSpecNames: no two models share a file.
func TestSpecNames(t *testing.T) {
	c := &eval.Config{Seed: 1}
	size, seen := sizesOf(c), map[string]bool{}
	for _, learner := range laterLearners[1:] {
		for _, bits := range []int{32, 64} {
			for _, ones := range laterOnes {
				for _, threshold := range thresholds {
					name := size.spec(c, "ira", learner, bits, ones, threshold).String()
					if seen[name] {
						t.Errorf("two models are %s", name)
					}
					seen[name] = true
				}
			}
		}
	}
}
