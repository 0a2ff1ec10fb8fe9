// What all blocked kernels share: the tables that the host writes, the way from a block to its work, and the append of
// hits. The structs are those of launch.go, field by field.
//
// A launch compares many segments at once. A segment is a range of rows of one chunk of device memory and a range of
// queries. The radius of a pair follows from the class of the rows, which all rows of a segment share, and that of the
// query. A segment is cut into units, one a block of threads: a tile of rows, held in registers, and a piece of the queries,
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
  u32 row;            // number of the chunk's first row in the launch
  u32 from, to;       // rows of the chunk
  u32 unit;           // number of the segment's first unit
  u32 query, queries; // number of the first query, and how many
  u32 pieces;         // units a tile
  u32 radii;          // place of its radii, one for each class of queries, in the launch's
};

// Launch is the one argument of a blocked kernel.
struct Launch {
  const Segment *segments; // by unit
  const u32 *queries;      // words + 1 each: the signature, then the class
  const u32 *radii;        // from 0 to the number of bits; or -1, which no pair is within
  uint2 *hits;             // numbers of the query and the row; in no order
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

// Gathered is the hits of a block until its end, so that it takes places for all of them at once. It lies at the beginning
// of shared memory.
struct Gathered {
  enum { ROOM = 512 };

  u64 place; // of the first in the launch's
  u32 count; // also of those that have no room here, and are written at once
  u32 unused;
  uint2 hits[ROOM];
};

__device__ inline uint4 *shared_begin() {
  extern __shared__ uint4 shared[];
  return shared;
}

__device__ inline Gathered &gathered() { return *(Gathered *)shared_begin(); }

// take takes a place for each of some lanes, by one addition. All lanes of the warp call it.
template <class T> __device__ inline T take(T *count, u32 lanes) {
  u32 lane = threadIdx.x % LANES, leader = __ffs(lanes) - 1;
  T place = 0;
  if (lane == leader) place = atomicAdd(count, (T)__popc(lanes));
  return __shfl_sync(ALL, place, leader) + __popc(lanes & ((1u << lane) - 1));
}

// append gathers the hits of a warp. Bit i of a lane's mask is its hit i, which at(i) makes a pair of. All lanes call it.
// A hit without room is counted and not written.
template <class At> __device__ inline void append(const Launch &launch, u32 mask, At at) {
  while (u32 some = __ballot_sync(ALL, mask != 0)) {
    u32 place = take(&gathered().count, some);
    u32 beyond = __ballot_sync(ALL, mask != 0 && place >= Gathered::ROOM);
    u64 far = beyond ? take(launch.found, beyond) : 0;
    if (mask == 0) continue;
    uint2 hit = at(__ffs(mask) - 1);
    if (place < Gathered::ROOM) gathered().hits[place] = hit;
    else if (far < launch.room) launch.hits[far] = hit;
    mask &= mask - 1;
  }
}

// flush writes what a block has gathered. All its threads call it.
__device__ inline void flush(const Launch &launch) {
  __syncthreads();
  u32 n = least(gathered().count, Gathered::ROOM);
  if (threadIdx.x == 0 && n > 0) gathered().place = atomicAdd(launch.found, (u64)n);
  __syncthreads();
  for (u32 i = threadIdx.x; i < n; i += THREADS) {
    u64 place = gathered().place + i;
    if (place < launch.room) launch.hits[place] = gathered().hits[i];
  }
}

// scan takes a unit through a kernel K, which has
//   WARP        rows a warp
//   STAGE       queries in shared memory at once
//   K(segment, row, words)            takes a warp's rows, beginning at row, into registers
//   stage(shared, queries, radii, n, words) all threads put n queries into shared memory; radii are by class
//   compare(launch, shared, n, query) a warp compares its rows with them; query is the number of the first
// A warp whose rows are all out of range only helps to stage.
template <class K> __device__ inline void scan(const Launch &launch) {
  u32 *shared = (u32 *)(shared_begin() + sizeof(Gathered) / sizeof(uint4));
  const u32 tile = THREADS / LANES * K::WARP;
  const Segment segment = locate(launch);
  u32 unit = blockIdx.x - segment.unit;
  u32 row = (segment.from / tile + unit / segment.pieces) * tile + threadIdx.x / LANES * K::WARP;
  bool idle = row >= segment.to || row + K::WARP <= segment.from;
  u32 query = segment.query + unit % segment.pieces * launch.piece;
  u32 last = least(query + launch.piece, segment.query + segment.queries);

  if (threadIdx.x == 0) gathered().count = 0;
  K rows(segment, row, launch.words);
  for (; query < last; query += K::STAGE) {
    u32 n = least(K::STAGE, last - query);
    __syncthreads();
    K::stage(shared, launch.queries + (u64)query * (launch.words + 1), launch.radii + segment.radii, n, launch.words);
    __syncthreads();
    if (!idle) rows.compare(launch, shared, n, query);
  }
  flush(launch);
}
