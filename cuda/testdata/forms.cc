// What each instruction does, as the PTX manual says: in each active lane, or, for those on which a warp meets, for all
// lanes at once.
#include <algorithm>
#include <cstring>
#include <utility>

#include "ptx.h"

namespace {
// Kinds of registers by their types here.
template <class T> constexpr char kind_of() {
  return sizeof(T) == 8 ? 'd' : sizeof(T) == 4 ? 'w' : std::is_same_v<T, bool> ? 'p' : 'h';
}

template <class T> T get(const Slot &s, int lane) {
  if constexpr (std::is_same_v<T, bool>) return s.bits >> lane & 1;
  else if constexpr (sizeof(T) == 8) return s.d[lane];
  else if constexpr (sizeof(T) == 4) return s.w[lane];
  else return s.h[lane];
}

template <class T> void put(Slot &s, int lane, T value) {
  if constexpr (sizeof(T) == 8) s.d[lane] = value;
  else if constexpr (sizeof(T) == 4) s.w[lane] = value;
  else s.h[lane] = value;
}

// run_each computes F in every active lane. Lanes do not touch each other's, so the compiler may do many at once.
template <class F, class R, class... A, size_t... N>
void run_each(Warp &w, const Op &o, u32 active, std::index_sequence<N...>) {
  Slot &to = w.slots[o.to[0]];
  const Slot *from[] = {&w.slots[o.from[N]]...};
  if constexpr (std::is_same_v<R, bool>) {
    u32 bits = 0;
    for (int i = 0; i < LANES; i++) bits |= (u32)F{}(get<A>(*from[N], i)...) << i;
    to.bits = (to.bits & ~active) | (bits & active);
  } else if (active == ~0u) {
#pragma GCC ivdep
    for (int i = 0; i < LANES; i++) put<R>(to, i, F{}(get<A>(*from[N], i)...));
  } else {
#pragma GCC ivdep
    for (int i = 0; i < LANES; i++) put<R>(to, i, active >> i & 1 ? F{}(get<A>(*from[N], i)...) : get<R>(to, i));
  }
}

template <class F, class R, class... A> Form form_of(const char *name, R (*)(A...)) {
  std::string shape = {kind_of<R>(), ':'};
  (shape.push_back(kind_of<A>()), ...);
  return {name, shape, [](Warp &w, const Op &o, u32 active) {
            run_each<F, R, A...>(w, o, active, std::make_index_sequence<sizeof...(A)>());
          }};
}

// each is a form that computes lane by lane.
template <class F> Form each(const char *name, F f) { return form_of<F>(name, +f); }

template <class F> void lanes(u32 active, F f) {
  for (; active; active &= active - 1) f(__builtin_ctz(active));
}

u64 address_of(const Warp &w, const Op &o, int lane) {
  const Slot &s = w.slots[o.from[0]];
  return (o.form->address == 'd' ? s.d[lane] : s.w[lane]) + o.offset;
}

// load reads N of T from memory: g global, n global that no thread writes, s shared, p the argument. Registers may be wider.
template <class T, int N, char SPACE, class R> void load(Warp &w, const Op &o, u32 active) {
  lanes(active, [&](int lane) {
    u64 address = address_of(w, o, lane);
    T values[N];
    u32 without = 0; // words that have no value
    if constexpr (SPACE == 's') memcpy(values, shared_at(w, lane, address, sizeof values, 'r', &without), sizeof values);
    else if constexpr (SPACE == 'p') memcpy(values, param_at(address, sizeof values), sizeof values);
    else memcpy(values, global_at(w, lane, address, sizeof values, SPACE == 'n' ? 'n' : 'r'), sizeof values);
    for (int i = 0; i < N; i++) {
      put<R>(w.slots[o.to[i]], lane, values[i]);
      if (without >> (i * sizeof(T) / 4) & ((1u << sizeof(T) / 4) - 1)) w.defined[o.to[i]] &= ~(1u << lane);
    }
  });
}

template <class T, int N, char SPACE> void store(Warp &w, const Op &o, u32 active) {
  lanes(active, [&](int lane) {
    T values[N];
    for (int i = 0; i < N; i++) values[i] = get<T>(w.slots[o.from[1 + i]], lane);
    u64 address = address_of(w, o, lane);
    memcpy(SPACE == 's' ? shared_at(w, lane, address, sizeof values, 'w', nullptr)
                        : global_at(w, lane, address, sizeof values, 'w'),
           values, sizeof values);
  });
}

// atomic_add does one lane after the other, in an order of its own.
template <class T, char SPACE> void atomic_add(Warp &w, const Op &o, u32 active) {
  lanes(active, [&](int lane) {
    u64 address = address_of(w, o, lane);
    char *at = SPACE == 's' ? shared_at(w, lane, address, sizeof(T), 'a', nullptr) : global_at(w, lane, address, sizeof(T), 'a');
    T before, after;
    memcpy(&before, at, sizeof before);
    after = before + get<T>(w.slots[o.from[1]], lane);
    memcpy(at, &after, sizeof after);
    put<T>(w.slots[o.to[0]], lane, before);
  });
}

template <class T, int N, char SPACE, class R = T> Form loads(const char *name) {
  return {name, std::string(N, kind_of<R>()) + ":[", load<T, N, SPACE, R>, ON, -1, SPACE == 's' ? 'w' : 'd'};
}
template <class T, int N, char SPACE> Form stores(const char *name) {
  return {name, ":[" + std::string(N, kind_of<T>()), store<T, N, SPACE>, ON, -1, SPACE == 's' ? 'w' : 'd'};
}
template <class T, char SPACE> Form adds(const char *name) {
  return {name, {kind_of<T>(), ':', '[', kind_of<T>()}, atomic_add<T, SPACE>, ON, -1, SPACE == 's' ? 'w' : 'd'};
}

void pack(Warp &w, const Op &o, u32 active) {
  lanes(active, [&](int i) { w.slots[o.to[0]].d[i] = w.slots[o.from[0]].w[i] | (u64)w.slots[o.from[1]].w[i] << 32; });
}

void unpack(Warp &w, const Op &o, u32 active) {
  lanes(active, [&](int i) {
    u64 value = w.slots[o.from[0]].d[i];
    w.slots[o.to[0]].w[i] = value, w.slots[o.to[1]].w[i] = value >> 32;
  });
}

void ballot(Warp &w, const Op &o, u32 active) {
  u32 votes = w.slots[o.from[0]].bits & active;
  lanes(active, [&](int i) { w.slots[o.to[0]].w[i] = votes; });
}

void any(Warp &w, const Op &o, u32 active) {
  u32 &bits = w.slots[o.to[0]].bits;
  bool yes = w.slots[o.from[0]].bits & active;
  bits = (bits & ~active) | (yes ? active : 0);
}

// shuffle: operands are the value, the lane to take it from, 31, and the mask; a second result says whether there is that lane.
void shuffle(Warp &w, const Op &o, u32 active) {
  Slot before = w.slots[o.from[0]];
  lanes(active, [&](int i) {
    u32 from = w.slots[o.from[1]].w[i] % LANES;
    if (w.slots[o.from[2]].w[i] != 31) fault(BAD_PROGRAM, "a shuffle within a part of the warp: not known here");
    if (!(active >> from & 1)) fault(BAD_PROGRAM, "lane " + std::to_string(i) + " takes from lane " + std::to_string(from) + ", which is not there");
    w.slots[o.to[0]].w[i] = before.w[from];
    if (o.to.size() > 1) w.slots[o.to[1]].bits |= 1u << i;
  });
}

// Products of matrices, from the figures of the PTX manual, "Matrix Fragments for mma.m16n8k32", ".m16n8k256", ".m16n8k128": lane =
// 4 group + quad. Register 0 of A is row group, 1 is row group + 8, both in the first half of k, 2 and 3 are the same
// rows in the second; of B, column group, register 0 is the first half and 1 the second. A lane holds a quarter of a half, the
// quad-th: so four lanes' registers, as they lie in a slot, are half a row. Sums 0 and 1 are row group in columns 2 quad and
// 2 quad + 1, sums 2 and 3 row group + 8.
template <int HALVES, class Dot> void multiply(Warp &w, const Op &o, Dot dot) {
  const u16 *a = o.from.data(), *b = a + 2 * HALVES, *c = b + HALVES;
  u32 sums[4][LANES];
  for (int i = 0; i < 4; i++)
    for (int lane = 0; lane < LANES; lane++) {
      u32 group = lane / 4, column = lane % 4 * 2 + i % 2, sum = w.slots[c[i]].w[lane];
      for (int half = 0; half < HALVES; half++)
        sum += dot(&w.slots[a[2 * half + i / 2]].w[4 * group], &w.slots[b[half]].w[4 * column]);
      sums[i][lane] = sum;
    }
  for (int i = 0; i < 4; i++) memcpy(w.slots[o.to[i]].w, sums[i], sizeof sums[i]);
}

u32 bytes_dot(const u32 *a, const u32 *b) {
  const int8_t *x = (const int8_t *)a, *y = (const int8_t *)b;
  s32 sum = 0;
  for (int i = 0; i < 16; i++) sum += (int16_t)x[i] * (int16_t)y[i];
  return sum;
}

u32 bits_dot(const u32 *a, const u32 *b) {
  u64 x[2], y[2];
  memcpy(x, a, sizeof x), memcpy(y, b, sizeof y);
  return __builtin_popcountll(x[0] & y[0]) + __builtin_popcountll(x[1] & y[1]);
}

u32 reversed(u32 x) {
  u32 to = 0;
  for (int i = 0; i < 32; i++) to |= (x >> i & 1) << (31 - i);
  return to;
}

// bfi puts the low bits of a, length of them, over those of b from position on.
u32 inserted(u32 a, u32 b, u32 position, u32 length) {
  position &= 255, length &= 255;
  if (position >= 32) return b;
  u32 mask = (u32)((length >= 32 ? ~0ull : (1ull << length) - 1) << position);
  return (b & ~mask) | (a << position & mask);
}

#define SETP(type, t)                                                                                            \
  each("setp.eq." type, [](t a, t b) { return a == b; }), each("setp.ne." type, [](t a, t b) { return a != b; }), \
      each("setp.lt." type, [](t a, t b) { return a < b; }), each("setp.le." type, [](t a, t b) { return a <= b; }), \
      each("setp.gt." type, [](t a, t b) { return a > b; }), each("setp.ge." type, [](t a, t b) { return a >= b; })

void nothing(Warp &, const Op &, u32) {}

std::vector<Form> all() {
  return {
      each("add.s32", [](u32 a, u32 b) { return a + b; }),
      each("add.s64", [](u64 a, u64 b) { return a + b; }),
      each("sub.s32", [](u32 a, u32 b) { return a - b; }),
      each("neg.s32", [](u32 a) { return -a; }),
      each("mul.lo.s32", [](u32 a, u32 b) { return a * b; }),
      each("mul.lo.s64", [](u64 a, u64 b) { return a * b; }),
      each("mul.wide.u32", [](u32 a, u32 b) { return (u64)a * b; }),
      each("mul.wide.u16", [](u16 a, u16 b) { return (u32)a * b; }),
      each("mad.lo.s32", [](u32 a, u32 b, u32 c) { return a * b + c; }),
      each("div.u32", [](u32 a, u32 b) { return b == 0 ? ~0u : a / b; }),
      each("rem.u32", [](u32 a, u32 b) { return b == 0 ? a : a % b; }),
      each("min.u32", [](u32 a, u32 b) { return a < b ? a : b; }),
      each("min.s32", [](s32 a, s32 b) { return a < b ? a : b; }),
      each("max.u32", [](u32 a, u32 b) { return a > b ? a : b; }),
      each("max.s32", [](s32 a, s32 b) { return a > b ? a : b; }),

      each("and.b32", [](u32 a, u32 b) { return a & b; }),
      each("or.b32", [](u32 a, u32 b) { return a | b; }),
      each("xor.b32", [](u32 a, u32 b) { return a ^ b; }),
      each("or.b64", [](u64 a, u64 b) { return a | b; }),
      each("not.b32", [](u32 a) { return ~a; }),
      each("and.pred", [](bool a, bool b) { return (bool)(a & b); }),
      each("or.pred", [](bool a, bool b) { return (bool)(a | b); }),
      each("xor.pred", [](bool a, bool b) { return (bool)(a ^ b); }),
      each("not.pred", [](bool a) { return !a; }),
      each("shl.b32", [](u32 a, u32 n) { return n < 32 ? a << n : 0; }),
      each("shl.b64", [](u64 a, u32 n) { return n < 64 ? a << n : 0; }),
      each("shr.u32", [](u32 a, u32 n) { return n < 32 ? a >> n : 0; }),
      each("shr.s32", [](s32 a, u32 n) { return a >> (n < 32 ? n : 31); }),
      each("shr.u64", [](u64 a, u32 n) { return n < 64 ? a >> n : 0; }),
      each("popc.b32", [](u32 a) { return (u32)__builtin_popcount(a); }),
      each("popc.b64", [](u64 a) { return (u32)__builtin_popcountll(a); }),
      each("brev.b32", [](u32 a) { return reversed(a); }),
      each("bfind.shiftamt.u32", [](u32 a) { return a ? (u32)__builtin_clz(a) : ~0u; }),
      each("bfi.b32", [](u32 a, u32 b, u32 position, u32 length) { return inserted(a, b, position, length); }),

      SETP("s32", s32), SETP("u32", u32), SETP("b32", u32), SETP("s64", int64_t), SETP("u64", u64),
      each("selp.b32", [](u32 a, u32 b, bool p) { return p ? a : b; }),
      each("selp.u32", [](u32 a, u32 b, bool p) { return p ? a : b; }),
      each("selp.u16", [](u16 a, u16 b, bool p) { return p ? a : b; }),

      each("mov.pred", [](bool a) { return a; }),
      each("mov.u32", [](u32 a) { return a; }),
      each("mov.u64", [](u64 a) { return a; }),
      each("mov.b64", [](u64 a) { return a; }),
      {"mov.b64", "d:ww", pack},
      {"mov.b64", "ww:d", unpack},
      each("cvt.u64.u32", [](u32 a) { return (u64)a; }),
      each("cvt.u32.u64", [](u64 a) { return (u32)a; }),
      each("cvta.to.global.u64", [](u64 a) { return a; }),

      loads<u32, 1, 'p'>("ld.param.u32"), loads<u32, 1, 'p', u64>("ld.param.u32"), loads<u64, 1, 'p'>("ld.param.u64"), loads<u32, 2, 'p'>("ld.param.v2.u32"),
      loads<u32, 1, 'g'>("ld.global.u32"), loads<u32, 1, 'g', u64>("ld.global.u32"),
      loads<u64, 1, 'g'>("ld.global.u64"), loads<u32, 2, 'g'>("ld.global.v2.u32"),
      loads<u32, 1, 'n'>("ld.global.nc.u32"), loads<u32, 4, 'n'>("ld.global.nc.v4.u32"),
      loads<u32, 1, 's'>("ld.shared.u32"), loads<u32, 2, 's'>("ld.shared.v2.u32"), loads<u32, 4, 's'>("ld.shared.v4.u32"), loads<u64, 1, 's'>("ld.shared.u64"),
      stores<u32, 1, 's'>("st.shared.u32"), stores<u32, 2, 's'>("st.shared.v2.u32"), stores<u64, 1, 's'>("st.shared.u64"),
      stores<u32, 2, 'g'>("st.global.v2.u32"),
      adds<u64, 'g'>("atom.global.add.u64"), adds<u32, 's'>("atom.shared.add.u32"),

      {"bra", ":l", nothing, BRANCH}, {"bra.uni", ":l", nothing, BRANCH}, {"ret", ":", nothing, END},
      {"bar.sync", ":w", nothing, BARRIER},
      {"vote.sync.ballot.b32", "w:pw", ballot, MEET, 1}, {"vote.sync.any.pred", "p:pw", any, MEET, 1},
      {"shfl.sync.idx.b32", "w:wwww", shuffle, MEET, 3}, {"shfl.sync.idx.b32", "wp:wwww", shuffle, MEET, 3},
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "wwww:wwwwwwwwww",
       [](Warp &w, const Op &o, u32) { multiply<2>(w, o, bytes_dot); }, MEET},
      {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "wwww:wwwwwwwwww",
       [](Warp &w, const Op &o, u32) { multiply<2>(w, o, bits_dot); }, MEET},
      {"mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", "wwww:wwwwwww",
       [](Warp &w, const Op &o, u32) { multiply<1>(w, o, bits_dot); }, MEET},
  };
}
} // namespace

const std::vector<Form> &forms() {
  static const std::vector<Form> made = all();
  return made;
}
