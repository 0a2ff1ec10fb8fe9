// Package rates measures how fast a GPU issues the instructions that the kernels of package cuda are made of, each alone:
// the bounds of docs/design/0006-cuda.md follow from these rates, and so far those are published ones, not measured.
//
// A kernel of this folder does nothing else, 32 or 64 times a loop, on every multiprocessor, and reads the multiprocessor's
// clock before and after. The .ptx files are made of the .cu files by cuda/generate.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package rates
