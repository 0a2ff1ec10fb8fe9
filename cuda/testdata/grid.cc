// A launch: block after block, its warps from barrier to barrier, their lanes from one place where they meet to the next.
//
// What is a fault here:
//   an access that is not all in one allocation of the device, in the block's shared memory, or in the argument,
//   or whose address is no multiple of its size;
//   a word of shared memory that one thread writes and another reads or writes between the same two barriers;
//   a word of device memory that is written twice in a launch, or written and read, but for atomic additions;
//   lanes of a warp that wait at a vote, a shuffle or a product for others that went elsewhere, or that a mask leaves out;
//   a barrier that not all threads of a block come to, at the same place;
//   a register that is used before it is written, shared memory that nothing has written being no value;
//   a program that does not come to an end.
#include <algorithm>
#include <cstring>

#include "ptx.h"

namespace {
enum : u16 { MANY = 0xffff, ATOMIC = 0xfffe };
enum { STEPS_MAX = 1 << 26 }; // of a warp between two barriers

// Cell says who has used a word of shared memory in which phase: a phase is what is between two barriers of a block.
struct Cell {
  u64 wrote, read;
  u16 writer, reader;
};

struct Launch {
  Program *program;
  const char *argument;
  u32 block, shared_bytes;
  u64 number, phase, first_phase;
  const Region *(*region_at)(u64);
  const Region *last;
  const Op *op;
  int thread; // that is to blame; -1: the warp
};

Launch now;
char shared_memory[SHARED_MAX];
Cell cells[SHARED_MAX / 4];
u32 seed = 1;

u32 random_number() { return seed = seed * 1664525 + 1013904223, seed >> 8; }

template <class T> void shuffle(std::vector<T> &all) {
  for (size_t i = all.size(); i > 1; i--) std::swap(all[i - 1], all[random_number() % i]);
}

std::string hex(u64 value) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
  return text;
}

[[noreturn]] void address_fault(u64 address, const char *what, u32 bytes) {
  fault(BAD_ADDRESS, std::to_string(bytes) + " bytes at " + hex(address) + " " + what);
}

void check_alignment(u64 address, u32 bytes) {
  if (address % bytes) fault(BAD_ALIGNMENT, std::to_string(bytes) + " bytes at " + hex(address) + ": not aligned");
}

void mark_global(Mark &m, char how) {
  u64 plain = 2 * now.number, atomic = plain + 1;
  if (how == 'a') {
    if (m.wrote == plain || m.read == plain) fault(BAD_PROGRAM, "an atomic addition to what the launch reads or writes otherwise");
    m.wrote = atomic;
  } else if (how == 'w') {
    if (m.wrote == plain) fault(BAD_PROGRAM, "a word of device memory is written twice");
    if (m.wrote == atomic || m.read == plain) fault(BAD_PROGRAM, "a word of device memory is written that the launch reads or adds to");
    m.wrote = plain;
  } else {
    if (m.wrote >= plain) fault(BAD_PROGRAM, "a word of device memory is read that the launch writes");
    m.read = plain;
  }
}

void mark_shared(Cell &c, u16 thread, char how) {
  bool read = c.read == now.phase && c.reader != thread, written = c.wrote == now.phase && c.writer != thread;
  if (how == 'r') {
    if (written) fault(BAD_PROGRAM, "a race in shared memory: reads what another thread writes");
    c.reader = read ? (u16)MANY : thread, c.read = now.phase;
    return;
  }
  if (read) fault(BAD_PROGRAM, "a race in shared memory: writes what another thread reads");
  if (written && !(how == 'a' && c.writer == ATOMIC)) fault(BAD_PROGRAM, "a race in shared memory: writes what another thread writes");
  c.writer = how == 'a' ? (u16)ATOMIC : thread, c.wrote = now.phase;
}

void need(const Warp &w, int slot, u32 lanes) {
  u32 missing = lanes & ~w.defined[slot];
  if (!missing) return;
  now.thread = w.number * LANES + __builtin_ctz(missing);
  fault(BAD_PROGRAM, "uses a register that has no value");
}

void execute(Warp &w, const Op &o, u32 active) {
  for (u16 slot : o.from) need(w, slot, active);
  for (u16 slot : o.to) w.defined[slot] |= active;
  now.thread = -1;
  o.form->run(w, o, active);
}

