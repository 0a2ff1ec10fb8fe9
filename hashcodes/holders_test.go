package hashcodes

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"refrain/text"
)

// outsideOf counts the tokens of a set whose codes are not inside a signature, by the definition, and the bits of all these
// codes that it lacks.
func outsideOf(m *Model, set []uint64, y Signature) (tokens, all int) {
	code := make(Signature, m.Words())
	for _, token := range set {
		missing := 0
		for i, word := range m.Code(code, token) {
			missing += bits.OnesCount32(word &^ y[i])
		}
		if all += missing; missing > 0 {
			tokens++
		}
	}
	return tokens, all
}

// alone counts the bits that y has and x lacks.
func alone(x, y Signature) (n int) {
	for i, word := range y {
		n += bits.OnesCount32(word &^ x[i])
	}
	return n
}

func signed(m *Model, set []uint64) Signature { return m.Sign(make(Signature, m.Words()), set) }

// TestHoldersAreContainment compares with the definition, at the bounds and one beyond each, for sets of up to MaxSize tokens
// of which the model knows some. What passes also passes the counters, which add the missing bits of all tokens up; with
// one bit a token it is the same.
func TestHoldersAreContainment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		x, y := drawSizedSet(t, "x"), drawSizedSet(t, "y")
		h := m.Hold(m.Hold(NewHolders(m.Bits()), y), x) // of another set first
		sx, sy := signed(m, x), signed(m, y)
		outside, all := outsideOf(m, x, sy)
		further := alone(sx, sy)
		for _, c := range []struct {
			tokens, further int
			want            bool
		}{{outside, further, true}, {outside - 1, further, false}, {outside, further - 1, false}, {outside + 1, further + 1, true}} {
			if got := h.Within(sx, sy, c.tokens, c.further); got != c.want {
				t.Fatalf("%d of %d tokens outside, %d further bits: within %d and %d %t", outside, len(x), further, c.tokens,
					c.further, got)
			}
		}
		if all > m.Ones()*outside || m.Ones() == 1 && all != outside {
			t.Fatalf("%d ones: %d bits of %d tokens", m.Ones(), all, outside)
		}
	})
}

// drawSizedSet draws a set of tokens below 800 of a size that is few or many, or at the edge of a word of 64 tokens.
func drawSizedSet(t *rapid.T, name string) (set []uint64) {
	size := rapid.SampledFrom([]int{0, 1, 3, 12, 63, 64, 65, 128, 129, 192, 193, MaxSize}).Draw(t, "size of "+name)
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name), 1))
	for _, token := range r.Perm(800)[:size] {
		set = append(set, uint64(token))
	}
	return set
}

// TestHoldersInOrder: what is given away is, for each bit of the signature, the tokens whose codes have it.
func TestHoldersInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, x := drawModel(t), drawSizedSet(t, "x")
		sig, code := signed(m, x), make(Signature, m.Words())
		got := m.Hold(NewHolders(m.Bits()), x).AppendOf([]uint64{7}, sig)
		words := max(1, (len(x)+63)/64)
		want := []uint64{7}
		for bit := range m.Bits() {
			if sig[bit/32]>>(bit%32)&1 == 0 {
				continue
			}
			of := make([]uint64, words)
			for i, token := range x {
				of[i/64] |= uint64(m.Code(code, token)[bit/32]>>(bit%32)&1) << (i % 64)
			}
			want = append(want, of...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestHoldersOfSomeBits: of a row of which only some bits are known, a code is outside if one of those bits is missing.
func TestHoldersOfSomeBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		x, y := drawSets(t)
		sx, sy, mask := signed(m, x), signed(m, y), make(Signature, m.Words())
		for i := range mask {
			mask[i] = rapid.Uint32().Draw(t, "known")
			sx[i], sy[i] = sx[i]&mask[i], sy[i]&mask[i]
		}
		outside := 0
		code := make(Signature, m.Words())
		for _, token := range x {
			for i, word := range m.Code(code, token) {
				if word&mask[i]&^sy[i] != 0 {
					outside++
					break
				}
			}
		}
		h, further := m.Hold(NewHolders(m.Bits()), x), alone(sx, sy)
		if !h.Within(sx, sy, outside, further) || outside > 0 && h.Within(sx, sy, outside-1, further) {
			t.Fatalf("want %d tokens outside, %d further bits", outside, further)
		}
	})
}

