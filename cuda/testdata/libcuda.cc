// A driver without a device, for tests. It writes down every call, checks what the real one would trust, and does the
// work on the CPU: device memory is host memory, and kernels are the .cu files built for the host (shim.h).
//
// It is as late as the real one may be: what is put on a stream happens when someone waits for it and not before. So a
// buffer that is filled again too soon, or a wait that was left out, gives wrong results. Device memory holds rubbish at
// first, ends where memory does, and is gone when it is freed.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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
#include <string>
#include <vector>

struct Named {
  const char *name;
  void (*run)(const void *argument);
  unsigned bytes;
};
extern const Named kernels_by_name[];
void run_grid(void (*f)(const void *), const void *arg, unsigned blocks, unsigned block, unsigned shared_bytes);

namespace {
enum { OK = 0, INVALID = 1, MEMORY = 2, NO_CONTEXT = 201, NO_BINARY = 209, NOT_FOUND = 500, NOT_READY = 600 };

struct Record {
  struct Stream *stream;
  bool done = false;
  double at = 0;
};

struct Event {
  std::shared_ptr<Record> last;
};

struct Stream {
  std::deque<std::function<int()>> work;
};

struct Region {
  char *map;
  size_t mapped, bytes;
};

std::recursive_mutex mutex;
std::string log_;
std::map<uint64_t, Region> device;  // by address
std::map<char *, size_t> host;      // pinned
std::map<std::string, int> called;  // times
size_t total, used;
int capability = 90, devices = 1, live, processors = 2;
std::string fail_call, broken;
int fail_at, fail_code, sticky;
thread_local int depth;

// Call is the frame of a call: it takes the lock, writes the call down, and knows whether it has to fail.
struct Call {
  std::lock_guard<std::recursive_mutex> lock{mutex};
  int code = OK;

  Call(const char *name, const char *format = "", ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    log_ += std::string(name) + text + "\n";
    if (sticky) code = sticky;
    if (++called[name] == fail_at && fail_call == name) {
      code = fail_code;
      if (code != MEMORY) sticky = code;
    }
  }
};

// IN_CONTEXT begins a call that needs a context on its thread.
#define IN_CONTEXT(...)                  \
  Call call(__VA_ARGS__);                \
  if (call.code) return call.code;       \
  if (depth == 0) return NO_CONTEXT

int complain(const char *what) {
  log_ += std::string("WRONG: ") + what + "\n";
  return INVALID;
}

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int step(Stream *s) {
  auto f = s->work.front();
  s->work.pop_front();
  return f();
}

int finish(Stream *s) {
  while (!s->work.empty())
    if (int code = step(s)) return sticky = code;
  return OK;
}

int finish(const std::shared_ptr<Record> &r) {
  while (r && !r->done)
    if (int code = step(r->stream)) return sticky = code;
  return OK;
}

bool on_device(uint64_t at, size_t bytes) {
  auto i = device.upper_bound(at);
  if (i == device.begin()) return false;
  --i;
  return at + bytes <= i->first + i->second.bytes;
}

bool is_pinned(const void *at, size_t bytes) {
  auto i = host.upper_bound((char *)at);
  if (i == host.begin()) return false;
  --i;
  return (char *)at + bytes <= i->first + i->second;
}
} // namespace

#define API extern "C" __attribute__((visibility("default"))) int

