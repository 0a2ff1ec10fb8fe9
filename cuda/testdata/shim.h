// The CUDA built-ins that the kernels use, for a compiler of the host, so that they run on a CPU: one block after the
// other, each thread a fibre. Fibres meet where threads of a warp or block do: votes, shuffles, products of matrices,
// barriers. What the hardware leaves open is open here too: warps and lanes run in an order that changes from block to
// block, shared memory holds rubbish at the start of a block, and ends where memory does.
//
// Not covered: races between threads that no order of whole runs shows, and what the compiler makes of the code.
#pragma once
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __shared__

struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct dim3 { unsigned x, y, z; };

static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }

extern dim3 threadIdx, blockIdx;
extern uint4 *shared_memory;

// meet waits until all lanes of the warp have come to the same place, and lets one of them run f over what they brought.
void meet(const void *place, const void *mine, unsigned bytes, void (*f)());
extern unsigned char brought[32][64]; // by lane
extern unsigned char result[32][64];
unsigned lane_now();

void barrier();
#define __syncthreads barrier

static inline unsigned __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(unsigned x) { return __builtin_ffs(x); }
template <class T> static inline T __ldg(const T *at) { return *at; }
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }

template <class T> static inline T atomicAdd(T *at, T n) {
  T before = *at;
  *at += n;
  return before;
}

unsigned ballot(unsigned mask, bool vote, const void *place);
unsigned long long shuffle(unsigned mask, unsigned long long value, unsigned from, const void *place);

// Every use of a built-in is a place of its own: lanes that meet at different ones have diverged, which is a bug.
#define PLACE ({ static const char here = 0; (const void *)&here; })
#define __ballot_sync(mask, vote) ballot(mask, vote, PLACE)
#define __any_sync(mask, vote) (ballot(mask, vote, PLACE) != 0)
#define __shfl_sync(mask, value, from) ((decltype(value))shuffle(mask, value, from, PLACE))

void products(int (&d)[4], const unsigned (&a)[4], uint2 b, const int (&c)[4]);
void agreements(int (&d)[4], const unsigned (&a)[4], uint2 b, const int (&c)[4]);
void agreements(int (&d)[4], const unsigned (&a)[2], unsigned b, const int (&c)[4]);
