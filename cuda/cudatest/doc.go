// Package cudatest is a driver without a device, for tests of whatever uses package cuda: the kernels, built for the CPU,
// behind a library that looks like NVIDIA's and checks every call (cuda/testdata). It needs g++.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package cudatest
