// What the kernels of this folder share: instructions of one kind in chains that do not wait for each other, from
// registers to registers, between two readings of the multiprocessor's clock.
#pragma once

typedef unsigned int u32;

enum { THREADS = 256 };

// Argument is struct argument of rates.go.
struct Argument {
  uint2 *out; // of each thread: cycles, and what the chains came to, or the compiler would leave them out
  u32 loops;
  u32 seed;
};

// measure runs once as often as it is told. All threads begin and end together.
template <class Once, class Sum> __device__ inline void measure(const Argument &a, Once once, Sum sum) {
  __syncthreads();
  u32 begin = (u32)clock64();
#pragma unroll 1
  for (u32 i = 0; i < a.loops; i++) once();
  __syncthreads();
  u32 cycles = (u32)clock64() - begin;
  a.out[blockIdx.x * THREADS + threadIdx.x] = make_uint2(cycles, sum());
}

// Chains are eight numbers a thread, all different.
struct Chains {
  u32 x[8];

  __device__ inline Chains(const Argument &a) {
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = (a.seed + 8 * threadIdx.x + i) * 2654435761u;
  }
  __device__ inline u32 sum() const {
    return x[0] ^ x[1] ^ x[2] ^ x[3] ^ x[4] ^ x[5] ^ x[6] ^ x[7];
  }
};
