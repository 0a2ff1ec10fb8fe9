//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"refrain/cuda/driver"
)

// warpInput is the input of a block, or for products of a warp, as the thread at hand sees it.
type warpInput struct {
	in   [][3]uint32
	lane int
}

func (w warpInput) fragments() (a [32][4]uint32, b [32][2]uint32, c [32][4]uint32) {
	for i, x := range w.in {
		a[i], b[i], c[i] = [4]uint32{x[0], x[1], x[2], x[0]}, [2]uint32{x[1], x[2]}, [4]uint32{x[2], x[0], x[1], x[1]}
	}
	return a, b, c
}

// product is the sums of the lane at hand: matrices are laid out element by element, as the formulas of the PTX manual say, of
// elements of so many bits.
func (w warpInput) product(size, halves int, times func(a, b uint32) int32) (sums [4]uint32) {
	a, b, c := w.fragments()
	per := 32 / size // elements a register
	element := func(register uint32, i int) uint32 { return register >> (i % per * size) & (1<<size - 1) }
	columns := 4 * per * halves
	rowsA, columnsB := make([][]uint32, 16), make([][]uint32, 8)
	for i := range rowsA {
		rowsA[i] = make([]uint32, columns)
	}
	for i := range columnsB {
		columnsB[i] = make([]uint32, columns)
	}
	for lane := range 32 {
		group, quad := lane/4, lane%4
		for i := range 2 * halves * per {
			row, k := group, quad*per+i%per
			if i/per%2 == 1 {
				row += 8
			}
			if i >= 2*per {
				k += 4 * per
			}
			rowsA[row][k] = element(a[lane][i/per], i)
		}
		for i := range halves * per {
			columnsB[group][quad*per+i%per+i/per*4*per] = element(b[lane][i/per], i)
		}
	}
	for i := range sums {
		row, column := w.lane/4+i/2*8, w.lane%4*2+i%2
		sums[i] = c[w.lane][i]
		for k := range columns {
			sums[i] += uint32(times(rowsA[row][k], columnsB[column][k]))
		}
	}
	return sums
}

func signedBytes(a, b uint32) int32 { return int32(int8(a)) * int32(int8(b)) }
func bothBits(a, b uint32) int32    { return int32(a & b) }

func one(p bool) uint32 {
	if p {
		return 1
	}
	return 0
}

const products = "{%r20,%r21,%r22,%r23}, {%r2,%r3,%r4,%r2}, {%r3,%r4}, {%r4,%r2,%r3,%r3};"

