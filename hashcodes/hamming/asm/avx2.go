package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// avx2 counts the ones of every half byte by a table in a register, the operand of VPSHUFB. Counts are kept as two of
// 16 bits a row, of two bytes each: 1024 bits at most, so none overflows, and VPADDD adds both at once.
type avx2 struct {
	above, lane, low, table, ones8, ones16 VecVirtual // above is radius + 1
	letIn                                  VecVirtual
}

func (*avx2) Lanes() int            { return 8 }
func (*avx2) Group() int            { return 4 }
func (*avx2) Vector() VecVirtual    { return YMM() }
func (*avx2) Xor(x, query, rows Op) { VPXOR(rows, query, x) }

func (a *avx2) SetUp(radius Register) {
	INCQ(radius)
	a.above, a.lane, a.letIn = YMM(), YMM(), YMM()
	VMOVD(radius.(GP).As32(), a.above.AsX())
	VPBROADCASTD(a.above.AsX(), a.above)
	VMOVDQU(lanes(), a.lane)
	a.low, a.ones8, a.ones16 = inAllBytes(0x0f0f0f0f), inAllBytes(0x01010101), inAllBytes(0x00010001)
	a.table = YMM()
	VBROADCASTI128(onesOfHalfBytes(), a.table)
}

func inAllBytes(pattern uint32) VecVirtual {
	r, y := GP32(), YMM()
	MOVL(U32(pattern), r)
	VMOVD(r, y.AsX())
	VPBROADCASTD(y.AsX(), y)
	return y
}

func (a *avx2) Count(x VecVirtual) {
	high := YMM()
	VPSRLD(Imm(4), x, high)
	VPAND(a.low, x, x)
	VPAND(a.low, high, high)
	VPSHUFB(x, a.table, x)
	VPSHUFB(high, a.table, high)
	VPADDB(high, x, x)
	VPMADDUBSW(a.ones8, x, x)
}

func (a *avx2) Distance(sum VecVirtual) VecVirtual {
	distance := YMM()
	VPMADDWD(a.ones16, sum, distance)
	return distance
}

func (a *avx2) JumpIfNone(least VecVirtual, label string) {
	inside := YMM()
	VPCMPGTD(least, a.above, inside)
	VPTEST(inside, inside)
	JZ(LabelRef(label))
}

func (a *avx2) Mask(count GPVirtual) {
	VMOVD(count.As32(), a.letIn.AsX())
	VPBROADCASTD(a.letIn.AsX(), a.letIn)
	VPCMPGTD(a.lane, a.letIn, a.letIn)
}

func (a *avx2) Load(rows Mem) VecVirtual {
	x := YMM()
	VPMASKMOVD(rows, a.letIn, x)
	return x
}

func (a *avx2) Inside(sum VecVirtual) GPVirtual {
	inside, bits := YMM(), GP64()
	VPCMPGTD(sum, a.above, inside)
	VPAND(a.letIn, inside, inside)
	VMOVMSKPS(inside, bits.As32())
	return bits
}

// Store writes one hit at a time: there are no more than eight.
func (a *avx2) Store(inside, _, row GPVirtual, to Mem) {
	address, lane := GP64(), GP64()
	LEAQ(to, address)
	TESTL(inside.As32(), inside.As32())
	JZ(LabelRef("stored"))
	Label("store")
	TZCNTL(inside.As32(), lane.As32())
	ADDL(row.As32(), lane.As32())
	MOVL(lane.As32(), Mem{Base: address})
	ADDQ(Imm(4), address)
	BLSRL(inside.As32(), inside.As32())
	JNZ(LabelRef("store"))
	Label("stored")
}
