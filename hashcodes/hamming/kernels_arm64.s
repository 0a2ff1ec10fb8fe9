//go:build !purego

#include "textflag.h"

// A row is 32 bits wide, but CNT counts the ones of bytes. So VLD4 takes sixteen rows apart, byte 0 of all of them into
// one vector, byte 1 into the next, and three additions make sixteen distances. They are inside when radius - distance is
// not negative; the sum of the sign bits says whether all are outside.

// DISTANCES turns four vectors of sixteen rows taken apart into the distances to the query in V16 to V19, in the first,
// 32 at most.
#define DISTANCES(V0, V1, V2, V3) \
	VEOR V16.B16, V0.B16, V0.B16 \
	VEOR V17.B16, V1.B16, V1.B16 \
	VEOR V18.B16, V2.B16, V2.B16 \
	VEOR V19.B16, V3.B16, V3.B16 \
	VCNT V0.B16, V0.B16          \
	VCNT V1.B16, V1.B16          \
	VCNT V2.B16, V2.B16          \
	VCNT V3.B16, V3.B16          \
	VADD V1.B16, V0.B16, V0.B16  \
	VADD V3.B16, V2.B16, V2.B16  \
	VADD V2.B16, V0.B16, V0.B16

// func skipWord(plane *uint32, query *uint32, radius, from, to int) (row int)
TEXT ·skipWord(SB), NOSPLIT, $0-48
	MOVD  plane+0(FP), R0
	MOVD  query+8(FP), R1
	MOVD  radius+16(FP), R2
	MOVD  from+24(FP), R3
	MOVD  to+32(FP), R4
	SUB   $32, R4, R4 // the last row from which there are 32
	ADD   R3<<2, R0, R0
	VLD4R (R1), [V16.B16, V17.B16, V18.B16, V19.B16]
	VDUP  R2, V20.B16

group:
	CMP    R4, R3
	BGT    done
	VLD4.P 64(R0), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD4.P 64(R0), [V4.B16, V5.B16, V6.B16, V7.B16]
	DISTANCES(V0, V1, V2, V3)
	DISTANCES(V4, V5, V6, V7)
	VUMIN   V4.B16, V0.B16, V0.B16
	VSUB    V0.B16, V20.B16, V0.B16
	VUSHR   $7, V0.B16, V0.B16
	VUADDLV V0.B16, V0
	VMOV    V0.H[0], R5
	CMP     $16, R5
	BNE     done
	ADD     $32, R3, R3
	B       group

done:
	MOVD R3, row+40(FP)
	RET

// func skipWords(planes *[]uint32, words int, query *uint32, radius, from, to int) (row int)
TEXT ·skipWords(SB), NOSPLIT, $0-56
	MOVD planes+0(FP), R0
	MOVD words+8(FP), R1
	MOVD query+16(FP), R2
	MOVD radius+24(FP), R3
	MOVD from+32(FP), R4
	MOVD to+40(FP), R5
	SUB  $16, R5, R5 // the last row from which there are 16
	VDUP R3, V20.H8

group:
	CMP  R5, R4
	BGT  done
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	MOVD R0, R6
	MOVD R1, R7
	MOVD R2, R8

word:
	MOVD.P  24(R6), R9 // of a slice, its pointer
	ADD     R4<<2, R9, R9
	VLD4    (R9), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD4R.P 4(R8), [V16.B16, V17.B16, V18.B16, V19.B16]
	DISTANCES(V0, V1, V2, V3)
	VUADDW  V0.B8, V8.H8, V8.H8
	VUADDW2 V0.B16, V9.H8, V9.H8
	VSUB    V8.H8, V20.H8, V10.H8
	VSUB    V9.H8, V20.H8, V11.H8
	VAND    V11.B16, V10.B16, V10.B16
	VUSHR   $15, V10.H8, V10.H8
	VUADDLV V10.H8, V10
	VMOV    V10.S[0], R10
	CMP     $8, R10
	BEQ     next
	SUB     $1, R7, R7
	CBNZ    R7, word
	B       done

next:
	ADD $16, R4, R4
	B   group

done:
	MOVD R4, row+48(FP)
	RET
