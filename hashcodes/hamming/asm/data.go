package main

import (
	"math/bits"
	"sync"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// lanes is 0, 1, ... 15 in words of 32 bits.
var lanes = sync.OnceValue(func() Mem {
	table := GLOBL("lanes", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(i))
	}
	return table
})

// onesOfHalfBytes is the number of ones of 0 to 15, in bytes.
var onesOfHalfBytes = sync.OnceValue(func() Mem {
	table := GLOBL("ones", RODATA|NOPTR)
	for i := range 16 {
		DATA(i, U8(bits.OnesCount(uint(i))))
	}
	return table
})
