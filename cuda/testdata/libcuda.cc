// A driver without a device, for tests. It writes down every call, checks what the real one would trust, and does the
// work on the CPU: device memory is host memory, and kernels are the PTX that it is given, executed (ptx.h).
//
// Work on a stream is done when the test says, where the manual leaves it open: as late as may be, as early, or now and
// then. So a buffer that is filled again too soon, a result that is read before it is there, or a wait that was left out,
// gives wrong results in one of them. Memory holds rubbish at first, and is gone when it is freed.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "ptx.h"

namespace {
enum { OK = 0, INVALID = 1, MEMORY = 2, NO_CONTEXT = 201, NO_BINARY = 209, HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600 };
enum { HANGS = -1 }; // no error of the driver's: whoever waits goes on waiting

// Record is what was recorded of an event, once.
struct Record {
  struct Stream *stream;
  bool done = false;
  double at = 0;
};

// Work is what a stream has to do: run it, once another record is done, where there is one.
struct Work {
  std::function<int()> run;
  std::shared_ptr<Record> after;
  std::string kernel; // its name, where it is one
};

struct Event {
  int device;
  unsigned flags;
  std::shared_ptr<Record> last;
};

struct Stream {
  int device;
  std::deque<Work> work;
};

struct Module {
  int device;
  std::map<std::string, std::shared_ptr<Program>> programs;
};

// Allocated is a piece of device memory, and who has used its words.
struct Allocated : Region {
  int device;
};

// Pinned is host memory that a device may read and write.
struct Pinned {
  int device;
  size_t bytes;
};

// Took is how long some launches of a kernel are said to have taken.
struct Took {
  int launches;
  double milliseconds;
};

// Order is when the work on streams is done, where nothing says that it must be or must not.
enum Order {
  LATE,  // when someone waits for it
  EARLY, // at once
  MIXED  // now and then, some of it
};

std::recursive_mutex mutex;
std::string log_;
std::map<u64, Allocated> device;    // by address
std::map<char *, Pinned> host;
std::map<std::string, int> called;  // times
std::map<int, size_t> used;         // by device
std::map<int, int> sticky;          // by device: the error that every call returns until the context is reset
std::map<int, int> retained;        // by device: times that the primary context was retained
std::map<std::string, std::deque<Took>> times; // by how a kernel's name begins, in turn
double pretended;                   // milliseconds that kernels are said to have taken
std::set<Stream *> streams;
std::set<Event *> events;
std::set<Module *> modules;
size_t total = getenv("REFRAIN_CUDATEST_MEMORY") ? strtoull(getenv("REFRAIN_CUDATEST_MEMORY"), nullptr, 10) : 1 << 30;
int capability = 90, devices = 1, live, processors = 2, order = LATE, running_on;
std::string fail_call, broken, hanging;
std::map<std::string, int> faults; // by how a kernel's name begins: what it fails with
int fail_at, fail_code;
int waiting; // threads that wait for a kernel that hangs
std::condition_variable_any changed; // hanging, or waiting
unsigned seed = 1;
thread_local std::vector<int> contexts; // devices

int current() { return contexts.empty() ? -1 : contexts.back(); }

unsigned random_number() { return seed = seed * 1664525 + 1013904223, seed >> 8; }

// Call is the frame of a call: it takes the lock, writes the call down, and knows whether it has to fail.
struct Call {
  std::unique_lock<std::recursive_mutex> lock{mutex};
  int code = OK;