// For the tests.
API fake_reset(size_t memory, int devices_, int capability_, int processors_) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  log_.clear(), called.clear();
  total = memory, used = 0, devices = devices_, capability = capability_, processors = processors_;
  fail_call.clear(), broken.clear();
  fail_at = fail_code = sticky = 0;
  return OK;
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
API fake_live() { // what has been made and not been given back
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return live;
}
extern "C" __attribute__((visibility("default"))) const char *fake_log() { return log_.c_str(); }

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
API cuDevicePrimaryCtxSetFlags_v2(int handle, unsigned flags) { return Call("cuDevicePrimaryCtxSetFlags", " %d %u", handle, flags).code; }
API cuDevicePrimaryCtxRetain(uintptr_t *context, int handle) {
  Call call("cuDevicePrimaryCtxRetain", " %d", handle);
  return *context = handle + 4000, live++, call.code;
}
API cuDevicePrimaryCtxRelease_v2(int handle) {
  Call call("cuDevicePrimaryCtxRelease", " %d", handle);
  return live--, OK;
}
API cuCtxPushCurrent_v2(uintptr_t context) {
  if (context < 4040 || context >= 4040u + devices) return NO_CONTEXT;
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (sticky) return sticky;
  return depth++, OK;
}
API cuCtxPopCurrent_v2(uintptr_t *context) {
  if (depth == 0) return NO_CONTEXT;
  return *context = 0, depth--, OK;
}

API cuMemGetInfo_v2(size_t *free, size_t *all) {
  IN_CONTEXT("cuMemGetInfo");
  return *free = total - used, *all = total, OK;
}
API cuMemAlloc_v2(uint64_t *at, size_t bytes) {
  IN_CONTEXT("cuMemAlloc", " %zu", bytes);
  if (bytes == 0) return complain("nothing to allocate");
  if (used + bytes > total) return MEMORY;
  size_t page = getpagesize(), rounded = (bytes + 255) / 256 * 256, mapped = (rounded + page - 1) / page * page;
  char *map = (char *)mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return MEMORY;
  mprotect(map + mapped, page, PROT_NONE);
  memset(map, 0xa5, mapped);
  *at = (uint64_t)map + mapped - rounded;
  device[*at] = {map, mapped + page, bytes};
  used += bytes, live++;
  return OK;
}
API cuMemFree_v2(uint64_t at) {
  IN_CONTEXT("cuMemFree");
  auto i = device.find(at);
  if (i == device.end()) return complain("free of what was not allocated");
  used -= i->second.bytes, live--;
  munmap(i->second.map, i->second.mapped);
  device.erase(i);
  return OK;
}
API cuMemHostAlloc(char **at, size_t bytes, unsigned flags) {
  IN_CONTEXT("cuMemHostAlloc", " %zu %u", bytes, flags);
  *at = (char *)aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  memset(*at, 0x5a, bytes);
  return host[*at] = bytes, live++, OK;
}
API cuMemFreeHost(char *at) {
  IN_CONTEXT("cuMemFreeHost");
  if (!host.erase(at)) return complain("free of what was not pinned");
  return free(at), live--, OK;
}

API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, Stream *s) {
  IN_CONTEXT("cuMemcpyHtoDAsync", " %zu", bytes);
  if (!is_pinned(from, bytes)) return complain("copy from memory that is not pinned");
  if (!on_device(to, bytes)) return complain("copy to memory that is not the device's");
  s->work.push_back([=] { return on_device(to, bytes) ? memcpy((void *)to, from, bytes), OK : complain("copy to freed memory"); });
  return OK;
}
API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Stream *s) {
  IN_CONTEXT("cuMemcpyDtoHAsync", " %zu", bytes);
  if (!is_pinned(to, bytes)) return complain("copy to memory that is not pinned");
  if (!on_device(from, bytes)) return complain("copy from memory that is not the device's");
  s->work.push_back([=] { return on_device(from, bytes) ? memcpy(to, (void *)from, bytes), OK : complain("copy from freed memory"); });
  return OK;
}
API cuMemsetD32Async(uint64_t at, unsigned value, size_t count, Stream *s) {
  IN_CONTEXT("cuMemsetD32Async", " %u %zu", value, count);
  if (!on_device(at, 4 * count)) return complain("fill of memory that is not the device's");
  s->work.push_back([=] {
    for (size_t i = 0; i < count; i++) ((unsigned *)at)[i] = value;
    return OK;
  });
  return OK;
}

