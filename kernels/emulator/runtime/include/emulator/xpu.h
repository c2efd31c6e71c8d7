// What an XPU plugin's C++ needs of Kunlun's library, with every context on the CPU: the plugin's
// own `cpu_wrapper` runs. Kernels for the device itself are not emulated, and refused by name.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "paddle/emulator/errors.h"

#define DLL_EXPORT

typedef void* XPUStream;
typedef __half float16;
typedef __nv_bfloat16 bfloat16;

namespace xpu3 {
typedef ::int64_t int64_t;
}

namespace emulator {
// What a launch of an XPU kernel becomes.
[[noreturn]] inline int refuse_xpu_kernel(const char* name) {
  throw NotEmulated(std::string("the XPU kernel ") + name);
}
}  // namespace emulator

namespace baidu {
namespace xpu {
namespace api {

enum Error { SUCCESS = 0, INVALID_PARAM = 1, RUNTIME_ERROR = 2, NOT_IMPLEMENT = 3, NO_ENOUGH_WORKSPACE = 4 };
enum DeviceType { kCPU = 0, kXPU1, kXPU2, kXPU3 };

class Device {
 public:
  explicit Device(DeviceType type) : type_(type) {}
  DeviceType type() const { return type_; }

 private:
  DeviceType type_;
};

class Context {
 public:
  explicit Context(DeviceType = kCPU) {}
  Device dev() const { return Device(kCPU); }
  int ncluster() const { return 1; }
  int max_ptr_size() const { return 1; }
  XPUStream xpu_stream = nullptr;
};

template <class T> struct XPUIndexType { typedef T type; };

// Memory that lives as long as the guard, poisoned as all fresh memory is.
class ctx_guard {
 public:
  explicit ctx_guard(Context*) {}
  template <class T> T* alloc(size_t count) {
    blocks_.emplace_back(count * sizeof(T), emulator::schedule().poison());
    return reinterpret_cast<T*>(blocks_.back().data());
  }
  template <class T> T* alloc_l3_or_gm(size_t count) { return alloc<T>(count); }

 private:
  std::vector<std::vector<unsigned char>> blocks_;
};

// A vector with its copy on the device, which is the same memory here.
template <class T>
struct VectorParam {
  const T* cpu;
  int64_t len;
  T* xpu;
  VectorParam to_xpu(ctx_guard&) const { return {cpu, len, const_cast<T*>(cpu)}; }
};

template <class From, class To>
int cast(Context*, const From* from, To* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
  return SUCCESS;
}
template <class T>
int constant(Context*, T* to, int64_t count, T value) {
  std::fill_n(to, count, value);
  return SUCCESS;
}
template <class T>
int copy(Context*, const T* from, T* to, int64_t count) {
  std::copy_n(from, count, to);
  return SUCCESS;
}
inline int do_host2device(Context*, const void* from, void* to, size_t bytes) {
  std::memcpy(to, from, bytes);
  return SUCCESS;
}
inline int do_device2host(Context*, const void* from, void* to, size_t bytes) {
  std::memcpy(to, from, bytes);
  return SUCCESS;
}

}  // namespace api
}  // namespace xpu
}  // namespace baidu

namespace api = baidu::xpu::api;

// Dumps and pointers are for a person who debugs; what is asserted of sizes is a host check.
#define WRAPPER_CHECK_CTX(...)
#define WRAPPER_DUMP_FUNCTION_T1(...)
#define WRAPPER_DUMP_FUNCTION_T2(...)
#define WRAPPER_DUMP_FUNCTION_T3(...)
#define WRAPPER_DUMP_PARAM1(...)
#define WRAPPER_DUMP_PARAM2(...)
#define WRAPPER_DUMP_PARAM3(...)
#define WRAPPER_DUMP_PARAM4(...)
#define WRAPPER_DUMP_PARAM5(...)
#define WRAPPER_DUMP_PARAM6(...)
#define WRAPPER_DUMP(...)
#define WRAPPER_CHECK_PTR(...)
#define WRAPPER_CHECK_PTR_OR_NULL(...)
#define WRAPPER_CHECK_2PTRS(...)
#define WRAPPER_CHECK_SHAPE(...)
// It ends itself: some plugins write no semicolon after it.
#define EMULATOR_XPU_ASSERT(condition) \
  { if (!(condition)) ::emulator::fail_check("WRAPPER_ASSERT: " #condition); }
#define WRAPPER_ASSERT_GE(ctx, a, b) EMULATOR_XPU_ASSERT((a) >= (b))
#define WRAPPER_ASSERT_GT(ctx, a, b) EMULATOR_XPU_ASSERT((a) > (b))
#define WRAPPER_ASSERT_LE(ctx, a, b) EMULATOR_XPU_ASSERT((a) <= (b))
#define WRAPPER_ASSERT_LT(ctx, a, b) EMULATOR_XPU_ASSERT((a) < (b))
#define WRAPPER_ASSERT_EQ(ctx, a, b) EMULATOR_XPU_ASSERT((a) == (b))
#define WRAPPER_ASSERT_SUCCESS(ctx, code) EMULATOR_XPU_ASSERT((code) == ::baidu::xpu::api::SUCCESS)
#define WRAPPER_ASSERT_WORKSPACE(ctx, pointer) EMULATOR_XPU_ASSERT((pointer) != nullptr)
#define WRAPPER_UNIMPLEMENTED(ctx) return ::baidu::xpu::api::NOT_IMPLEMENT
#define KERNEL_ASSERT_SUCCESS(ctx, code) WRAPPER_ASSERT_SUCCESS(ctx, code)

#define PADDLE_ENFORCE_XDNN_SUCCESS(code, name) \
  do { if ((code) != 0) ::emulator::fail_check(name, " failed with ", code); } while (0)
#define PADDLE_ENFORCE_XPU_SUCCESS(code) PADDLE_ENFORCE_XDNN_SUCCESS(code, #code)
#define PADDLE_ENFORCE_XDNN_NOT_NULL(pointer) PD_CHECK((pointer) != nullptr)