  Call(const char *name, const char *format = "", ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    log_ += std::string(name) + text + "\n";
    code = sticky[current()];
    if (++called[name] == fail_at && fail_call == name) {
      code = fail_code;
      if (code != MEMORY) sticky[current()] = code;
    }
  }
};

// IN_CONTEXT begins a call that needs a context on its thread.
#define IN_CONTEXT(...)                  \
  Call call(__VA_ARGS__);                \
  if (call.code) return call.code;       \
  if (contexts.empty()) return NO_CONTEXT

int complain(const std::string &what, int code = INVALID) {
  log_ += "WRONG: " + what + "\n";
  return code;
}

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int finish(const std::shared_ptr<Record> &r);

bool begins(const std::string &name, const std::string &with) { return !with.empty() && name.find(with) == 0; }

int step(Stream *s) {
  Work w = s->work.front();
  if (int code = finish(w.after)) return code;
  if (begins(w.kernel, hanging)) return HANGS;
  s->work.pop_front();
  if (int code = w.run()) return sticky[s->device] = code;
  return OK;
}

int finish(Stream *s) {
  while (!s->work.empty())
    if (int code = step(s)) return code;
  return OK;
}

int finish(const std::shared_ptr<Record> &r) {
  while (r && !r->done && streams.count(r->stream)) // a stream that is gone has lost what it had to do with its device
    if (int code = step(r->stream)) return code;
  return OK;
}

bool ready(Stream *s) {
  if (s->work.empty() || sticky[s->device] || begins(s->work.front().kernel, hanging)) return false;
  return !s->work.front().after || s->work.front().after->done;
}

// some_work does a step of any stream that can do one without waiting, and says whether there was one.
bool some_work() {
  std::vector<Stream *> can;
  for (Stream *s : streams)
    if (ready(s)) can.push_back(s);
  if (!can.empty()) step(can[random_number() % can.size()]);
  return !can.empty();
}

// put gives a stream something to do.
int put(Stream *s, std::function<int()> run, std::shared_ptr<Record> after = nullptr, const std::string &kernel = "") {
  s->work.push_back({run, after, kernel});
  if (order == EARLY)
    while (some_work()) {
    }
  if (order == MIXED)
    for (unsigned n = random_number() % 4; n > 0 && some_work(); n--) {
    }
  return OK;
}

// wait_for does what a call has to wait for. While a kernel hangs it lets go of the driver, and waits for its release.
template <class T> int wait_for(Call &call, T work) {
  for (;;) {
    int code = work();
    if (code != HANGS) return code;
    waiting++;
    changed.wait(call.lock);
    waiting--, changed.notify_all();
  }
}

// idle waits while a kernel hangs on any stream of the context at hand, as calls do that give memory back, and as those may that
// allocate it.
int idle(Call &call) {
  int handle = current();
  return wait_for(call, [=] {
    for (Stream *s : streams)
      for (Work &w : s->work)
        if (s->device == handle && begins(w.kernel, hanging)) return (int)HANGS;
    return (int)OK;
  });
}

// clock_at is what events record: what tests say about kernels, once they have said something.
double clock_at() { return times.empty() ? now() : pretended; }

// take_time lets a kernel have taken what a test has said.
void take_time(const std::string &kernel) {
  for (auto &t : times)
    if (begins(kernel, t.first) && !t.second.empty()) {
      pretended += t.second.front().milliseconds;
      if (--t.second.front().launches == 0) t.second.pop_front();
    }
}

const Allocated *allocated(u64 at) {
  auto i = device.upper_bound(at);
  if (i == device.begin()) return nullptr;
  --i;
  return at < i->first + i->second.bytes ? &i->second : nullptr;
}

bool on_device(int handle, u64 at, size_t bytes) {
  const Allocated *a = allocated(at);
  return a && a->device == handle && at + bytes <= a->at + a->bytes;
}

const Region *region_at(u64 at) {
  const Allocated *a = allocated(at);
  return a && a->device == running_on ? a : nullptr;
}

bool is_pinned(const void *at, size_t bytes) {
  auto i = host.upper_bound((char *)at);
  if (i == host.begin()) return false;
  --i;
  return (char *)at + bytes <= i->first + i->second.bytes;
}

// usable says whether a handle is one of the context at hand.
template <class T> bool usable(const std::set<T *> &all, T *handle) { return all.count(handle) && handle->device == current(); }

// ON_STREAM begins a call that needs a stream of its context.
#define ON_STREAM(s) \
  if (!usable(streams, s)) return complain("a stream that is none, or of another context", HANDLE)
#define WITH_EVENT(e) \
  if (!usable(events, e)) return complain("an event that is none, or of another context", HANDLE)

// flags says whether no others are set than may be.
int flags_wrong(const char *call, unsigned flags, unsigned may) {
  return flags & ~may ? complain(std::string(call) + ": flags " + std::to_string(flags)) : OK;
}

void *rubbish(size_t bytes) {
  void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) abort();
  return memset(map, 0xa5, bytes);
}