// TestHoldersLoseNothing draws two similar sets, a model of any shape and a measure: where they are similar enough, either
// may ask for the other, and what passes lies within the radius.
func TestHoldersLoseNothing(t *testing.T) {
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

// compare says whether y passes the holders of x, and lies within the radius.
func compare(m *Model, b *Bounds, x, y []uint64) (passes, within bool) {
	s := b.For(len(x))
	if len(y) < s.Min || len(y) > s.Max {
		return false, false
	}
	sx, sy := signed(m, x), signed(m, y)
	tokens, further := s.Apart(len(y))
	return m.Hold(NewHolders(m.Bits()), x).Within(sx, sy, tokens, further), Distance(sx, sy) <= int(s.Radius[len(y)-s.Min])
}

// TestHolders: of five tokens at threshold 0.6 one may differ in sets of one size.
func TestHolders(t *testing.T) {
	one := []Entry{
		{Token: 1, Positions: []uint8{3}}, {Token: 2, Positions: []uint8{3}}, {Token: 3, Positions: []uint8{3}},
		{Token: 4, Positions: []uint8{4}}, {Token: 5, Positions: []uint8{5}}, {Token: 6, Positions: []uint8{6}},
		{Token: 7}, {Token: 8}, {Token: 9, Positions: []uint8{4}},
	}
	two := []Entry{
		{Token: 1, Positions: []uint8{1, 2}}, {Token: 2, Positions: []uint8{3, 4}}, {Token: 3, Positions: []uint8{5, 6}},
		{Token: 4, Positions: []uint8{7, 8}}, {Token: 5, Positions: []uint8{9, 10}}, {Token: 6, Positions: []uint8{1, 3}},
		{Token: 7, Positions: []uint8{2, 4}}, {Token: 8, Positions: []uint8{2, 5}}, {Token: 9},
	}
	for _, c := range []struct {
		name           string
		ones           int
		entries        []Entry
		x, y           []uint64
		passes, within bool
	}{
		{"bit 3 is gone, and with it three tokens", 1, one, []uint64{1, 2, 3, 4, 5}, []uint64{6, 7, 8, 4, 5}, false, true},
		{"the other way round nobody can tell", 1, one, []uint64{6, 7, 8, 4, 5}, []uint64{1, 2, 3, 4, 5}, true, true},
		{"these are similar", 1, one, []uint64{1, 2, 3, 4, 5}, []uint64{1, 2, 3, 4, 6}, true, true},
		{"bit 5 is gone", 1, one, []uint64{1, 4, 7, 8, 5}, []uint64{7, 8, 9, 1, 2}, true, true},
		{"bit 5 for bit 6", 1, one, []uint64{1, 4, 5, 7, 8}, []uint64{6, 7, 8, 9, 1}, true, true},
		{"two bits", 1, one, []uint64{1, 5, 6, 7, 8}, []uint64{7, 8, 9, 1, 2}, false, false},
		{"one token with both bits gone", 2, two, []uint64{1, 2, 3, 4, 5}, []uint64{1, 2, 3, 4, 9}, true, true},
		{"two tokens with a bit gone each: two bits, as before", 2, two, []uint64{1, 2, 3, 4, 5}, []uint64{6, 3, 4, 5, 9}, false, true},
		{"the other way round", 2, two, []uint64{6, 3, 4, 5, 9}, []uint64{1, 2, 3, 4, 5}, true, true},
	} {
		m, err := New(Description{Bits: 32, Ones: c.ones, Learner: "test"}, c.entries)
		if err != nil {
			t.Fatal(err)
		}
		b := NewBounds(text.Jaccard.At(text.Threshold{Num: 3, Den: 5}), c.ones)
		passes, within := compare(m, b, c.x, c.y)
		if passes != c.passes || within != c.within {
			t.Errorf("%s: %v asks for %v: passes %t, within the radius %t; want %t, %t", c.name, c.x, c.y, passes, within, c.passes,
				c.within)
		}
	}
}

// TestHoldersAreReset: after a set of many tokens and another of few, they are those of the few.
func TestHoldersAreReset(t *testing.T) {
	m := mustMD5(t, 64, 2)
	many := make([]uint64, MaxSize)
	for i := range many {
		many[i] = uint64(i)
	}
	h := m.Hold(NewHolders(64), many)
	for _, n := range []int{64, 65, 0, 1, 128, 3} {
		want := m.Hold(NewHolders(64), many[:n])
		if diff := cmp.Diff(want, m.Hold(h, many[:n]), cmp.AllowUnexported(Holders{})); diff != "" {
			t.Errorf("%d tokens (-new +again):\n%s", n, diff)
		}
	}
}
