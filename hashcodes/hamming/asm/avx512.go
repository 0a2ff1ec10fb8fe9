package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// avx512 counts by VPOPCNTD and writes hits by VPCOMPRESSD. The store behind that is a plain one under a mask: some
// processors take a hundred cycles for a VPCOMPRESSD into memory.
type avx512 struct {
	radius, lane    VecVirtual
	letIn, insideOf OpmaskVirtual
}

const lessOrEqual = U8(2)

func (*avx512) Lanes() int                         { return 16 }
func (*avx512) Group() int                         { return 8 }
func (*avx512) Vector() VecVirtual                 { return ZMM() }
func (*avx512) Xor(x, query, rows Op)              { VPXORD(rows, query, x) }
func (*avx512) Count(x VecVirtual)                 { VPOPCNTD(x, x) }
func (*avx512) Distance(sum VecVirtual) VecVirtual { return sum }

func (a *avx512) SetUp(radius Register) {
	a.radius, a.lane = ZMM(), ZMM()
	VPBROADCASTD(radius.(GP).As32(), a.radius)
	VMOVDQU32(lanes(), a.lane)
}

func (a *avx512) JumpIfNone(least VecVirtual, label string) {
	k := K()
	VPCMPUD(lessOrEqual, a.radius, least, k)
	KORTESTW(k, k)
	JZ(LabelRef(label))
}

func (a *avx512) Mask(count GPVirtual) {
	a.letIn = firstLanes(count, 0xffff)
}

func firstLanes(count GPVirtual, all uint64) OpmaskVirtual {
	bits, k := GP32(), K()
	MOVL(U32(all), bits)
	BZHIL(count.As32(), bits, bits)
	KMOVW(bits, k)
	return k
}

func (a *avx512) Load(rows Mem) VecVirtual {
	x := ZMM()
	VMOVDQU32_Z(rows, a.letIn, x)
	return x
}

func (a *avx512) Inside(sum VecVirtual) GPVirtual {
	inside := GP64()
	a.insideOf = K()
	VPCMPUD(lessOrEqual, a.radius, sum, a.letIn, a.insideOf)
	KMOVW(a.insideOf, inside.As32())
	return inside
}

func (a *avx512) Store(_, count, row GPVirtual, to Mem) {
	rows := ZMM()
	VPBROADCASTD(row.As32(), rows)
	VPADDD(a.lane, rows, rows)
	VPCOMPRESSD_Z(rows, a.insideOf, rows)
	VMOVDQU32(rows, firstLanes(count, 0xffff), to)
}