void *zeros(size_t bytes) {
  void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) abort();
  return map;
}

size_t marks_of(size_t bytes) { return (bytes + 3) / 4 * sizeof(Mark); }

// unmap gives device memory back.
void unmap(const Allocated &a) {
  used[a.device] -= a.bytes, live--;
  munmap((void *)a.at, a.bytes);
  munmap(a.marks, marks_of(a.bytes));
}

template <class T> void destroy(std::set<T *> &all, int handle) {
  for (auto i = all.begin(); i != all.end();) {
    T *t = *i;
    if (t->device != handle) i++;
    else i = all.erase(i), delete t, live--;
  }
}

// destroy_all is what becomes of all that is in a context when it is reset.
void destroy_all(int handle) {
  destroy(streams, handle), destroy(events, handle), destroy(modules, handle);
  for (auto i = device.begin(); i != device.end();)
    if (i->second.device != handle) i++;
    else unmap(i->second), i = device.erase(i);
  for (auto i = host.begin(); i != host.end();)
    if (i->second.device != handle) i++;
    else munmap(i->first, i->second.bytes), i = host.erase(i), live--;
}

int run(Program &p, int handle, const void *argument, u32 blocks, u32 threads, u32 shared) {
  running_on = handle;
  try {
    run_grid(p, argument, blocks, threads, shared, region_at);
  } catch (const Fault &f) {
    return complain(f.what, f.code);
  }
  return OK;
}
} // namespace

#define API extern "C" __attribute__((visibility("default"))) int

// For the tests.
API fake_reset(size_t memory, int devices_, int capability_, int processors_) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  log_.clear(), called.clear(), used.clear(), sticky.clear(), times.clear();
  total = memory, devices = devices_, capability = capability_, processors = processors_, order = LATE;
  fail_call.clear(), broken.clear(), faults.clear();
  fail_at = fail_code = 0, pretended = 0;
  for (Stream *s : streams) s->work.clear(); // what a device that hung has left undone
  return OK;
}
API fake_order(int order_) { // when work is done
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return order = order_, OK;
}
API fake_fail(const char *call, int after, int code) { // the call so many calls from now
  std::lock_guard<std::recursive_mutex> lock(mutex);
  fail_call = call, fail_at = called[call] + after, fail_code = code;
  return OK;
}
API fake_break(const char *kernel) { // a kernel whose name begins so does nothing
  broken = kernel;
  return OK;
}
API fake_fault(const char *kernel, int code) { // a kernel whose name begins so takes its context with it, with this error
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return faults[kernel] = code, (int)OK;
}
API fake_hang(const char *kernel) { // a kernel whose name begins so does not end until fake_release
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return hanging = kernel, (int)OK;
}
API fake_release() { // kernels that hang go on; when this returns nobody waits for one any more
  std::unique_lock<std::recursive_mutex> lock(mutex);
  hanging.clear(), changed.notify_all();
  changed.wait(lock, [] { return waiting == 0; });
  return OK;
}
API fake_waiting() { // threads that wait for a kernel that hangs
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return waiting;
}
// So long the next launches take of a kernel whose name begins so, and behind them those of later calls; all others no time.
API fake_time(const char *kernel, int launches, int microseconds) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return times[kernel].push_back({launches, microseconds / 1e3}), (int)OK;
}
API fake_live() { // what has been made and not been given back
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return live;
}
extern "C" __attribute__((visibility("default"))) const char *fake_log() { return log_.c_str(); }
extern "C" __attribute__((visibility("default"))) const char *fake_forms() { // names of all instructions, one a line
  static std::string names;
  names.clear();
  for (const Form &f : forms()) names += std::string(f.name) + "\n";
  return names.c_str();
}

