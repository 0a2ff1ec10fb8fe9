// What the two kernels on tensor cores share: a warp holds M tiles of 16 rows in the shape of matrix A and takes the
// queries, eight at a time, past them as matrix B. The sums begin at minus what a hit has to reach, so that a hit is a
// sum that is not negative, and one instruction tests two sums for all.
//
// Fragments, as the PTX manual draws them: lane = 4 group + quad. Of A a lane holds rows group and group + 8, of B column
// group, of the sums rows group and group + 8 (0 and 1, 2 and 3) in columns 2 quad and 2 quad + 1.
#pragma once
#include "scan.cuh"

// Never is where the sum of a query begins that is none: no agreement makes up for it.
const u32 NEVER = 3u << 30;

// Tensor is what is the same for both: which hit a sum is. Sum i belongs to tile i / 4.
template <int M> struct Tensor {
  enum { WARP = 16 * M };

  u32 valid, number;

  __device__ inline Tensor(const Segment &segment, u32 warp) {
    u32 row = warp + threadIdx.x % LANES / 4;
    number = segment.row + row;
    valid = 0;
    for (int i = 0; i < 4 * M; i++) {
      u32 at = row + offset(i);
      if (at >= segment.from && at < segment.to) valid |= 1u << i;
    }
    pin(valid);
  }

  __device__ static inline u32 offset(int i) { return i / 4 * 16 + i % 4 / 2 * 8; }

  // report appends the hits of eight queries; query is the place of the first.
  __device__ inline void report(const Launch &launch, const int (&sum)[M][4], u32 query) const {
    int all = -1;
    for (int m = 0; m < M; m++)
      for (int i = 0; i < 4; i++) all &= sum[m][i];
    if (!__any_sync(ALL, all >= 0)) return;
    u32 hits = 0;
    for (int i = 4 * M - 1; i >= 0; i--) hits = hits << 1 | ((u32)~sum[i / 4][i % 4] >> 31);
    u32 column = query + threadIdx.x % 4 * 2;
    append(launch, hits & valid, [&](int i) { return make_uint2(column + i % 2, number + offset(i)); });
  }
};
