// Issue rates of products of matrices (sm_80 and later). Each has 32 instructions a loop and warp, on four sets of sums.
#include "rates.cuh"

struct Fragments {
  u32 a[4], b[2];
  int d[4][4];

  __device__ inline Fragments(const Argument &argument) {
    Chains c(argument);
#pragma unroll
    for (int i = 0; i < 4; i++) a[i] = c.x[i], d[i][0] = d[i][1] = d[i][2] = d[i][3] = 0;
    b[0] = c.x[4], b[1] = c.x[5];
  }
  __device__ inline u32 sum() const {
    u32 sum = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) sum ^= d[i / 4][i % 4];
    return sum;
  }
};

#define FOUR(shape)                                                                                                     \
  asm volatile("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                       \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                         \
               : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]))
#define TWO(shape)                                                                                                      \
  asm volatile("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                                \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                         \
               : "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0]))

#define LOOP(name, product)                                                     \
  extern "C" __global__ void __launch_bounds__(THREADS) name(const Argument a) { \
    Fragments f(a);                                                             \
    measure(                                                                    \
        a,                                                                      \
        [&] {                                                                   \
          _Pragma("unroll") for (int n = 0; n < 32; n++) {                      \
            int(&d)[4] = f.d[n % 4];                                            \
            product;                                                            \
          }                                                                     \
        },                                                                      \
        [&] { return f.sum(); });                                               \
  }

LOOP(imma, FOUR("m16n8k32.row.col.s32.s8.s8.s32"))
LOOP(bmma128, TWO("m16n8k128.row.col.s32.b1.b1.s32.and.popc"))
LOOP(bmma256, FOUR("m16n8k256.row.col.s32.b1.b1.s32.and.popc"))