API cuInit(unsigned flags) { return Call("cuInit", " %u", flags).code; }
API cuDriverGetVersion(int *version) { return *version = 13000, OK; }
API cuGetErrorName(int code, const char **text) {
  static std::string name;
  name = "CUDA_ERROR_" + std::to_string(code);
  return *text = name.c_str(), OK;
}
API cuGetErrorString(int, const char **text) { return *text = "by order", OK; }
API cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount");
  return *count = devices, call.code;
}
API cuDeviceGet(int *handle, int ordinal) {
  Call call("cuDeviceGet", " %d", ordinal);
  return *handle = ordinal + 40, call.code;
}
API cuDeviceGetName(char *name, int size, int handle) {
  Call call("cuDeviceGetName", " %d %d", size, handle);
  snprintf(name, size, "Fake %d", handle - 40);
  return call.code;
}
API cuDeviceGetAttribute(int *value, int attribute, int handle) {
  Call call("cuDeviceGetAttribute", " %d %d", attribute, handle);
  switch (attribute) {
  case 16: *value = processors; break;
  case 75: *value = capability / 10; break;
  case 76: *value = capability % 10; break;
  default: return INVALID;
  }
  return call.code;
}
API cuDevicePrimaryCtxSetFlags_v2(int handle, unsigned flags) {
  Call call("cuDevicePrimaryCtxSetFlags", " %d %u", handle, flags);
  if (flags & ~7u || (flags & (flags - 1))) return complain("cuDevicePrimaryCtxSetFlags: flags " + std::to_string(flags));
  return call.code;
}
API cuDevicePrimaryCtxRetain(uintptr_t *context, int handle) {
  Call call("cuDevicePrimaryCtxRetain", " %d", handle);
  if (call.code) return call.code;
  return *context = handle + 4000, retained[handle]++, live++, OK;
}
API cuDevicePrimaryCtxRelease_v2(int handle) {
  Call call("cuDevicePrimaryCtxRelease", " %d", handle);
  if (waiting) return complain("a context is released while a thread waits in it");
  if (retained[handle] == 0) return NO_CONTEXT;
  if (--retained[handle] == 0 && sticky[handle]) destroy_all(handle), sticky[handle] = OK;
  return live--, OK;
}
// The context is one of the process: it goes for everybody.
API cuDevicePrimaryCtxReset_v2(int handle) {
  Call call("cuDevicePrimaryCtxReset", " %d", handle);
  if (waiting) return complain("a context is reset while a thread waits in it");
  if (call.code) return call.code;
  return destroy_all(handle), sticky[handle] = OK;
}
API cuCtxPushCurrent_v2(uintptr_t context) {
  if (context < 4040 || context >= 4040u + devices) return NO_CONTEXT;
  std::lock_guard<std::recursive_mutex> lock(mutex);
  int handle = context - 4000;
  if (sticky[handle]) return sticky[handle];
  if (!retained[handle]) return complain("a context that nobody has retained", NO_CONTEXT);
  return contexts.push_back(handle), OK;
}
API cuCtxPopCurrent_v2(uintptr_t *context) {
  if (contexts.empty()) return NO_CONTEXT;
  return *context = contexts.back() + 4000, contexts.pop_back(), OK;
}

API cuMemGetInfo_v2(size_t *free, size_t *all) {
  IN_CONTEXT("cuMemGetInfo");
  return *free = total - used[current()], *all = total, OK;
}
API cuMemAlloc_v2(u64 *at, size_t bytes) {
  IN_CONTEXT("cuMemAlloc", " %zu", bytes);
  if (bytes == 0) return complain("nothing to allocate");
  if (int code = idle(call)) return code;
  if (used[current()] + bytes > total) return MEMORY;
  Allocated a = {};
  a.at = *at = (u64)rubbish(bytes), a.bytes = bytes, a.device = current();
  a.marks = (Mark *)zeros(marks_of(bytes));
  device[*at] = a;
  used[current()] += bytes, live++;
  return OK;
}
API cuMemFree_v2(u64 at) {
  IN_CONTEXT("cuMemFree");
  if (int code = idle(call)) return code;
  auto i = device.find(at);
  if (i == device.end() || i->second.device != current()) return complain("free of what was not allocated");
  unmap(i->second), device.erase(i);
  return OK;
}
API cuMemHostAlloc(char **at, size_t bytes, unsigned flags) {
  IN_CONTEXT("cuMemHostAlloc", " %zu %u", bytes, flags);
  if (flags_wrong("cuMemHostAlloc", flags, 7)) return INVALID;
  if (int code = idle(call)) return code;
  *at = (char *)rubbish(bytes);
  return host[*at] = {current(), bytes}, live++, OK;
}
API cuMemFreeHost(char *at) {
  IN_CONTEXT("cuMemFreeHost");
  if (int code = idle(call)) return code;
  auto i = host.find(at);
  if (i == host.end()) return complain("free of what was not pinned");
  munmap(at, i->second.bytes);
  return host.erase(i), live--, OK;
}

API cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, Stream *s) {
  IN_CONTEXT("cuMemcpyHtoDAsync", " %zu", bytes);
  ON_STREAM(s);
  if (!is_pinned(from, bytes)) return complain("copy from memory that is not pinned");
  if (!on_device(current(), to, bytes)) return complain("copy to memory that is not the device's");
  return put(s, [=] {
    if (!is_pinned(from, bytes)) return complain("copy from pinned memory that was freed meanwhile", BAD_ADDRESS);
    if (!on_device(s->device, to, bytes)) return complain("copy to freed memory", BAD_ADDRESS);
    return memcpy((void *)to, from, bytes), (int)OK;
  });
}
// What is read before the copy is done is rubbish.
API cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, Stream *s) {
  IN_CONTEXT("cuMemcpyDtoHAsync", " %zu", bytes);
  ON_STREAM(s);
  if (!is_pinned(to, bytes)) return complain("copy to memory that is not pinned");
  if (!on_device(current(), from, bytes)) return complain("copy from memory that is not the device's");
  memset(to, 0xa5, bytes);
  return put(s, [=] {
    if (!is_pinned(to, bytes)) return complain("copy to pinned memory that was freed meanwhile", BAD_ADDRESS);
    if (!on_device(s->device, from, bytes)) return complain("copy from freed memory", BAD_ADDRESS);
    return memcpy(to, (void *)from, bytes), (int)OK;
  });
}
API cuMemsetD32Async(u64 at, unsigned value, size_t count, Stream *s) {
  IN_CONTEXT("cuMemsetD32Async", " %u %zu", value, count);
  ON_STREAM(s);
  if (at % 4) return complain("fill of words that are not aligned");
  if (!on_device(current(), at, 4 * count)) return complain("fill of memory that is not the device's");
  return put(s, [=] {
    if (!on_device(s->device, at, 4 * count)) return complain("fill of freed memory", BAD_ADDRESS);
    for (size_t i = 0; i < count; i++) ((unsigned *)at)[i] = value;
    return (int)OK;
  });
}

API cuModuleLoadDataEx(Module **module, const char *image, unsigned n, int *options, void **values) {
  IN_CONTEXT("cuModuleLoadDataEx", " %u", n);
  std::string text = image, said;
  int code = OK;
  size_t target = text.find(".target sm_");
  if (target == std::string::npos) return complain("no PTX");
  if (atoi(text.c_str() + target + 11) > capability) said = "the target is too new\n", code = NO_BINARY;
  else {
    try {
      *module = new Module{current(), read_module(image)};
      modules.insert(*module), live++;
    } catch (const Fault &f) {
      said = f.what, code = complain(f.what, f.code);
    }
  }
  char *buffer = nullptr;
  size_t room = 0;
  for (unsigned i = 0; i < n; i++) {
    if (options[i] == 5) buffer = (char *)values[i];
    if (options[i] == 6) room = (size_t)values[i];
  }
  if (buffer && room) snprintf(buffer, room, "%s", said.c_str());
  return code;
}
API cuModuleUnload(Module *module) {
  IN_CONTEXT("cuModuleUnload");
  if (int code = idle(call)) return code;
  if (!modules.erase(module)) return complain("a module that is none", HANDLE);
  return delete module, live--, OK;
}
API cuModuleGetFunction(Program **function, Module *module, const char *name) {
  IN_CONTEXT("cuModuleGetFunction", " %s", name);
  if (!modules.count(module)) return complain("a module that is none", HANDLE);
  auto i = module->programs.find(name);
  if (i == module->programs.end()) return NOT_FOUND;
  return *function = i->second.get(), OK;
}

