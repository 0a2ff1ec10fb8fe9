// PTX, executed on a CPU as it is given to the driver: read.cc makes instructions of the text, forms.cc says what each
// does, grid.cc runs them, a warp at a time.
//
// What the hardware leaves open is open here too: warps, blocks and diverged lanes run in an order that changes. What it
// would not notice, or not always, is a fault: see grid.cc.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

enum { LANES = 32, THREADS_MAX = 256, SHARED_BASE = 1 << 10, SHARED_MAX = 48 << 10 };

// Slot is a register of all lanes of a warp, or a constant.
union alignas(64) Slot {
  u16 h[LANES];
  u32 w[LANES];
  u64 d[LANES];
  u32 bits; // of a predicate: bit i is that of lane i
};

struct Op;
struct Warp;

// What a form does to the way of the lanes through the program.
enum Way : char {
  ON,     // to the next instruction
  BRANCH, // or to another
  END,
  MEET,   // the lanes of a warp wait for each other
  BARRIER // all threads of the block do
};

// Form is a kind of instruction, as it is spelt.
struct Form {
  const char *name;
  std::string shape; // kinds of results, colon, kinds of operands: p predicate, h, w, d of 16, 32, 64 bits, [ an address
  void (*run)(Warp &, const Op &, u32 active);
  Way way = ON;
  int mask = -1;       // which operand says what lanes meet; -1: all
  char address = 'd';  // kind of an address: d, or w in shared memory
};

// Op is an instruction of a program.
struct Op {
  const Form *form = nullptr;
  int guard = -1; // slot of a predicate
  bool unless = false;
  u32 line = 0, target = 0;
  std::vector<u16> to, from; // slots
  s64 offset = 0;            // of an address
};

// Program is an entry of a module.
struct Program {
  struct Constant {
    u16 slot;
    char kind;
    u64 value;
  };

  std::string name;
  u32 argument = 0; // bytes
  std::vector<Op> ops;
  std::vector<Constant> constants;
  u32 slots = 0;
  int tid, ctaid, clock; // slots of %tid.x, %ctaid.x, %clock64; -1: not used
  std::vector<Warp> warps; // of the last launch, to be used again
};

// Fault is what a program must not do, or what is wrong with its text.
struct Fault {
  int code;
  std::string what;
};

enum { BAD_PTX = 218, BAD_ADDRESS = 700, BAD_ALIGNMENT = 716, BAD_PROGRAM = 719 };

// Marks say which launch has read and written a word of device memory: twice its number, and one more for an atomic write.
struct Mark {
  u64 wrote, read;
};

// Region is an allocation of device memory.
struct Region {
  u64 at;
  size_t bytes;
  Mark *marks; // a word each
};

// Warp is 32 threads of the block that runs.
struct Warp {
  // Group is lanes that are at one place. Those that wait do so for others to come there.
  struct Group {
    u32 at, lanes;
    bool waits;
  };

  Program *program;
  u32 number;
  std::vector<Slot> slots;
  std::vector<u32> defined; // lanes that have written a slot
  std::vector<Group> groups;
  u32 ended; // lanes
};

std::map<std::string, std::shared_ptr<Program>> read_module(const char *text);
const std::vector<Form> &forms();

// run_grid runs a kernel; region_at is the allocation that an address lies in, or null.
void run_grid(Program &, const void *argument, u32 blocks, u32 threads, u32 shared_bytes, const Region *(*region_at)(u64));

// For forms.cc: the place of an access in memory, if the program may do it. Bit i of without: word i of it has no value.
char *global_at(Warp &, u32 lane, u64 address, u32 bytes, char how); // how: r read, n read what no thread writes, w write, a atomic
char *shared_at(Warp &, u32 lane, u64 address, u32 bytes, char how, u32 *without);
const char *param_at(u64 address, u32 bytes);
[[noreturn]] void fault(int code, const std::string &what);
