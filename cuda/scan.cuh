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
const int BLOCKS = 2; // a multiprocessor at least: left to itself the compiler rather spills than have fewer
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

// Held is where the holders of a query are: so many words for each bit that its signature has, in their order; none: a row
// within the radius is a hit.
struct Held {
  u32 first, words;
};

// Launch is the one argument of a blocked kernel.
struct Launch {
  const Segment *segments; // by unit
  const u32 *queries;      // words + 2 each: the signature, the class, the sum of the weights that are not negative
  const u32 *weights;      // 8 words of each of the queries: for each bit what agreement counts, in a signed byte
  const u32 *radii;        // by class of the rows, then of the query; -1: no pair is within
  const u32 *apart;        // beside each radius: tokens outside at most, and 65,536 times the further bits at most
  const Held *held;        // of each query
  const u64 *holders;      // the tokens, as bits, whose codes have a bit; null: no query has any
  uint2 *hits;             // numbers of the query and the row; in no order
  u64 *found;              // the number of hits, those without room included
  u64 room;                // of hits
  u32 count;               // of segments
  u32 words;               // a signature
  u32 piece;               // queries a unit, at most
};

// locate finds the segment of this block.
__device__ inline u32 locate(const Launch &launch) {
  u32 low = 0, high = launch.count;
  while (high - low > 1) {
    u32 middle = (low + high) / 2;
    if (launch.segments[middle].unit <= blockIdx.x) low = middle;
    else high = middle;
  }
  return low;
}

// pin keeps the compiler from computing a value again wherever it is used, instead of keeping it in a register.
__device__ inline void pin(u32 &value) { asm volatile("" : "+r"(value)); }

__device__ inline u32 least(u32 a, u32 b) { return a < b ? a : b; }

// Gathered is the hits of a block until its end, so that it takes places for all of them at once. It lies at the beginning
// of shared memory.
struct Gathered {
  enum { ROOM = 512 };

  u64 place;   // of the first in the launch's
  u32 count;   // also of those that have no room here, and are written at once
  u32 segment; // of the block
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

// mayMatch says whether a row passes the holders of a query, as hashcodes.Holders does: no more tokens have codes that are not
// inside the row's signature than may be, and it has no more bits of its own.
__device__ inline bool mayMatch(const u32 *planes, u32 stride, u32 words, const u32 *query, const u64 *holders, u32 parts,
                                u32 apart) {
  u32 outside = 0, further = 0;
  for (u32 part = 0; part < parts; part++) {
    u64 tokens = 0;
    const u64 *of = holders + part;
#pragma unroll 1 // few come here, and registers are short
    for (u32 w = 0; w < words; w++) {
      u32 x = query[w], y = __ldg(planes + (u64)w * stride);
      if (part == 0) further += __popc(y & ~x);
      for (u32 d = x & ~y; d != 0; d &= d - 1) tokens |= of[__popc(x & (d ^ (d - 1)) >> 1) * parts];
      of += __popc(x) * parts;
    }
    outside += __popcll(tokens);
  }
  return outside <= (apart & 0xffff) && further <= apart >> 16;
}

// isHit looks closer at a row of the block's segment that is near to a query, or nearly so.
__device__ inline bool isHit(const Launch &launch, const Segment &segment, uint2 hit) {
  if (hit.y < segment.from || hit.y >= segment.to) return false;
  if (launch.holders == 0) return true;
  const u32 *query = launch.queries + (u64)hit.x * (launch.words + 2);
  Held held = launch.held[hit.x];
  return held.words == 0 || mayMatch(segment.planes + hit.y, segment.stride, launch.words, query, launch.holders + held.first,
                                     held.words, launch.apart[segment.radii + query[launch.words]]);
}

// append gathers the hits of a warp. Bit i of a lane's mask is its pair i, of which at(i) makes the numbers of the query and
// of the row in the chunk. All lanes call it. A hit without room is counted and not written.
template <class At> __device__ inline void append(const Launch &launch, u32 mask, At at) {
  const Segment &segment = launch.segments[gathered().segment];
  for (u32 rest = mask; rest != 0; rest &= rest - 1)
    if (!isHit(launch, segment, at(__ffs(rest) - 1))) mask ^= rest & -rest;
  while (u32 some = __ballot_sync(ALL, mask != 0)) {
    u32 place = take(&gathered().count, some);
    u32 beyond = __ballot_sync(ALL, mask != 0 && place >= Gathered::ROOM);
    u64 far = beyond ? take(launch.found, beyond) : 0;
    if (mask == 0) continue;
    uint2 hit = at(__ffs(mask) - 1);
    hit.y += segment.row;
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

// Stage is a number of queries that go into shared memory at once.
struct Stage {
  const Launch &launch;
  const u32 *queries, *radii; // of the first; of the segment, by class
  u32 query, n;               // the first's number, and how many

  __device__ inline u32 word(u32 q, u32 w) const { return queries[q * (launch.words + 2) + w]; }
  __device__ inline u32 radius(u32 q) const { return radii[word(q, launch.words)]; }
};

// scan takes a unit through a kernel K, which has
//   WARP        rows a warp
//   STAGE       queries in shared memory at once
//   K(segment, row, words)            takes a warp's rows, beginning at row, into registers
//   fill(shared, stage)               all threads put the queries of a stage into shared memory
//   compare(launch, shared, n, query) a warp compares its rows with them; query is the number of the first
// A warp whose rows are all out of range only helps to fill.
template <class K> __device__ inline void scan(const Launch &launch) {
  u32 *shared = (u32 *)(shared_begin() + sizeof(Gathered) / sizeof(uint4));
  const u32 tile = THREADS / LANES * K::WARP, number = locate(launch);
  const Segment segment = launch.segments[number];
  u32 unit = blockIdx.x - segment.unit;
  u32 row = (segment.from / tile + unit / segment.pieces) * tile + threadIdx.x / LANES * K::WARP;
  bool idle = row >= segment.to || row + K::WARP <= segment.from;
  u32 query = segment.query + unit % segment.pieces * launch.piece;
  u32 last = least(query + launch.piece, segment.query + segment.queries);

  if (threadIdx.x == 0) gathered().count = 0, gathered().segment = number;
  K rows(segment, row, launch.words);
  for (; query < last; query += K::STAGE) {
    u32 n = least(K::STAGE, last - query);
    __syncthreads();
    K::fill(shared, Stage{launch, launch.queries + (u64)query * (launch.words + 2), launch.radii + segment.radii, query, n});
    __syncthreads();
    if (!idle) rows.compare(launch, shared, n, query);
  }
  flush(launch);
}
