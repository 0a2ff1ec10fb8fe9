package hashcodes

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"refrain/text"
)

// counted is the counting Bloom filter of a set, by its definition.
func counted(m *Model, set []uint64) Counters {
	c := make(Counters, m.Bits())
	code := make(Signature, m.Words())
	for _, token := range set {
		for _, bit := range m.Code(code, token).positions() {
			c[bit]++
		}
	}
	return c
}

// TestCount compares with the definition.
func TestCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := drawModel(t)
		x, y := drawSets(t)
		dst := model.Count(make(Counters, 256), x) // of another set first, and longer than need be
		if got, want := model.Count(dst[:256], y), counted(model, y); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestCountersLoseNothing draws two similar sets, a model of any shape and a measure: where they are similar enough, either
// may ask for the other, and what passes lies within the radius.
func TestCountersLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := drawModel(t)
		x, y := drawSets(t)
		common, union := commonAndUnion(x, y)
		for _, measure := range []text.Measure{drawMeasure(t), text.Jaccard.At(text.Threshold{Num: common, Den: union}),
			text.Dice.At(text.Threshold{Num: 2 * common, Den: len(x) + len(y)})} {
			similar := measure.Reaches(common, len(x), len(y))
			b := NewBounds(measure, model.Ones())
			for _, pair := range [][2][]uint64{{x, y}, {y, x}} {
				passes, within := compare(model, b, pair[0], pair[1])
				if similar && !passes {
					t.Fatalf("%d common reach %v, sizes %d and %d: left out", common, measure, len(pair[0]), len(pair[1]))
				}
				if passes && !within {
					t.Fatalf("%v, sizes %d and %d: outside the radius", measure, len(pair[0]), len(pair[1]))
				}
			}
		}
	})
}

// compare says whether y passes the counters of x, and lies within the radius.
func compare(m *Model, b *Bounds, x, y []uint64) (passes, within bool) {
	s := b.For(len(x))
	if len(y) < s.Min || len(y) > s.Max {
		return false, false
	}
	sx, sy := m.Sign(make(Signature, m.Words()), x), m.Sign(make(Signature, m.Words()), y)
	own, other := s.Apart(len(y))
	return m.Count(make(Counters, m.Bits()), x).Within(sx, sy, own, other), Distance(sx, sy) <= int(s.Radius[len(y)-s.Min])
}

// TestCounters: of five tokens at threshold 0.6 one may differ in sets of one size. Three that share a bit cannot all be
// it, though the signatures differ in two bits only.
func TestCounters(t *testing.T) {
	m, err := New(Description{Bits: 32, Ones: 1, Learner: "test"}, []Entry{
		{Token: 1, Positions: []uint8{3}}, {Token: 2, Positions: []uint8{3}}, {Token: 3, Positions: []uint8{3}},
		{Token: 4, Positions: []uint8{4}}, {Token: 5, Positions: []uint8{5}}, {Token: 6, Positions: []uint8{6}},
		{Token: 7}, {Token: 8}, {Token: 9, Positions: []uint8{4}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := NewBounds(text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), 1)
	for _, c := range []struct {
		x, y           []uint64
		passes, within bool
	}{
		{[]uint64{1, 2, 3, 4, 5}, []uint64{6, 7, 8, 4, 5}, false, true}, // bit 3 is gone, and with it three tokens
		{[]uint64{6, 7, 8, 4, 5}, []uint64{1, 2, 3, 4, 5}, true, true},  // the other way round nobody can tell
		{[]uint64{1, 2, 3, 4, 5}, []uint64{1, 2, 3, 4, 6}, true, true},  // these are similar
		{[]uint64{1, 4, 7, 8, 5}, []uint64{7, 8, 9, 1, 2}, true, true},  // bit 5 is gone
		{[]uint64{1, 4, 5, 7, 8}, []uint64{6, 7, 8, 9, 1}, true, true},  // bit 5 for bit 6
		{[]uint64{1, 5, 6, 7, 8}, []uint64{7, 8, 9, 1, 2}, false, false},
	} {
		passes, within := compare(m, b, c.x, c.y)
		if passes != c.passes || within != c.within {
			t.Errorf("%v asks for %v: passes %t, within the radius %t; want %t, %t", c.x, c.y, passes, within, c.passes, c.within)
		}
	}
}
