// Asm writes the amd64 kernels of package hamming; go generate in the folder above runs it.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego")
	for _, words := range []int{1, 2, anyWords} {
		kernel(words, &avx512{})
		kernel(words, &avx2{})
	}
	Generate()
}
