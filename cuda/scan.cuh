// What all blocked kernels share: the tables that the host writes, the way from a block to its work, and the append of
// hits. The structs are those of launch.go, field by field.
//
// A launch compares many segments at once. A segment is a range of rows of one chunk of device memory and a range of
// queries. It is cut into units, one a block of threads: a tile of rows, held in registers, and a piece of the queries,
// which go through shared memory stage by stage.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

enum { THREADS = 256, LANES = 32 };
const u32 ALL = ~0u; // lanes of a warp

// Segment is a range of rows and the queries to compare them with.
struct Segment {
  const u32 *planes;  // word 0 of row 0 of the chunk; the chunk is a multiple of every tile, so whole tiles can be read
  u32 stride;         // rows from a word's plane to the next
  u32 row;            // number of the chunk's first row
  u32 from, to;       // rows of the chunk
  u32 unit;           // number of the segment's first unit
  u32 query, queries; // place of the first query in the launch's, and how many
  u32 pieces;         // units a tile
};

// Launch is the one argument of a blocked kernel.
struct Launch {
  const Segment *segments; // by unit
  const u32 *queries;      // words + 1 each: the signature, then the radius, from 0 to the number of bits
  uint2 *hits;             // place of the query, number of the row; in no order
  u64 *found;              // the number of hits, those without room included
  u64 room;                // of hits
  u32 count;               // of segments
  u32 words;               // a signature
  u32 piece;               // queries a unit, at most
};

// locate finds the segment of this block.
__device__ inline Segment locate(const Launch &launch) {
  u32 low = 0, high = launch.count;
  while (high - low > 1) {
    u32 middle = (low + high) / 2;
    if (launch.segments[middle].unit <= blockIdx.x) low = middle;
    else high = middle;
  }
  return launch.segments[low];
}

// pin keeps the compiler from computing a value again wherever it is used, instead of keeping it in a register.
__device__ inline void pin(u32 &value) { asm volatile("" : "+r"(value)); }

__device__ inline u32 least(u32 a, u32 b) { return a < b ? a : b; }

// append writes the hits of a warp. Bit i of a lane's mask is its hit i, which at(i) makes a pair of. All lanes call it.
// One lane takes places for all; a hit without room is counted and not written.
template <class At> __device__ inline void append(const Launch &launch, u32 mask, At at) {
  u32 lane = threadIdx.x % LANES;
  while (u32 some = __ballot_sync(ALL, mask != 0)) {
    int leader = __ffs(some) - 1;
    u64 place = 0;
    if (lane == leader) place = atomicAdd(launch.found, (u64)__popc(some));
    place = __shfl_sync(ALL, place, leader) + __popc(some & ((1u << lane) - 1));
    if (mask == 0) continue;
    if (place < launch.room) launch.hits[place] = at(__ffs(mask) - 1);
    mask &= mask - 1;
  }
}

// scan takes a unit through a kernel K, which has
//   WARP        rows a warp
//   STAGE       queries in shared memory at once
//   K(segment, row, words)            takes a warp's rows, beginning at row, into registers
//   stage(shared, queries, n, words)  all threads put n queries into shared memory
//   compare(launch, shared, n, query) a warp compares its rows with them; query is the place of the first
// A warp whose rows are all out of range only helps to stage.
template <class K> __device__ inline void scan(const Launch &launch) {
  extern __shared__ uint4 shared[];
  const u32 tile = THREADS / LANES * K::WARP;
  const Segment segment = locate(launch);
  u32 unit = blockIdx.x - segment.unit;
  u32 row = (segment.from / tile + unit / segment.pieces) * tile + threadIdx.x / LANES * K::WARP;
  bool idle = row >= segment.to || row + K::WARP <= segment.from;
  u32 first = unit % segment.pieces * launch.piece;
  u32 last = least(first + launch.piece, segment.queries);

  K rows(segment, row, launch.words);
  for (u32 q = first; q < last; q += K::STAGE) {
    u32 n = least(K::STAGE, last - q), query = segment.query + q;
    __syncthreads();
    K::stage((u32 *)shared, launch.queries + (u64)query * (launch.words + 1), n, launch.words);
    __syncthreads();
    if (!idle) rows.compare(launch, (const u32 *)shared, n, query);
  }
}
