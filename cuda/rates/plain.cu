// Issue rates of what the popcount kernel is made of (sm_75 and later). Each has 64 instructions a loop and thread.
#include "rates.cuh"

#define LOOP(name, step)                                                                        \
  extern "C" __global__ void __launch_bounds__(THREADS) name(const Argument a) {                \
    Chains c(a);                                                                                \
    measure(                                                                                    \
        a,                                                                                      \
        [&] {                                                                                   \
          _Pragma("unroll") for (int n = 0; n < 64; n++) step(c.x[n % 8], c.x[(n + 1) % 8], c.x[(n + 2) % 8]); \
        },                                                                                      \
        [&] { return c.sum(); });                                                               \
  }

// Assembly, since the compiler knows that numbers of bits of numbers of bits come to an end.
__device__ inline void popc_step(u32 &x, u32, u32) { asm volatile("popc.b32 %0, %0;" : "+r"(x)); }
// Two operations of PTX, which are one LOP3.
__device__ inline void lop3_step(u32 &x, u32 y, u32 z) { x = (x & y) ^ z; }
__device__ inline void min_step(u32 &x, u32 y, u32) { asm volatile("min.s32 %0, %0, %1;" : "+r"(x) : "r"(y)); }
// One VIADDMNMX from sm_90 on, an addition and a minimum before.
__device__ inline void addmin_step(u32 &x, u32 y, u32 z) { x = (u32)min((int)(x + y), (int)z); }

LOOP(popc, popc_step)
LOOP(lop3, lop3_step)
LOOP(min_s32, min_step)
LOOP(addmin, addmin_step)