// company is the lanes that an instruction is for.
u32 company(Warp &w, const Op &o, u32 lanes) {
  if (o.form->mask < 0) return ~0u;
  const Slot &masks = w.slots[o.from[o.form->mask]];
  need(w, o.from[o.form->mask], lanes);
  u32 mask = masks.w[__builtin_ctz(lanes)];
  for (int i = 0; i < LANES; i++)
    if (lanes >> i & 1 && (masks.w[i] != mask || !(mask >> i & 1))) fault(BAD_PROGRAM, "a mask that not all lanes share, or without its own");
  return mask & ~w.ended;
}

// arrive lets lanes wait at an instruction until all are there that it is for, and says whether they are.
bool arrive(Warp &w, size_t group, const Op &o) {
  for (size_t i = 0; i < w.groups.size(); i++)
    if (i != group && w.groups[i].waits && w.groups[i].at == w.groups[group].at) {
      w.groups[group].lanes |= w.groups[i].lanes;
      w.groups[i].lanes = 0; // removed when the warp looks for its next
    }
  u32 want = company(w, o, w.groups[group].lanes);
  if (w.groups[group].lanes & ~want) fault(BAD_PROGRAM, "lanes come to where they are not expected");
  return w.groups[group].lanes == want;
}

void split(Warp &w, size_t group, u32 lanes, u32 at) {
  w.groups[group].lanes &= ~lanes;
  w.groups.push_back({at, lanes, false});
}

// step does an instruction for a group of lanes, and says whether they can go on.
bool step(Warp &w, size_t group) {
  u32 at = w.groups[group].at, active = w.groups[group].lanes;
  const Op &o = now.program->ops[at];
  now.op = &o, now.thread = -1;
  if (o.guard >= 0) {
    need(w, o.guard, active);
    u32 bits = w.slots[o.guard].bits;
    active &= o.unless ? ~bits : bits;
    u32 others = w.groups[group].lanes & ~active;
    if (o.form->way != ON && active && others) {
      split(w, group, others, at + 1);
    } else if (o.form->way != ON && others) {
      return w.groups[group].at++, true;
    }
  }
  Warp::Group &g = w.groups[group];
  switch (o.form->way) {
  case ON:
    if (active) execute(w, o, active);
    return g.at++, true;
  case BRANCH:
    g.at = o.target;
    return w.groups.size() == 1 || random_number() % 2;
  case END:
    w.ended |= active, g.lanes = 0;
    for (auto &other : w.groups) other.waits = false; // perhaps for these, who will not come
    return false;
  case MEET:
  case BARRIER:
    g.waits = !arrive(w, group, o);
    if (g.waits) return false;
    if (o.form->way == BARRIER) return g.waits = true, false;
    execute(w, o, w.groups[group].lanes);
    return w.groups[group].at++, true;
  }
  return false;
}

bool at_barrier(const Warp &w) {
  return w.groups.size() == 1 && w.groups[0].lanes == ~0u && w.program->ops[w.groups[0].at].form->way == BARRIER;
}

// next is a group that can go on, any of them; -1 where all wait.
int next(Warp &w) {
  w.groups.erase(std::remove_if(w.groups.begin(), w.groups.end(), [](auto &g) { return g.lanes == 0; }), w.groups.end());
  int found = -1, count = 0;
  for (size_t i = 0; i < w.groups.size(); i++)
    if (!w.groups[i].waits && random_number() % ++count == 0) found = i;
  return found;
}

// run_warp takes a warp to the next barrier, or to its end.
void run_warp(Warp &w) {
  u32 steps = 0;
  for (int group; (group = next(w)) >= 0;)
    while (step(w, group))
      if (++steps == STEPS_MAX) fault(BAD_PROGRAM, "does not come to an end");
  if (w.groups.empty() || at_barrier(w)) return;
  now.op = &w.program->ops[w.groups[0].at], now.thread = w.number * LANES + __builtin_ctz(w.groups[0].lanes);
  fault(BAD_PROGRAM, "a lane waits for others of its warp that went elsewhere");
}

// place_of is the barrier that a warp waits at; after all others where it has ended.
u32 place_of(const Warp &w) { return w.groups.empty() ? ~0u : w.groups[0].at; }

void fill(Slot &s, char kind, u64 value) {
  if (kind == 'p') s.bits = value ? ~0u : 0;
  for (int i = 0; i < LANES; i++)
    if (kind == 'd') s.d[i] = value;
    else if (kind == 'w') s.w[i] = value;
    else if (kind == 'h') s.h[i] = value;
}

