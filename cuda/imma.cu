// Hamming range scan by products of signs on tensor cores (8-bit integers, mma m16n8k32; sm_80 and later).
//
// A bit is +1 or -1 in eight bits. The product of two signatures of b bits is b - 2 distance, so a query's sum begins at
// 2 radius - b. A word is one step of 32 along k: rows are unpacked into registers once a tile, queries once a stage.
#include "tensor.cuh"

// products makes d = a b + c of one step.
__device__ inline void products(int (&d)[4], const u32 (&a)[4], uint2 b, const int (&c)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

// signs makes four signed bytes of the low four bits: 1 of a one, -1 of a zero.
__device__ inline u32 signs(u32 bits) {
  u32 ones = (bits & 15) * 0x204081 & 0x01010101;
  return ~(ones * 0xfe);
}

// Imma holds M tiles of rows of at most W words; missing words count as equal.
template <int W, int M> struct Imma : Tensor<M> {
  enum { STAGE = 512 / W };

  u32 a[M][W][4];

  __device__ inline Imma(const Segment &segment, u32 warp, u32 words) : Tensor<M>(segment, warp) {
    u32 group = threadIdx.x % LANES / 4, quad = threadIdx.x % 4;
    for (int m = 0; m < M; m++)
      for (int w = 0; w < W; w++) {
        const u32 *plane = segment.planes + (u64)w * segment.stride + warp + m * 16 + group;
        u32 low = w < words ? __ldg(plane) : 0, high = w < words ? __ldg(plane + 8) : 0;
        a[m][w][0] = signs(low >> 4 * quad), a[m][w][1] = signs(high >> 4 * quad);
        a[m][w][2] = signs(low >> (4 * quad + 16)), a[m][w][3] = signs(high >> (4 * quad + 16));
        for (int i = 0; i < 4; i++) pin(a[m][w][i]);
      }
  }

  // Eight queries are W steps of a pair of registers a lane; behind all queries stand the beginnings of their sums,
  // as a lane needs them, so that one load fills the four registers which all tiles share.
  __device__ static inline void stage(u32 *shared, const u32 *queries, const u32 *radii, u32 n, u32 words) {
    u32 eights = (n + 7) / 8, entry = words + 1;
    for (u32 i = threadIdx.x; i < eights * W * LANES; i += THREADS) {
      u32 q = i / (W * LANES) * 8 + i % LANES / 4, w = i / LANES % W, quad = i % 4;
      u32 word = q < n && w < words ? queries[q * entry + w] : 0;
      ((uint2 *)shared)[i] = make_uint2(signs(word >> 4 * quad), signs(word >> (4 * quad + 16)));
    }
    for (u32 i = threadIdx.x; i < eights * 16; i += THREADS) {
      u32 q = i / 16 * 8 + i / 4 % 4 * 2 + i % 2;
      shared[STAGE * W * 8 + i] = q < n ? 2 * radii[queries[q * entry + words]] - 32 * W : NEVER;
    }
  }

  __device__ inline void compare(const Launch &launch, const u32 *shared, u32 n, u32 query) const {
    u32 lane = threadIdx.x % LANES;
    for (u32 q = 0; q < n; q += 8) {
      uint4 begin = ((const uint4 *)(shared + STAGE * W * 8))[q / 2 + lane % 4];
      int c[4] = {(int)begin.x, (int)begin.y, (int)begin.z, (int)begin.w}, sum[M][4];
      for (int w = 0; w < W; w++) {
        uint2 b = ((const uint2 *)shared)[(q / 8 * W + w) * LANES + lane];
        for (int m = 0; m < M; m++) products(sum[m], a[m][w], b, w == 0 ? c : sum[m]);
      }
      this->report(launch, sum, query + q);
    }
  }
};

extern "C" {
__global__ void __launch_bounds__(THREADS) imma1(const Launch launch) { scan<Imma<1, 8>>(launch); }
__global__ void __launch_bounds__(THREADS) imma2(const Launch launch) { scan<Imma<2, 8>>(launch); }
__global__ void __launch_bounds__(THREADS) imma4(const Launch launch) { scan<Imma<4, 4>>(launch); }
__global__ void __launch_bounds__(THREADS) imma8(const Launch launch) { scan<Imma<8, 2>>(launch); }
__global__ void __launch_bounds__(THREADS) imma16(const Launch launch) { scan<Imma<16, 1>>(launch); }
__global__ void __launch_bounds__(THREADS) imma32(const Launch launch) { scan<Imma<32, 1>>(launch); }
}
