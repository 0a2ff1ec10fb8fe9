// Hamming range scan by population counts.
//
// A thread holds R rows in registers and takes every query past them: R exclusive ors, R counts, R minima, one vote a
// warp. The count is the slow instruction (16 a clock and multiprocessor, a quarter of the others), so up to four
// instructions a word can hide behind it.
//
// Rows of a warp: thread t holds rows 4t..4t+3, 128 + 4t..., so that it loads four at a time.
#include "scan.cuh"

// Popcount holds R rows of exactly W words.
template <int W, int R> struct Popcount {
  enum { WARP = LANES * R, ENTRY = W == 1 ? 2 : W + 2, STAGE = (W <= 2 ? 1024 : 2048 / W) };

  u32 rows[R][W], first;

  __device__ inline Popcount(const Segment &segment, u32 warp, u32) {
    first = warp + threadIdx.x % LANES * 4;
    for (int w = 0; w < W; w++)
      for (int i = 0; i < R; i += 4) {
        uint4 four = __ldg((const uint4 *)(segment.planes + (u64)w * segment.stride + first + i / 4 * 128));
        rows[i][w] = four.x, rows[i + 1][w] = four.y, rows[i + 2][w] = four.z, rows[i + 3][w] = four.w;
      }
  }

  // A query is W words, its radius, and padding.
  __device__ static inline void fill(u32 *shared, const Stage &stage) {
    for (u32 i = threadIdx.x; i < stage.n * (W + 1); i += THREADS) {
      u32 q = i / (W + 1), w = i % (W + 1);
      shared[q * ENTRY + w] = w == W ? stage.radius(q) : stage.word(q, w);
    }
  }

  __device__ inline void compare(const Launch &launch, const u32 *shared, u32 n, u32 query) const {
    for (u32 q = 0; q < n; q++) {
      u32 words[W + 1];
      load(words, shared + q * ENTRY);
      int radius = words[W], nearest = 32 * W + 1, distance[R];
      for (int i = 0; i < R; i++) {
        distance[i] = 0;
        for (int w = 0; w < W; w++) distance[i] += __popc(rows[i][w] ^ words[w]);
        nearest = min(nearest, distance[i]);
      }
      if (!__any_sync(ALL, nearest <= radius)) continue;
      u32 hits = 0;
      for (int i = 0; i < R; i++) hits |= (u32)(distance[i] <= radius) << i;
      append(launch, hits, [&](int i) { return make_uint2(query + q, first + i / 4 * 128 + i % 4); });
    }
  }

  __device__ static inline void load(u32 (&words)[W + 1], const u32 *from) {
    for (int w = 0; w + 2 <= W + 1; w += 2) {
      uint2 two = *(const uint2 *)(from + w);
      words[w] = two.x, words[w + 1] = two.y;
    }
    if (W % 2 == 0) words[W] = from[W];
  }
};

// PopcountN compares rows of any number of words. What does not fit the registers is read again for every four queries,
// from the nearest cache: sixteen counts for each load. After every two words a warp gives up where the words so far
// are too far apart in all its pairs.
struct PopcountN {
  enum { R = 4, G = 4, WARP = LANES * R, STAGE = 128 };

  const u32 *planes;
  u32 stride, words, first;

  __device__ inline PopcountN(const Segment &segment, u32 warp, u32 words) : stride(segment.stride), words(words) {
    first = warp + threadIdx.x % LANES * 4;
    planes = segment.planes + first;
  }

  // Queries go in fours: word 0 of each, word 1 of each, and so on, then minus radius minus one, to which a distance is
  // added: a hit stays negative. Where the last four are fewer, the others begin at zero.
  __device__ static inline void fill(u32 *shared, const Stage &stage) {
    u32 entry = stage.launch.words + 1, padded = (stage.n + G - 1) / G * G;
    for (u32 i = threadIdx.x; i < padded * entry; i += THREADS) {
      u32 q = i / entry, w = i % entry, value = 0;
      if (q < stage.n) value = w == entry - 1 ? ~stage.radius(q) : stage.word(q, w);
      shared[(q / G * entry + w) * G + q % G] = value;
    }
  }

  __device__ inline void compare(const Launch &launch, const u32 *shared, u32 n, u32 query) const {
    for (u32 q = 0; q < n; q += G) {
      const uint4 *four = (const uint4 *)shared + q / G * (words + 1);
      int sum[G][R];
      start(sum, four[words]);
      if (!within(sum, four)) continue;
      u32 hits = 0;
      for (int g = 0; g < G; g++)
        for (int i = 0; i < R; i++) hits |= ((u32)sum[g][i] >> 31) << (g * R + i);
      append(launch, hits, [&](int i) { return make_uint2(query + q + i / R, first + i % R); });
    }
  }

  __device__ static inline void start(int (&sum)[G][R], uint4 radii) {
    for (int i = 0; i < R; i++) sum[0][i] = radii.x, sum[1][i] = radii.y, sum[2][i] = radii.z, sum[3][i] = radii.w;
  }

  // within adds up the distances, and says whether the warp has a hit.
  __device__ inline bool within(int (&sum)[G][R], const uint4 *four) const {
    for (u32 w = 0; w < words; w += 2) {
      add(sum, w, four[w]);
      if (w + 1 < words) add(sum, w + 1, four[w + 1]);
      int any = 0;
      for (int g = 0; g < G; g++)
        for (int i = 0; i < R; i++) any |= sum[g][i];
      if (!__any_sync(ALL, any < 0)) return false;
    }
    return true;
  }

  __device__ inline void add(int (&sum)[G][R], u32 w, uint4 q) const {
    uint4 x = __ldg((const uint4 *)(planes + (u64)w * stride));
    u32 row[R] = {x.x, x.y, x.z, x.w}, query[G] = {q.x, q.y, q.z, q.w};
    for (int g = 0; g < G; g++)
      for (int i = 0; i < R; i++) sum[g][i] += __popc(row[i] ^ query[g]);
  }
};

extern "C" {
__global__ void __launch_bounds__(THREADS, BLOCKS) popcount1(const Launch launch) { scan<Popcount<1, 8>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) popcount2(const Launch launch) { scan<Popcount<2, 8>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) popcount4(const Launch launch) { scan<Popcount<4, 8>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) popcount8(const Launch launch) { scan<Popcount<8, 4>>(launch); }
__global__ void __launch_bounds__(THREADS, BLOCKS) popcountn(const Launch launch) { scan<PopcountN>(launch); }
}
