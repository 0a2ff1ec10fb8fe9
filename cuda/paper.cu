// Hamming range scan as Zhang et al. organise it (SIGIR 2012, section 3.2): one thread a signature, which computes the
// distance, tests it, and appends a hit; one launch a query. Kept to be compared with.
#include "scan.cuh"

// Paper is the one argument of the kernel; the same as in launch.go.
struct Paper {
  const u32 *planes;
  uint2 *hits;
  u64 *found, room;
  const u32 *query;
  const u64 *holders; // of the query
  u32 stride, row, from, to;
  u32 words, radius, place;
  u32 held, apart; // holders a bit, 0: none; see Launch
};

extern "C" __global__ void __launch_bounds__(THREADS) paper(const Paper job) {
  u64 at = job.from + (u64)blockIdx.x * THREADS + threadIdx.x;
  if (at >= job.to) return;
  u32 distance = 0;
  for (u32 w = 0; w < job.words; w++) distance += __popc(job.planes[(u64)w * job.stride + at] ^ job.query[w]);
  if (distance > job.radius) return;
  if (job.held && !mayMatch(job.planes + at, job.stride, job.words, job.query, job.holders, job.held, job.apart)) return;
  u64 place = atomicAdd(job.found, (u64)1);
  if (place < job.room) job.hits[place] = make_uint2(job.place, job.row + (u32)at);
}
