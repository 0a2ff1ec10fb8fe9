// Package cudatest is a driver without a device, for tests of whatever uses package cuda: a library that looks like
// NVIDIA's, checks every call, and executes the PTX that it is given on the CPU, with checks that no device has
// (cuda/testdata). It needs g++ 10 or later. And questions for any device, with their answers by plain Go.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package cudatest