API cuModuleLoadDataEx(std::string **module, const char *image, unsigned n, int *options, void **values) {
  IN_CONTEXT("cuModuleLoadDataEx", " %u", n);
  std::string text = image;
  char *said = nullptr;
  for (unsigned i = 0; i < n; i++)
    if (options[i] == 5) said = (char *)values[i];
  size_t target = text.find(".target sm_");
  if (target == std::string::npos) return complain("no PTX");
  if (atoi(text.c_str() + target + 11) > capability) {
    if (said) strcpy(said, "the target is too new\n");
    return NO_BINARY;
  }
  return *module = new std::string(text), live++, OK;
}
API cuModuleUnload(std::string *module) {
  IN_CONTEXT("cuModuleUnload");
  return delete module, live--, OK;
}
// A function has to be in the PTX, with an argument of the size that the host's build of it has.
API cuModuleGetFunction(const Named **function, std::string *module, const char *name) {
  IN_CONTEXT("cuModuleGetFunction", " %s", name);
  for (const Named *k = kernels_by_name; k->name; k++) {
    if (strcmp(k->name, name)) continue;
    std::string entry = std::string(".entry ") + name + "(", argument = std::string(name) + "_param_0[" + std::to_string(k->bytes) + "]";
    if (module->find(entry) == std::string::npos || module->find(argument) == std::string::npos) return NOT_FOUND;
    return *function = k, OK;
  }
  return NOT_FOUND;
}
API cuLaunchKernel(const Named *k, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   Stream *s, void **params, void **extra) {
  IN_CONTEXT("cuLaunchKernel", " %s grid %u shared %u", k->name, x, shared);
  if (x == 0 || x > 0x7fffffff || y != 1 || z != 1 || bx != 256 || by != 1 || bz != 1 || shared > 48 << 10 || extra)
    return complain("shape of a launch");
  std::vector<char> argument((char *)params[0], (char *)params[0] + k->bytes);
  bool skip = !broken.empty() && std::string(k->name).find(broken) == 0;
  s->work.push_back([=] {
    if (!skip) run_grid(k->run, argument.data(), x, bx, shared);
    return OK;
  });
  return OK;
}

API cuStreamCreate(Stream **s, unsigned flags) {
  IN_CONTEXT("cuStreamCreate", " %u", flags);
  return *s = new Stream, live++, OK;
}
API cuStreamDestroy_v2(Stream *s) {
  IN_CONTEXT("cuStreamDestroy");
  int code = finish(s);
  return delete s, live--, code;
}
API cuStreamSynchronize(Stream *s) {
  IN_CONTEXT("cuStreamSynchronize");
  return finish(s);
}
API cuStreamWaitEvent(Stream *s, Event *e, unsigned flags) {
  IN_CONTEXT("cuStreamWaitEvent", " %u", flags);
  auto r = e->last;
  s->work.push_back([=] { return finish(r); });
  return OK;
}
API cuEventCreate(Event **e, unsigned flags) {
  IN_CONTEXT("cuEventCreate", " %u", flags);
  return *e = new Event, live++, OK;
}
API cuEventDestroy_v2(Event *e) {
  IN_CONTEXT("cuEventDestroy");
  return delete e, live--, OK;
}
API cuEventRecord(Event *e, Stream *s) {
  IN_CONTEXT("cuEventRecord");
  auto r = std::make_shared<Record>();
  r->stream = s;
  e->last = r;
  s->work.push_back([=] { return r->done = true, r->at = now(), OK; });
  return OK;
}
API cuEventSynchronize(Event *e) {
  IN_CONTEXT("cuEventSynchronize");
  return finish(e->last);
}
API cuEventElapsedTime(float *milliseconds, Event *a, Event *b) {
  IN_CONTEXT("cuEventElapsedTime");
  if (!a->last || !b->last) return complain("time of an event that never was");
  if (!a->last->done || !b->last->done) return NOT_READY;
  return *milliseconds = b->last->at - a->last->at, OK;
}
