package hammingtest

import (
	"syscall"
	"testing"
	"unsafe"
)

// atEdge is a slice of n zeros; whoever reads or writes behind its end crashes.
func atEdge(t *testing.T, n int) []uint32 {
	t.Helper()
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	if err := syscall.Mprotect(memory[size:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(memory[size-4*n:]))), n)
}
