// Threads, warps and blocks on a CPU; see shim.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#include "shim.h"

namespace {
enum { THREADS_MOST = 256, LANES_ = 32, STACK = 64 << 10 };
enum State { READY, AT_MEETING, AT_BARRIER, DONE };

struct Fibre {
  void *stack; // saved stack pointer
  State state;
};

struct Warp {
  int arrived;
  const void *place;
  void (*f)();
  unsigned char brought[LANES_][64], result[LANES_][64];
};

Fibre fibres[THREADS_MOST];
Warp warps[THREADS_MOST / LANES_];
unsigned char *stacks, *shared_end;
void *scheduler;
unsigned current, threads;
void (*kernel)(const void *);
const void *argument;
unsigned seed = 1;

unsigned random_number() { return seed = seed * 1664525 + 1013904223, seed >> 8; }

[[noreturn]] void fail(const char *what) {
  fprintf(stderr, "shim: block %u, thread %u: %s\n", blockIdx.x, current, what);
  abort();
}

void body() {
  kernel(argument);
  fibres[current].state = DONE;
}
} // namespace

dim3 threadIdx, blockIdx;
uint4 *shared_memory;
unsigned char brought[32][64], result[32][64];

#if defined(__x86_64__)
extern "C" void switch_stack(void **save, void *load);
asm(R"(
.text
.hidden switch_stack
.globl switch_stack
switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

static void entry() {
  body();
  switch_stack(&fibres[current].stack, scheduler);
  abort();
}

static void prepare(unsigned i) {
  void **top = (void **)(stacks + (size_t)(i + 1) * STACK) - 2;
  *--top = nullptr; // entry never returns; keeps the stack as a call would leave it
  *--top = (void *)entry;
  top -= 6;
  fibres[i] = {top, READY};
}

static void resume(unsigned i) { switch_stack(&scheduler, fibres[i].stack); }
static void leave() { switch_stack(&fibres[current].stack, scheduler); }
#else
#include <ucontext.h>
static ucontext_t contexts[THREADS_MOST], main_context;

static void prepare(unsigned i) {
  getcontext(&contexts[i]);
  contexts[i].uc_stack = {stacks + (size_t)i * STACK, 0, STACK};
  contexts[i].uc_link = &main_context;
  makecontext(&contexts[i], body, 0);
  fibres[i] = {nullptr, READY};
}

static void resume(unsigned i) { swapcontext(&main_context, &contexts[i]); }
static void leave() { swapcontext(&contexts[current], &main_context); }
#endif

static void block_at(State state) {
  unsigned me = current;
  fibres[me].state = state;
  leave();
  threadIdx = {me, 0, 0};
}

unsigned lane_now() { return current % LANES_; }

void barrier() { block_at(AT_BARRIER); }

void meet(const void *place, const void *mine, unsigned bytes, void (*f)()) {
  unsigned me = current;
  Warp &w = warps[me / LANES_];
  if (w.arrived == 0) w.place = place, w.f = f;
  if (w.place != place) fail("lanes of a warp have diverged");
  memcpy(w.brought[me % LANES_], mine, bytes);
  if (++w.arrived < LANES_) {
    block_at(AT_MEETING);
  } else {
    w.arrived = 0;
    memcpy(brought, w.brought, sizeof brought);
    f();
    memcpy(w.result, result, sizeof result);
    for (unsigned i = me / LANES_ * LANES_, end = i + LANES_; i < end; i++)
      if (i != me) fibres[i].state = READY;
  }
  memcpy(result[me % LANES_], w.result[me % LANES_], 64);
}

template <class T> static T &in(unsigned lane) { return *(T *)brought[lane]; }
template <class T> static T &out(unsigned lane) { return *(T *)result[lane]; }

static void check_mask(unsigned mask) {
  if (mask != ~0u) fail("a mask without all lanes");
}

unsigned ballot(unsigned mask, bool vote, const void *place) {
  check_mask(mask);
  unsigned mine = vote;
  meet(place, &mine, 4, [] {
    unsigned all = 0;
    for (unsigned i = 0; i < LANES_; i++) all |= in<unsigned>(i) << i;
    for (unsigned i = 0; i < LANES_; i++) out<unsigned>(i) = all;
  });
  return out<unsigned>(lane_now());
}

unsigned long long shuffle(unsigned mask, unsigned long long value, unsigned from, const void *place) {
  check_mask(mask);
  unsigned long long mine[2] = {value, from};
  meet(place, mine, 16, [] {
    for (unsigned i = 0; i < LANES_; i++)
      out<unsigned long long>(i) = in<unsigned long long>((brought[i][8]) % LANES_);
  });
  return out<unsigned long long>(lane_now());
}

// Products of matrices: the fragments as the PTX manual gives them, "Matrix Fragments for mma.m16n8k32", ".m16n8k256"
// and ".m16n8k128" with .b1; group = lane / 4, quad = lane % 4.
struct Fragments {
  unsigned a[4], b[2];
  int c[4];
};

// sum adds up the product of row and column over k, times(k, a, b) per register.
template <class Times> static void multiply(int steps, Times times) {
  for (unsigned lane = 0; lane < LANES_; lane++)
    for (int i = 0; i < 4; i++) {
      int row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;
      int sum = in<Fragments>(lane).c[i];
      for (int quad = 0; quad < 4; quad++)
        for (int step = 0; step < steps; step++) {
          // a0: (group, low half of k), a1: (group + 8, low), a2: (group, high), a3: (group + 8, high); b0: low, b1: high
          unsigned a = in<Fragments>(row % 8 * 4 + quad).a[step * 2 + row / 8];
          unsigned b = in<Fragments>(column * 4 + quad).b[step];
          sum += times(a, b);
        }
      out<int[4]>(lane)[i] = sum;
    }
}

static int bytes(unsigned a, unsigned b) {
  int sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (int8_t)(a >> i) * (int8_t)(b >> i);
  return sum;
}

static int ones(unsigned a, unsigned b) { return __builtin_popcount(a & b); }

static const char product_place = 0, agreement_place = 0, narrow_place = 0;

void products(int (&d)[4], const unsigned (&a)[4], uint2 b, const int (&c)[4]) {
  Fragments f = {{a[0], a[1], a[2], a[3]}, {b.x, b.y}, {c[0], c[1], c[2], c[3]}};
  meet(&product_place, &f, sizeof f, [] { multiply(2, bytes); });
  memcpy(d, result[lane_now()], sizeof d);
}

void agreements(int (&d)[4], const unsigned (&a)[4], uint2 b, const int (&c)[4]) {
  Fragments f = {{a[0], a[1], a[2], a[3]}, {b.x, b.y}, {c[0], c[1], c[2], c[3]}};
  meet(&agreement_place, &f, sizeof f, [] { multiply(2, ones); });
  memcpy(d, result[lane_now()], sizeof d);
}

void agreements(int (&d)[4], const unsigned (&a)[2], unsigned b, const int (&c)[4]) {
  Fragments f = {{a[0], a[1], 0, 0}, {b, 0}, {c[0], c[1], c[2], c[3]}};
  meet(&narrow_place, &f, sizeof f, [] { multiply(1, ones); });
  memcpy(d, result[lane_now()], sizeof d);
}

// run_warp runs the lanes of a warp until all of them are done or at a barrier.
static void run_warp(unsigned warp) {
  bool moved = true, forward = random_number() % 2;
  while (moved) {
    moved = false;
    for (unsigned n = 0; n < LANES_; n++) {
      unsigned i = warp * LANES_ + (forward ? n : LANES_ - 1 - n);
      if (fibres[i].state != READY) continue;
      current = i;
      threadIdx = {i, 0, 0};
      resume(i);
      moved = true;
    }
  }
  for (unsigned n = 0; n < LANES_; n++)
    if (fibres[warp * LANES_ + n].state == AT_MEETING) fail("a lane waits for others of its warp that went elsewhere");
}

// run_phase runs all warps to the next barrier, and says whether there is one.
static bool run_phase() {
  unsigned order[THREADS_MOST / LANES_], count = threads / LANES_, waiting = 0;
  for (unsigned i = 0; i < count; i++) order[i] = i;
  for (unsigned i = count; i > 1; i--) std::swap(order[i - 1], order[random_number() % i]);
  for (unsigned i = 0; i < count; i++) run_warp(order[i]);
  for (unsigned i = 0; i < threads; i++) waiting += fibres[i].state == AT_BARRIER;
  if (waiting != 0 && waiting != threads) fail("not all threads come to a barrier");
  for (unsigned i = 0; i < threads && waiting; i++) fibres[i].state = READY;
  return waiting != 0;
}

static void *map(size_t bytes) {
  void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) abort();
  return at;
}

static void set_up() {
  if (stacks) return;
  stacks = (unsigned char *)map((size_t)THREADS_MOST * STACK);
  unsigned char *memory = (unsigned char *)map((48 << 10) + getpagesize());
  shared_end = memory + (48 << 10);
  mprotect(shared_end, getpagesize(), PROT_NONE);
}

// run_grid runs a kernel.
void run_grid(void (*f)(const void *), const void *arg, unsigned blocks, unsigned block, unsigned shared_bytes) {
  set_up();
  kernel = f, argument = arg, threads = block;
  shared_memory = (uint4 *)(shared_end - (shared_bytes + 15) / 16 * 16);
  for (unsigned b = 0; b < blocks; b++) {
    memset(shared_memory, 0xa5, shared_bytes);
    memset(warps, 0, sizeof warps);
    blockIdx = {b, 0, 0};
    for (unsigned i = 0; i < threads; i++) prepare(i);
    while (run_phase()) {
    }
  }
}
