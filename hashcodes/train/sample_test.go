package train

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// numbered yields the sets {0}, {1}, … {n-1}.
func numbered(n int) [][]uint64 {
	sets := make([][]uint64, n)
	for i := range sets {
		sets[i] = []uint64{uint64(i)}
	}
	return sets
}

func TestCollectKeepsSomeOfAll(t *testing.T) {
	s := Collect(slices.Values(numbered(50_000)), 1000, 7)
	if len(s.Learning) != 1000 || len(s.Validation) != 100 || s.Seen != 50_000 {
		t.Fatalf("%d to learn from, %d to validate, %d seen", len(s.Learning), len(s.Validation), s.Seen)
	}
	all := slices.Concat(s.Learning, s.Validation)
	if !slices.IsSortedFunc(all, slices.Compare[[]uint64]) {
		t.Error("not in the order of arrival: the validation sets must be the last")
	}
	firstHalf := 0
	for _, set := range all {
		if set[0] < 25_000 {
			firstHalf++
		}
	}
	if firstHalf < 450 || firstHalf > 650 {
		t.Errorf("%d of 1,100 kept sets are of the first half of the stream", firstHalf)
	}
}

// TestCollectIgnoresRepeats: which sets are kept depends neither on how often they come nor on the order.
func TestCollectIgnoresRepeats(t *testing.T) {
	sets := numbered(5000)
	want := sampledOf(Collect(slices.Values(sets), 300, 7))
	repeated := slices.Concat(sets, sets[:100], sets, [][]uint64{{}}, sets[4000:])
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(repeated), func(i, j int) { repeated[i], repeated[j] = repeated[j], repeated[i] })
	if diff := cmp.Diff(want, sampledOf(Collect(slices.Values(repeated), 300, 7))); diff != "" {
		t.Errorf("(-once +repeated):\n%s", diff)
	}
	seen := map[uint64]uint32{}
	for _, set := range repeated {
		if len(set) > 0 {
			seen[set[0]]++
		}
	}
	again := Collect(slices.Values(repeated), 300, 7)
	for i, set := range again.Learning {
		if again.Counts[i] != seen[set[0]] {
			t.Fatalf("set %v came %d times, counted %d", set, seen[set[0]], again.Counts[i])
		}
	}
	if len(again.Counts) != len(again.Learning) {
		t.Errorf("%d counts of %d sets", len(again.Counts), len(again.Learning))
	}
	if cmp.Equal(want, sampledOf(Collect(slices.Values(sets), 300, 8))) {
		t.Error("another seed keeps the same sets")
	}
}

func sampledOf(s *Sample) [][]uint64 {
	all := slices.Concat(s.Learning, s.Validation)
	slices.SortFunc(all, slices.Compare[[]uint64])
	return all
}

// TestCollectCopies: the stream may reuse its slice.
func TestCollectCopies(t *testing.T) {
	s := Collect(func(yield func([]uint64) bool) {
		set := make([]uint64, 1)
		for i := range 20 {
			set[0] = uint64(i)
			if !yield(set) {
				return
			}
		}
	}, 100, 1)
	if diff := cmp.Diff(numbered(20), slices.Concat(s.Learning, s.Validation)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFrequent(t *testing.T) {
	var sets [][]uint64
	for i := range uint64(10) {
		for range i {
			sets = append(sets, []uint64{i, 100})
		}
	}
	got := frequent(sets, 4)
	if want := []word{{100, 45}, {9, 9}, {8, 8}, {7, 7}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := len(frequent(sets, 100)); n != 6 {
		t.Errorf("%d tokens are in %d sets or more, want 6", n, minFrequency)
	}
}