// find is the program of a handle, if its module is still there.
static std::shared_ptr<Program> find(Program *p) {
  for (Module *m : modules)
    for (auto &named : m->programs)
      if (named.second.get() == p) return named.second;
  return nullptr;
}

API cuLaunchKernel(Program *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   Stream *s, void **params, void **extra) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  std::shared_ptr<Program> p = find(function);
  IN_CONTEXT("cuLaunchKernel", " %s grid %u shared %u", p ? p->name.c_str() : "?", x, shared);
  ON_STREAM(s);
  if (!p) return complain("a function that is none", HANDLE);
  if (x == 0 || x > 0x7fffffff || y != 1 || z != 1 || bx != THREADS_MAX || by != 1 || bz != 1 || shared > SHARED_MAX || extra)
    return complain("shape of a launch");
  std::vector<char> argument((char *)params[0], (char *)params[0] + p->argument);
  bool skip = begins(p->name, broken);
  int fails = OK;
  for (auto &f : faults)
    if (begins(p->name, f.first)) fails = f.second;
  return put(s, [=] {
    take_time(p->name);
    return skip || fails ? fails : run(*p, s->device, argument.data(), x, bx, shared);
  }, nullptr, p->name);
}

API cuStreamCreate(Stream **s, unsigned flags) {
  IN_CONTEXT("cuStreamCreate", " %u", flags);
  if (flags_wrong("cuStreamCreate", flags, 1)) return INVALID;
  *s = new Stream{current()};
  return streams.insert(*s), live++, OK;
}
API cuStreamDestroy_v2(Stream *s) {
  IN_CONTEXT("cuStreamDestroy");
  ON_STREAM(s);
  int code = wait_for(call, [=] { return finish(s); });
  return streams.erase(s), delete s, live--, code;
}
API cuStreamSynchronize(Stream *s) {
  IN_CONTEXT("cuStreamSynchronize");
  ON_STREAM(s);
  return wait_for(call, [=] { return finish(s); });
}
API cuStreamQuery(Stream *s) {
  IN_CONTEXT("cuStreamQuery");
  ON_STREAM(s);
  return s->work.empty() ? OK : NOT_READY;
}
API cuStreamWaitEvent(Stream *s, Event *e, unsigned flags) {
  IN_CONTEXT("cuStreamWaitEvent", " %u", flags);
  ON_STREAM(s);
  if (!events.count(e)) return complain("an event that is none", HANDLE);
  if (flags_wrong("cuStreamWaitEvent", flags, 1)) return INVALID;
  return put(s, [] { return (int)OK; }, e->last);
}
API cuEventCreate(Event **e, unsigned flags) {
  IN_CONTEXT("cuEventCreate", " %u", flags);
  if (flags_wrong("cuEventCreate", flags, 3)) return INVALID;
  *e = new Event{current(), flags};
  return events.insert(*e), live++, OK;
}
API cuEventDestroy_v2(Event *e) {
  IN_CONTEXT("cuEventDestroy");
  WITH_EVENT(e);
  return events.erase(e), delete e, live--, OK;
}
API cuEventRecord(Event *e, Stream *s) {
  IN_CONTEXT("cuEventRecord");
  ON_STREAM(s);
  WITH_EVENT(e);
  auto r = std::make_shared<Record>();
  r->stream = s;
  e->last = r;
  return put(s, [=] { return r->done = true, r->at = clock_at(), (int)OK; });
}
API cuEventSynchronize(Event *e) {
  IN_CONTEXT("cuEventSynchronize");
  WITH_EVENT(e);
  return wait_for(call, [=] { return finish(e->last); });
}
API cuEventElapsedTime(float *milliseconds, Event *a, Event *b) {
  IN_CONTEXT("cuEventElapsedTime");
  WITH_EVENT(a);
  WITH_EVENT(b);
  if ((a->flags | b->flags) & 2) return complain("time of an event made without", HANDLE);
  if (!a->last || !b->last) return complain("time of an event that never was", HANDLE);
  if (!a->last->done || !b->last->done) return NOT_READY;
  return *milliseconds = b->last->at - a->last->at, OK;
}
