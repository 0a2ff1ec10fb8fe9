// What the two kernels on tensor cores share: a warp holds M tiles of rows in the shape of matrix A and takes the
// queries, eight at a time, past them as matrix B. The sums begin at minus what a hit has to reach, so that a hit shows in
// the sign, and one instruction tests two sums for all.
//
// Fragments, as the PTX manual draws them: lane = 4 group + quad. Of A a lane holds rows group and group + 8, of B column
// group, of the sums rows group and group + 8 (0 and 1, 2 and 3) in columns 2 quad and 2 quad + 1.
#pragma once
#include "scan.cuh"

// Never is where the sum of a query begins that is none: no agreement makes up for it.
const u32 NEVER = 3u << 30;

// beginnings puts those of the sums of all queries of a stage behind them, as a lane needs them: one load fills the four
// registers which all tiles share.
template <class Begin> __device__ inline void beginnings(u32 *shared, u32 n, Begin begin) {
  for (u32 i = threadIdx.x; i < (n + 7) / 8 * 16; i += THREADS) shared[i] = begin(i / 16 * 8 + i / 4 % 4 * 2 + i % 2);
}

__device__ inline void load(int (&c)[4], const u32 *beginnings, u32 query, u32 lane) {
  uint4 four = ((const uint4 *)beginnings)[query / 2 + lane % 4];
  c[0] = four.x, c[1] = four.y, c[2] = four.z, c[3] = four.w;
}

// Tensor is what is the same for both: which pair a sum is. Sum i belongs to tile i / 4, which has R rows in each place of
// the matrix, 16 apart.
template <int M, int R = 1> struct Tensor {
  enum { WARP = 16 * M * R };

  u32 first; // row of the chunk that is sum 0's

  __device__ inline Tensor(u32 warp) : first(warp + threadIdx.x % LANES / 4) {}

  __device__ static inline u32 offset(int i) { return i / 4 * 16 * R + i % 4 / 2 * 8; }

  // report appends the hits of eight queries, query the number of the first: bit i of a mask is sum i, of the row in its place
  // that the mask is for.
  __device__ inline void report(const Launch &launch, u32 mask, u32 query, u32 place = 0) const {
    u32 column = query + threadIdx.x % 4 * 2;
    append(launch, mask, [&](int i) { return make_uint2(column + i % 2, first + offset(i) + 16 * place); });
  }
};

// bitOf collects a bit of all sums.
template <int M> __device__ inline u32 bitOf(const int (&sum)[M][4], int bit) {
  u32 mask = 0;
  for (int i = 4 * M - 1; i >= 0; i--) mask = mask << 1 | ((u32)sum[i / 4][i % 4] >> bit & 1);
  return mask;
}

// reportSigns appends the pairs whose sums are not negative.
template <class K, int M> __device__ inline void reportSigns(const K &k, const Launch &launch, const int (&sum)[M][4], u32 query) {
  int all = -1;
  for (int m = 0; m < M; m++)
    for (int i = 0; i < 4; i++) all &= sum[m][i];
  if (!__any_sync(ALL, all >= 0)) return;
  u32 mask = M == 8 ? ~bitOf(sum, 31) : ~bitOf(sum, 31) & ((1u << 4 * M % 32) - 1);
  k.report(launch, mask, query);
}
