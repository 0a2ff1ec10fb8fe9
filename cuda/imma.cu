// Hamming range scan by products of bits and weights on tensor cores (8-bit integers, mma m16n8k32; sm_80 and later).
//
// A bit of a row is 0 or 1, a bit of a query is what agreement counts: -1 where it is zero, where it is one the number of its
// tokens that have the bit in their codes, or 1 where nothing is known of them (the counters of hashcodes.Holders). The sum
// of the products, less that of the weights which are not negative, is minus the distance, or more than that: so a
// query's sum begins at its radius less that of the weights, and a hit is a sum that is not negative. A word is one step
// of 32 along k: rows are unpacked into registers once a tile, weights come as they are.
//
// Two rows a byte, where signatures have 64 bits at most. Let s and t be the slacks of two rows, radius less distance. A
// byte holds x - 128 y of their bits, the sum begins at -127 times what it did, less 64, and so ends at s - 128 t - 64.
// With s between -64 and 63 its bit 6 is set where s is not negative, and it is negative where t is not. So one product
// does for two, and one or tests four sums. A greater s is only that of a radius of all bits or more, where no product is
// needed. A smaller one is only where weights count more than one: then a pair may be reported that is none, but none is
// lost, since only t matters where s is below, and t below does not change the low bits. isHit looks closer.
#include "tensor.cuh"

// products makes d = a b + c of one step.
__device__ inline void products(int (&d)[4], const u32 (&a)[4], uint2 b, const int (&c)[4]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.x), "r"(b.y), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}

// spread makes four bytes of the low four bits.
__device__ inline u32 spread(u32 bits) { return (bits & 15) * 0x204081 & 0x01010101; }

// bytes makes four bytes of the lane's four bits of a half of a word, 0 or 1; of another row's, 0 or -128.
__device__ inline u32 bytes(u32 word, u32 other, u32 half) {
  u32 shift = half + threadIdx.x % 4 * 4;
  return spread(word >> shift) | spread(other >> shift) << 7;
}

// Imma holds M tiles of rows of at most W words, R of them a byte; missing words count as equal.
template <int W, int M, int R> struct Imma : Tensor<M, R> {
  enum { STAGE = 512 / W };

  u32 a[M][W][4];

  __device__ inline Imma(const Segment &segment, u32 warp, u32 words) : Tensor<M, R>(warp) {
    for (int m = 0; m < M; m++)
      for (int w = 0; w < W; w++) {
        const u32 *plane = segment.planes + (u64)w * segment.stride + this->first + m * 16 * R;
        u32 low = w < words ? __ldg(plane) : 0, high = w < words ? __ldg(plane + 8) : 0;
        u32 low2 = R == 2 && w < words ? __ldg(plane + 16) : 0, high2 = R == 2 && w < words ? __ldg(plane + 24) : 0;
        a[m][w][0] = bytes(low, low2, 0), a[m][w][1] = bytes(high, high2, 0);
        a[m][w][2] = bytes(low, low2, 16), a[m][w][3] = bytes(high, high2, 16);
        for (int i = 0; i < 4; i++) pin(a[m][w][i]);
      }
  }

  // Eight queries are W steps of a pair of registers a lane.
  __device__ static inline void fill(u32 *shared, const Stage &stage) {
    u32 words = stage.launch.words;
    const u32 *weights = stage.launch.weights + (u64)stage.query * words * 8;
    for (u32 i = threadIdx.x; i < (stage.n + 7) / 8 * W * LANES; i += THREADS) {
      u32 q = i / (W * LANES) * 8 + i % LANES / 4, w = i / LANES % W;
      const u32 *of = weights + (q * words + w) * 8 + i % 4;
      bool counts = q < stage.n && w < words && (R == 1 || stage.radius(q) < 32 * words);
      ((uint2 *)shared)[i] = counts ? make_uint2(of[0], of[4]) : make_uint2(0, 0);
    }
    beginnings(shared + STAGE * W * 8, stage.n, [&](u32 q) { return begin(stage, q); });
  }

  __device__ static inline u32 begin(const Stage &stage, u32 q) {
    u32 none = R == 1 ? NEVER : 0, words = stage.launch.words;
    if (q >= stage.n) return none;
    u32 radius = stage.radius(q), slack = radius - stage.word(q, words + 1);
    if (R == 1) return slack;
    if ((int)radius < 0) return none;
    return (radius < 32 * words ? slack * -127 : 0) - 64;
  }

  __device__ inline void compare(const Launch &launch, const u32 *shared, u32 n, u32 query) const {
    u32 lane = threadIdx.x % LANES;
    pin(lane);
    for (u32 q = 0; q < n; q += 8) {
      int c[4], sum[M][4];
      load(c, shared + STAGE * W * 8, q, lane);
      for (int w = 0; w < W; w++) {
        uint2 b = ((const uint2 *)shared)[(q / 8 * W + w) * LANES + lane];
        for (int m = 0; m < M; m++) products(sum[m], a[m][w], b, w == 0 ? c : sum[m]);
      }
      if (R == 1) reportSigns(*this, launch, sum, query + q);
      else reportPairs(launch, sum, query + q);
    }
  }

  __device__ inline void reportPairs(const Launch &launch, const int (&sum)[M][4], u32 query) const {
    int any = 0;
    for (int m = 0; m < M; m++)
      for (int i = 0; i < 4; i++) any |= sum[m][i];
    if (!__any_sync(ALL, any & 0x80000040)) return;
    u32 mask[] = {bitOf(sum, 6), bitOf(sum, 31)};
#pragma unroll 1 // registers are short
    for (u32 place = 0; place < 2; place++) this->report(launch, place == 0 ? mask[0] : mask[1], query, place);
  }
};

extern "C" {
__global__ void __launch_bounds__(THREADS, BLOCKS) imma1(const Launch launch) { scan<Imma<1, 8, 2>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) imma2(const Launch launch) { scan<Imma<2, 8, 2>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) imma4(const Launch launch) { scan<Imma<4, 4, 1>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) imma8(const Launch launch) { scan<Imma<8, 2, 1>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) imma16(const Launch launch) { scan<Imma<16, 1, 1>>(launch); }
__global__ void __launch_bounds__(THREADS, 1) imma32(const Launch launch) { scan<Imma<32, 1, 1>>(launch); }
}
