// Asm writes the amd64 kernels of package hamming; go generate in the folder above runs it.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego")
	kernel("scanWordAVX2", 1, &avx2{})
	kernel("scanWordsAVX2", 2, &avx2{})
	kernel("scanWordAVX512", 1, &avx512{})
	kernel("scanWordsAVX512", 2, &avx512{})
	Generate()
}
