// Hamming range scan by ands of bits on tensor cores (mma b1, and, popc; sm_80 and later).
//
// The matrices hold [x, ~x] of a row and of a query: popc(x & q) + popc(~x & ~q) is the number of bits that agree. A query's
// sum begins at radius minus the number of bits. One step takes four words (k = 256), or two (k = 128); a lane's quad
// is the number of its word, so rows and queries are used as they lie in memory. The exclusive or, which would need no
// complement, is two instructions on sm_90.
#include "tensor.cuh"

// agreements makes d = and-popc(a, b) + c of one step, k = 256.
__device__ inline void agreements(int (&d)[4], const u32 (&a)[4], uint2 b, const int (&c)[4]) {
  asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

// agreements makes d = and-popc(a, b) + c of one step, k = 128.
__device__ inline void agreements(int (&d)[4], const u32 (&a)[2], u32 b, const int (&c)[4]) {
  asm("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

// keep does what pin does against the assembler too, which takes what comes out of a shuffle for new. All lanes call it.
__device__ inline void keep(u32 &value) { value = __shfl_sync(ALL, value, threadIdx.x % LANES); }

// Two is a step of two words: lanes of quads 0 and 1 hold them, 2 and 3 their complements.
struct Two {
  enum { WORDS = 2 };
  u32 a[2];

  __device__ static inline u32 word(u32 quad) { return quad % 2; }
  __device__ inline void set(u32 low, u32 high) {
    u32 flip = threadIdx.x % 4 < 2 ? 0 : ~0u;
    a[0] = low ^ flip, a[1] = high ^ flip;
  }
  __device__ inline void times(int (&d)[4], u32 q, const int (&c)[4]) const {
    agreements(d, a, threadIdx.x % 4 < 2 ? q : ~q, c);
  }
};

// Four is a step of four words.
struct Four {
  enum { WORDS = 4 };
  u32 a[4];

  __device__ static inline u32 word(u32 quad) { return quad; }
  __device__ inline void set(u32 low, u32 high) {
    a[0] = low, a[1] = high, a[2] = ~low, a[3] = ~high;
    keep(a[2]), keep(a[3]);
  }
  __device__ inline void times(int (&d)[4], u32 q, const int (&c)[4]) const { agreements(d, a, make_uint2(q, ~q), c); }
};

// Bmma holds M tiles of rows of at most S steps; missing words count as equal.
template <class Step, int S, int M> struct Bmma : Tensor<M> {
  enum { W = Step::WORDS * S, STAGE = 512 / S };

  Step a[M][S];

  __device__ inline Bmma(const Segment &segment, u32 warp, u32 words) : Tensor<M>(warp) {
    for (int m = 0; m < M; m++)
      for (int s = 0; s < S; s++) {
        u32 w = s * Step::WORDS + Step::word(threadIdx.x % 4);
        const u32 *plane = segment.planes + (u64)w * segment.stride + this->first + m * 16;
        a[m][s].set(w < words ? __ldg(plane) : 0, w < words ? __ldg(plane + 8) : 0);
      }
  }

  // Eight queries are S steps of a register a lane.
  __device__ static inline void fill(u32 *shared, const Stage &stage) {
    u32 words = stage.launch.words;
    for (u32 i = threadIdx.x; i < (stage.n + 7) / 8 * S * LANES; i += THREADS) {
      u32 q = i / (S * LANES) * 8 + i % LANES / 4, w = i / LANES % S * Step::WORDS + Step::word(i % 4);
      shared[i] = q < stage.n && w < words ? stage.word(q, w) : 0;
    }
    beginnings(shared + STAGE * S * 4, stage.n, [&](u32 q) { return q < stage.n ? stage.radius(q) - 32 * W : NEVER; });
  }

  __device__ inline void compare(const Launch &launch, const u32 *shared, u32 n, u32 query) const {
    u32 lane = threadIdx.x % LANES;
    pin(lane);
    for (u32 q = 0; q < n; q += 8) {
      int c[4], sum[M][4];
      load(c, shared + STAGE * S * 4, q, lane);
      for (int s = 0; s < S; s++) {
        u32 b = shared[(q / 8 * S + s) * LANES + lane];
        for (int m = 0; m < M; m++) a[m][s].times(sum[m], b, s == 0 ? c : sum[m]);
      }
      reportSigns(*this, launch, sum, query + q);
    }
  }
};

extern "C" {
__global__ void __launch_bounds__(THREADS, BLOCKS) bmma2(const Launch launch) { scan<Bmma<Two, 1, 8>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) bmma4(const Launch launch) { scan<Bmma<Four, 1, 8>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) bmma8(const Launch launch) { scan<Bmma<Four, 2, 4>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) bmma16(const Launch launch) { scan<Bmma<Four, 4, 2>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) bmma32(const Launch launch) { scan<Bmma<Four, 8, 1>>(launch); }
}