// Every instruction that the fake driver knows does what Go does.
func TestInstructions(t *testing.T) {
	type numbers func(a, b, c uint32) uint32
	word := func(f numbers) func(warpInput) (uint32, uint32) {
		return func(w warpInput) (uint32, uint32) { x := w.in[w.lane]; return f(x[0], x[1], x[2]), 0 }
	}
	long := func(f func(x, y uint64, c uint32) uint64) func(warpInput) (uint32, uint32) {
		return func(w warpInput) (uint32, uint32) {
			in := w.in[w.lane]
			got := f(uint64(in[0])|uint64(in[1])<<32, uint64(in[1])|uint64(in[2])<<32, in[2])
			return uint32(got), uint32(got >> 32)
		}
	}
	sums := func(size, halves, first int, times func(a, b uint32) int32) func(warpInput) (uint32, uint32) {
		return func(w warpInput) (uint32, uint32) {
			sums := w.product(size, halves, times)
			return sums[first], sums[first+1]
		}
	}
	type test struct {
		body string // %r10 and %r11 are what it gives
		want func(warpInput) (lo, hi uint32)
	}
	split := "mov.b64 {%r10,%r11}, %rd7;"
	tests := []test{
		{"add.s32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return a + b })},
		{"sub.s32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return a - b })},
		{"neg.s32 %r10, %r2;", word(func(a, _, _ uint32) uint32 { return -a })},
		{"popc.b64 %r10, %rd5;", word(func(a, b, _ uint32) uint32 { return uint32(bits.OnesCount32(a) + bits.OnesCount32(b)) })},
		{"or.b64 %rd7, %rd5, %rd6;" + split, long(func(x, y uint64, _ uint32) uint64 { return x | y })},
		{"mul.lo.s32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return a * b })},
		{"mad.lo.s32 %r10, %r2, %r3, %r4;", word(func(a, b, c uint32) uint32 { return a*b + c })},
		{"div.u32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 {
			if b == 0 {
				return 1<<32 - 1
			}
			return a / b
		})},
		{"rem.u32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 {
			if b == 0 {
				return a
			}
			return a % b
		})},
		{"min.u32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return min(a, b) })},
		{"max.u32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return max(a, b) })},
		{"min.s32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return uint32(min(int32(a), int32(b))) })},
		{"max.s32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return uint32(max(int32(a), int32(b))) })},
		{"and.b32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return a & b })},
		{"or.b32 %r10, %r2, -256;", word(func(a, _, _ uint32) uint32 { return a | 0xffffff00 })},
		{"xor.b32 %r10, %r2, %r3;", word(func(a, b, _ uint32) uint32 { return a ^ b })},
		{"not.b32 %r10, %r2;", word(func(a, _, _ uint32) uint32 { return ^a })},
		{"and.b32 %r20, %r3, 63; shl.b32 %r10, %r2, %r20;", word(func(a, b, _ uint32) uint32 { return a << (b % 64) })},
		{"and.b32 %r20, %r3, 63; shr.u32 %r10, %r2, %r20;", word(func(a, b, _ uint32) uint32 { return a >> (b % 64) })},
		{"and.b32 %r20, %r3, 63; shr.s32 %r10, %r2, %r20;", word(func(a, b, _ uint32) uint32 { return uint32(int32(a) >> (b % 64)) })},
		{"popc.b32 %r10, %r2;", word(func(a, _, _ uint32) uint32 { return uint32(bits.OnesCount32(a)) })},
		{"brev.b32 %r10, %r2;", word(func(a, _, _ uint32) uint32 { return bits.Reverse32(a) })},
		{"bfind.shiftamt.u32 %r10, %r2;", word(func(a, _, _ uint32) uint32 {
			if a == 0 {
				return 1<<32 - 1
			}
			return uint32(bits.LeadingZeros32(a))
		})},
		{"bfi.b32 %r10, %r2, %r3, 5, 9;", word(func(a, b, _ uint32) uint32 { return b&^(511<<5) | a&511<<5 })},
		{"bfi.b32 %r10, %r2, %r3, 29, 9;", word(func(a, b, _ uint32) uint32 { return b&^(7<<29) | a<<29 })},
		{"selp.b32 %r10, %r2, %r3, %p1;", word(func(a, b, _ uint32) uint32 { return one(a&1 == 1)*a + one(a&1 == 0)*b })},
		{"selp.u32 %r10, %r2, 7, %p2;", word(func(a, b, _ uint32) uint32 { return one(b&1 == 1)*a + one(b&1 == 0)*7 })},
		{"selp.u16 %rs1, 3, -1, %p1; mul.wide.u16 %r10, %rs1, 40000;", word(func(a, _, _ uint32) uint32 {
			return one(a&1 == 1)*3*40000 + one(a&1 == 0)*65535*40000
		})},
		{"mov.u32 %r20, %ctaid.x; add.s32 %r10, %r20, %r1;", func(w warpInput) (uint32, uint32) { return uint32(w.lane), 0 }},
		{"and.pred %p3, %p1, %p2; selp.u32 %r10, 1, 0, %p3;", word(func(a, b, _ uint32) uint32 { return a & b & 1 })},
		{"or.pred %p3, %p1, %p2; selp.u32 %r10, 1, 0, %p3;", word(func(a, b, _ uint32) uint32 { return (a | b) & 1 })},
		{"xor.pred %p3, %p1, %p2; selp.u32 %r10, 1, 0, %p3;", word(func(a, b, _ uint32) uint32 { return (a ^ b) & 1 })},
		{"mov.pred %p3, %p1; mov.pred %p4, -1; selp.u32 %r10, 1, 0, %p3; selp.u32 %r11, 1, 0, %p4;",
			func(w warpInput) (uint32, uint32) { return w.in[w.lane][0] & 1, 1 }},
		{"not.pred %p3, %p1; selp.u32 %r10, 1, 0, %p3;", word(func(a, _, _ uint32) uint32 { return ^a & 1 })},
		{"@%p1 mov.u32 %r10, 5; @!%p2 mov.u32 %r11, 6;", func(w warpInput) (uint32, uint32) {
			return w.in[w.lane][0] & 1 * 5, ^w.in[w.lane][1] & 1 * 6
		}},
		{"@%p1 bra $on; mov.u32 %r10, %r3; bra.uni $on; $on: add.s32 %r10, %r10, 1;", word(func(a, b, _ uint32) uint32 { return one(a&1 == 0)*b + 1 })},
		{"and.b32 %r20, %r2, 7; $again: add.s32 %r10, %r10, %r3; add.s32 %r20, %r20, -1; setp.gt.s32 %p3, %r20, 0; @%p3 bra $again;",
			word(func(a, b, _ uint32) uint32 { return max(a&7, 1) * b })},

		{"add.s64 %rd7, %rd5, %rd6;" + split, long(func(x, y uint64, _ uint32) uint64 { return x + y })},
		{"mul.lo.s64 %rd7, %rd5, %rd6;" + split, long(func(x, y uint64, _ uint32) uint64 { return x * y })},
		{"mul.wide.u32 %rd7, %r2, %r4;" + split, long(func(x, _ uint64, c uint32) uint64 { return x & 0xffffffff * uint64(c) })},
		{"and.b32 %r20, %r4, 127; shl.b64 %rd7, %rd5, %r20;" + split, long(func(x, _ uint64, c uint32) uint64 { return x << (c % 128) })},
		{"and.b32 %r20, %r4, 127; shr.u64 %rd7, %rd5, %r20;" + split, long(func(x, _ uint64, c uint32) uint64 { return x >> (c % 128) })},
		{"mov.u64 %rd8, %rd5; mov.b64 %rd7, %rd8;" + split, long(func(x, _ uint64, _ uint32) uint64 { return x })},
		{"cvt.u32.u64 %r20, %rd6; cvt.u64.u32 %rd8, %r20; cvta.to.global.u64 %rd7, %rd8;" + split,
			long(func(_, y uint64, _ uint32) uint64 { return y & 0xffffffff })},

		{"ld.global.u32 %rd7, [%rd3+8];" + split, word(func(_, _, c uint32) uint32 { return c })},
		{"ld.param.u32 %rd7, [probe_param_0]; shr.u64 %rd7, %rd7, 32;" + split,
			func(warpInput) (uint32, uint32) { return 0, 0 }},
		{"ld.global.nc.u32 %r10, [%rd3+8];", word(func(_, _, c uint32) uint32 { return c })},
		{"and.b32 %r20, %r1, 3; mul.wide.u32 %rd7, %r20, 16; add.s64 %rd7, %rd1, %rd7; ld.global.nc.v4.u32 {%r20,%r21,%r10,%r11}, [%rd7];",
			func(w warpInput) (uint32, uint32) {
				n := w.lane%4*4 + 2
				return w.in[n/3][n%3], w.in[(n+1)/3][(n+1)%3]
			}},
		{"ld.global.v2.u32 {%r10,%r11}, [%rd1];", func(w warpInput) (uint32, uint32) { return w.in[0][0], w.in[0][1] }},
		{"ld.global.u64 %rd7, [%rd1];" + split, func(w warpInput) (uint32, uint32) { return w.in[0][0], w.in[0][1] }},
		{"ld.param.v2.u32 {%r20,%r21}, [probe_param_0]; mov.b64 %rd8, {%r20,%r21}; ld.global.u32 %r10, [%rd8+4];",
			func(w warpInput) (uint32, uint32) { return w.in[0][1], 0 }},
		{"mov.b64 %rd8, probe_param_0; ld.param.u32 %r20, [%rd8+4]; shr.u64 %rd9, %rd1, 32; cvt.u32.u64 %r21, %rd9; sub.s32 %r10, %r20, %r21;",
			func(warpInput) (uint32, uint32) { return 0, 0 }},
		{"shl.b32 %r20, %r1, 2; mov.u32 %r21, shared; add.s32 %r20, %r21, %r20; st.shared.u32 [%r20], %r2; bar.sync 0; xor.b32 %r22, %r20, 4; ld.shared.u32 %r10, [%r22];",
			func(w warpInput) (uint32, uint32) { return w.in[w.lane^1][0], 0 }},
		{"shl.b32 %r20, %r1, 3; mov.u32 %r21, shared; add.s32 %r20, %r21, %r20; st.shared.v2.u32 [%r20], {%r2,%r3}; bar.sync 0; and.b32 %r22, %r20, -16; ld.shared.v4.u32 {%r20,%r10,%r21,%r11}, [%r22];",
			func(w warpInput) (uint32, uint32) { return w.in[w.lane&^1][1], w.in[w.lane|1][1] }},
		{"shl.b32 %r20, %r1, 3; mov.u32 %r21, shared; add.s32 %r20, %r21, %r20; st.shared.v2.u32 [%r20], {%r2,%r3}; ld.shared.v2.u32 {%r11,%r10}, [%r20];",
			func(w warpInput) (uint32, uint32) { return w.in[w.lane][1], w.in[w.lane][0] }},
		{"shl.b32 %r20, %r1, 3; mov.u32 %r21, shared; add.s32 %r20, %r21, %r20; st.shared.u64 [%r20], %rd5; bar.sync 0; xor.b32 %r22, %r20, 8; ld.shared.u64 %rd7, [%r22];" + split,
			func(w warpInput) (uint32, uint32) { return w.in[w.lane^1][0], w.in[w.lane^1][1] }},
		{"mov.u32 %r21, shared; setp.eq.s32 %p3, %r1, 0; @%p3 st.shared.u32 [%r21], 5; bar.sync 0; and.b32 %r20, %r2, 15; atom.shared.add.u32 %r22, [%r21], %r20; bar.sync 0; ld.shared.u32 %r10, [%r21];",
			func(w warpInput) (uint32, uint32) {
				sum := uint32(5)
				for i := range threads {
					sum += w.in[i][0] & 15
				}
				return sum, 0
			}},
		// Thread 7 adds its number to its output, and adds nothing to see the sum: what it has added is what all get.
		{"mov.u32 %r21, shared; setp.ne.s32 %p3, %r1, 7; @%p3 bra $on; atom.global.add.u64 %rd7, [%rd4], %rd5; atom.global.add.u64 %rd8, [%rd4], 0; mov.u64 %rd9, -1; mul.lo.s64 %rd7, %rd7, %rd9; add.s64 %rd7, %rd8, %rd7; " +
			"mov.b64 {%r20,%r22}, %rd7; st.shared.v2.u32 [%r21], {%r20,%r22}; $on: bar.sync 0; ld.shared.v2.u32 {%r10,%r11}, [%r21]; @!%p3 bra $end;",
			func(w warpInput) (uint32, uint32) {
				sum := uint64(w.in[7][0]) | uint64(w.in[7][1])<<32
				if w.lane == 7 {
					sum += 0xa5a5a5a5a5a5a5a5 // what was there before
				}
				return uint32(sum), uint32(sum >> 32)
			}},

		{"mov.u32 %r20, -1; vote.sync.ballot.b32 %r10, %p1, %r20; vote.sync.any.pred %p3, %p1, %r20; selp.u32 %r11, 1, 0, %p3;",
			func(w warpInput) (votes, some uint32) {
				for i, x := range w.in[w.lane/32*32:][:32] {
					votes |= x[0] & 1 << i
				}
				return votes, one(votes != 0)
			}},
		{"and.b32 %r20, %r3, 31; mov.u32 %r21, -1; shfl.sync.idx.b32 %r10, %r2, %r20, 31, %r21; shfl.sync.idx.b32 %r22|%p3, %r4, 5, 31, -1; selp.b32 %r11, %r22, 0, %p3;",
			func(w warpInput) (uint32, uint32) {
				warp := w.in[w.lane/32*32:]
				return warp[w.in[w.lane][1]%32][0], warp[5][2]
			}},
	}
	for shape, f := range map[string]func(first int) func(warpInput) (uint32, uint32){
		"m16n8k32.row.col.s32.s8.s8.s32 " + products:           func(i int) func(warpInput) (uint32, uint32) { return sums(8, 2, i, signedBytes) },
		"m16n8k256.row.col.s32.b1.b1.s32.and.popc " + products: func(i int) func(warpInput) (uint32, uint32) { return sums(1, 2, i, bothBits) },
		"m16n8k128.row.col.s32.b1.b1.s32.and.popc {%r20,%r21,%r22,%r23}, {%r2,%r3}, {%r3}, {%r4,%r2,%r3,%r3};": func(i int) func(warpInput) (uint32, uint32) {
			return sums(1, 1, i, bothBits)
		},
	} {
		tests = append(tests, test{"mma.sync.aligned." + shape + "mov.u32 %r10, %r20; mov.u32 %r11, %r21;", f(0)},
			test{"mma.sync.aligned." + shape + "mov.u32 %r10, %r22; mov.u32 %r11, %r23;", f(2)})
	}
	for operator, order := range map[string][3]bool{ // less, equal, greater
		"eq": {false, true, false}, "ne": {true, false, true}, "lt": {true, false, false}, "le": {true, true, false},
		"gt": {false, false, true}, "ge": {false, true, true},
	} {
		signed := func(a, b uint32) uint32 { return one(order[1+compare(int32(a), int32(b))]) }
		unsigned := func(a, b uint32) uint32 { return one(order[1+compare(a, b)]) }
		both := func(f func(a, b uint32) uint32) func(warpInput) (uint32, uint32) { // with itself for the equal
			return func(w warpInput) (uint32, uint32) { x := w.in[w.lane]; return f(x[0], x[1]), f(x[0], x[0]) }
		}
		for kind, f := range map[string]func(a, b uint32) uint32{"s32": signed, "u32": unsigned, "b32": unsigned} {
			name := "setp." + operator + "." + kind
			tests = append(tests, test{name + " %p3, %r2, %r3; selp.u32 %r10, 1, 0, %p3;" + name + " %p3, %r2, %r2; selp.u32 %r11, 1, 0, %p3;", both(f)})
		}
		tests = append(tests, test{"setp." + operator + ".s64 %p3, %rd5, %rd6; selp.u32 %r10, 1, 0, %p3;",
			func(w warpInput) (uint32, uint32) {
				x := w.in[w.lane]
				return one(order[1+compare(int64(x[1])<<32|int64(x[0]), int64(x[2])<<32|int64(x[1]))]), 0
			}})
		tests = append(tests, test{"setp." + operator + ".u64 %p3, %rd5, %rd6; selp.u32 %r10, 1, 0, %p3;",
			func(w warpInput) (uint32, uint32) {
				x := w.in[w.lane]
				return one(order[1+compare(uint64(x[1])<<32|uint64(x[0]), uint64(x[2])<<32|uint64(x[1]))]), 0
			}})
	}

	random := rand.New(rand.NewPCG(22, 6))
	var in probeInput
	for i := range in {
		for n := range in[i] {
			in[i][n] = random.Uint32()
			if random.IntN(6) == 0 { // the extremes
				in[i][n] = []uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1}[random.IntN(5)]
			}
		}
		if random.IntN(8) == 0 {
			in[i][1] = in[i][0]
		}
	}
	var tried strings.Builder
	for _, c := range tests {
		t.Run(c.body, func(t *testing.T) {
			got, code := newRig(t).probe(c.body, &in)
			if code != driver.Success {
				t.Fatalf("error %d", code)
			}
			for i := range got {
				w := warpInput{in: in[:], lane: i}
				if strings.Contains(c.body, "mma") {
					w = warpInput{in: in[i/32*32:][:32], lane: i % 32}
				}
				if lo, hi := c.want(w); got[i] != [2]uint32{lo, hi} {
					t.Fatalf("thread %d, input %x: got %x, want %x %x", i, in[i], got[i], lo, hi)
				}
			}
		})
		tried.WriteString(c.body)
	}
	for name := range strings.FieldsSeq(newFake(t).Forms()) {
		if !strings.Contains(probeBegin+tried.String()+probeEnd, name+" ") && !strings.Contains(probeEnd, name+";") {
			t.Errorf("%s is never tried", name)
		}
	}
}

func compare[T int32 | uint32 | int64 | uint64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