// tick lets the clock go on: a step for each barrier.
void tick(const Program &p, Warp &w) {
  static u64 clock;
  if (p.clock >= 0) fill(w.slots[p.clock], 'd', ++clock);
}

// run_phase takes all warps to the next barrier, and says whether there is one.
bool run_phase(std::vector<Warp> &warps) {
  std::vector<Warp *> order;
  for (Warp &w : warps) order.push_back(&w);
  shuffle(order);
  for (Warp *w : order) run_warp(*w);
  Warp &first = warps[0];
  for (Warp &w : warps)
    if (place_of(w) != place_of(first)) {
      now.op = &w.program->ops[std::min(place_of(w), place_of(first))], now.thread = -1;
      fault(BAD_PROGRAM, "not all threads of the block come to this barrier");
    }
  for (Warp &w : warps) {
    for (auto &g : w.groups) g.waits = false, g.at++;
    tick(*w.program, w);
  }
  now.phase++;
  return !first.groups.empty();
}

void set_up(Program &p, u32 threads) {
  p.warps.resize(threads / LANES);
  for (u32 n = 0; n < p.warps.size(); n++) {
    Warp &w = p.warps[n];
    w.program = &p, w.number = n;
    if (!w.slots.empty()) continue;
    w.slots.resize(p.slots);
    for (auto &c : p.constants) fill(w.slots[c.slot], c.kind, c.value);
    for (int i = 0; i < LANES && p.tid >= 0; i++) w.slots[p.tid].w[i] = n * LANES + i;
  }
}

void begin_block(Program &p, u32 block) {
  now.block = block, now.first_phase = ++now.phase;
  memset(shared_memory, 0xa5, now.shared_bytes);
  for (Warp &w : p.warps) {
    w.defined.assign(p.slots, 0);
    for (auto &c : p.constants) w.defined[c.slot] = ~0u;
    if (p.tid >= 0) w.defined[p.tid] = ~0u;
    if (p.ctaid >= 0) w.defined[p.ctaid] = ~0u, fill(w.slots[p.ctaid], 'w', block);
    if (p.clock >= 0) w.defined[p.clock] = ~0u, tick(p, w);
    w.groups.assign(1, {0, ~0u, false});
    w.ended = 0;
  }
}
} // namespace

char *global_at(Warp &w, u32 lane, u64 address, u32 bytes, char how) {
  now.thread = w.number * LANES + lane;
  const Region *r = now.last;
  if (!r || address - r->at >= r->bytes) r = now.last = now.region_at(address);
  if (!r || address - r->at + bytes > r->bytes) address_fault(address, "are not in one allocation of the device", bytes);
  check_alignment(address, bytes);
  for (u32 i = 0; i < bytes; i += 4) mark_global(r->marks[(address - r->at + i) / 4], how);
  return (char *)address;
}

char *shared_at(Warp &w, u32 lane, u64 address, u32 bytes, char how, u32 *without) {
  now.thread = w.number * LANES + lane;
  u64 at = address - SHARED_BASE;
  if (at >= now.shared_bytes || at + bytes > now.shared_bytes) address_fault(at, "are not in shared memory", bytes);
  check_alignment(address, bytes);
  for (u32 i = 0; i < bytes; i += 4) {
    Cell &c = cells[(at + i) / 4];
    if (without && c.wrote < now.first_phase) *without |= 1u << i / 4;
    mark_shared(c, now.thread, how);
  }
  return shared_memory + at;
}

const char *param_at(u64 address, u32 bytes) {
  if (address + bytes > now.program->argument || address % bytes) address_fault(address, "are not in the argument, or not aligned", bytes);
  return now.argument + address;
}

void fault(int code, const std::string &what) {
  std::string who = now.thread < 0 ? "" : ", thread " + std::to_string(now.thread);
  throw Fault{code, now.program->name + ", line " + std::to_string(now.op->line) + " (" + now.op->form->name + "), block " +
                        std::to_string(now.block) + who + ": " + what};
}

void run_grid(Program &p, const void *argument, u32 blocks, u32 threads, u32 shared_bytes, const Region *(*region_at)(u64)) {
  now.program = &p, now.argument = (const char *)argument, now.shared_bytes = shared_bytes, now.region_at = region_at;
  now.last = nullptr, now.number++;
  set_up(p, threads);
  bool forward = random_number() % 2;
  for (u32 n = 0; n < blocks; n++) {
    begin_block(p, forward ? n : blocks - 1 - n);
    while (run_phase(p.warps)) {
    }
  }
}
