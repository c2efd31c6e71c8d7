// Host functions of the CUDA runtime: memory, streams, events, attributes, launches.
// There is one device, whose memory is the host's; all work is done at once and in order.
#pragma once

#include <cstdlib>
#include <cstring>
#include <ctime>

#include <unistd.h>

#include "emulator/grid.h"
#include "emulator/launch.h"

typedef struct CUevent_st* cudaEvent_t;
typedef struct CUgraph_st* cudaGraph_t;

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNotReady = 600,
  cudaErrorNotSupported = 801,
  cudaErrorUnknown = 999,
};
typedef cudaError_t cudaError;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};

enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};

enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 13,
};

struct cudaDeviceProp {
  char name[256] = "emulated";
  int major = 9, minor = 0;
  int multiProcessorCount = 4;
  int maxThreadsPerBlock = 1024;
  int maxThreadsPerMultiProcessor = 2048;
  int warpSize = 32;
  size_t sharedMemPerBlock = 48 * 1024;
  size_t sharedMemPerBlockOptin = 227 * 1024;
  size_t sharedMemPerMultiprocessor = 228 * 1024;
  size_t totalGlobalMem = size_t(64) << 30;
};

inline const char* cudaGetErrorString(cudaError_t e) { return e == cudaSuccess ? "no error" : "error"; }
inline const char* cudaGetErrorName(cudaError_t e) { return e == cudaSuccess ? "cudaSuccess" : "cudaError"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { *device = 0; return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* count) { *count = 1; return cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) { *p = {}; return cudaSuccess; }

inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  cudaDeviceProp properties;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = properties.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(properties.sharedMemPerBlock); break;
    case cudaDevAttrMultiProcessorCount: *value = properties.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = properties.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = properties.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = properties.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(properties.sharedMemPerMultiprocessor); break;
    case cudaDevAttrCooperativeLaunch: *value = 1; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(properties.sharedMemPerBlockOptin); break;
  }
  return cudaSuccess;
}

// Streams and events: everything has happened when a call returns.
inline cudaError_t cudaStreamCreate(cudaStream_t* s) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) { *s = nullptr; return cudaSuccess; }
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*function)(void*), void* data) {
  function(data);
  return cudaSuccess;
}
constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaEventDefault = 0;
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocMapped = 2, cudaHostRegisterDefault = 0;
inline cudaError_t cudaEventCreate(cudaEvent_t* e) { *e = nullptr; return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { *e = nullptr; return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { *ms = 0; return cudaSuccess; }

// Memory: fresh bytes are poisoned.
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t size) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, size) != 0) return cudaErrorMemoryAllocation;
  std::memset(memory, emulator::schedule().poison(), size);
  *pointer = static_cast<T*>(memory);
  return cudaSuccess;
}
template <class T> cudaError_t cudaMallocAsync(T** p, size_t n, cudaStream_t) { return cudaMalloc(p, n); }
template <class T> cudaError_t cudaMallocHost(T** p, size_t n, unsigned = 0) { return cudaMalloc(p, n); }
template <class T> cudaError_t cudaHostAlloc(T** p, size_t n, unsigned) { return cudaMalloc(p, n); }
template <class T> cudaError_t cudaMallocManaged(T** p, size_t n, unsigned = 1) { return cudaMalloc(p, n); }
template <class T> cudaError_t cudaHostGetDevicePointer(T** d, void* h, unsigned) { *d = static_cast<T*>(h); return cudaSuccess; }
inline cudaError_t cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
inline cudaError_t cudaFree(void* p) { std::free(p); return cudaSuccess; }
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
inline cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind) {
  std::memmove(to, from, n);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, n, kind);
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind, cudaStream_t = nullptr) {
  for (size_t row = 0; row < height; ++row) {
    std::memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind);
}
inline cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *available = *total = cudaDeviceProp().totalGlobalMem;
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* p, int value, size_t n) { std::memset(p, value, n); return cudaSuccess; }
inline cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t = nullptr) { return cudaMemset(p, value, n); }
inline cudaError_t cudaMemset2D(void* p, size_t pitch, int value, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) std::memset(static_cast<char*>(p) + row * pitch, value, width);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t n, size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
  std::memcpy(reinterpret_cast<char*>(&symbol) + offset, from, n);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t n, size_t offset, cudaMemcpyKind kind,
                                    cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, n, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t n, size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  std::memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, n);
  return cudaSuccess;
}

template <class T>
cudaError_t cudaGetSymbolAddress(void** address, const T& symbol) {
  *address = const_cast<T*>(&symbol);
  return cudaSuccess;
}

// A handle names the memory of this process; another process has no device to open it on.
struct cudaIpcMemHandle_t {
  char reserved[64];
};
typedef cudaIpcMemHandle_t cudaIpcMemHandle_st;
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;
inline cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  *handle = {};
  long process = static_cast<long>(getpid());
  std::memcpy(handle->reserved, &memory, sizeof memory);
  std::memcpy(handle->reserved + sizeof memory, &process, sizeof process);
  return cudaSuccess;
}
inline cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  long process;
  std::memcpy(&process, handle.reserved + sizeof *memory, sizeof process);
  if (process != static_cast<long>(getpid())) return cudaErrorNotSupported;
  std::memcpy(memory, handle.reserved, sizeof *memory);
  return cudaSuccess;
}
inline cudaError_t cudaIpcCloseMemHandle(void*) { return cudaSuccess; }

enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100,
};

inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t n, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice);
}

// Of the attributes of kernels the size of dynamic memory has an effect; static memory is not counted.
struct cudaFuncAttributes {
  size_t sharedSizeBytes = 0, constSizeBytes = 0, localSizeBytes = 0;
  int maxThreadsPerBlock = 1024, numRegs = 32, maxDynamicSharedSizeBytes = 227 * 1024;
};
template <class F>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, F) { *attributes = {}; return cudaSuccess; }
template <class F>
cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  bool fits = value >= 0 && emulator::allow_dynamic_shared(static_cast<size_t>(value));
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}
template <class F> cudaError_t cudaFuncSetCacheConfig(F, int) { return cudaSuccess; }
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F, int, size_t) {
  *blocks = 1;
  return cudaSuccess;
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F, size_t = 0, int limit = 0) {
  *grid = cudaDeviceProp().multiProcessorCount;
  *block = limit > 0 ? limit : 1024;
  return cudaSuccess;
}

namespace emulator {

template <class... Parameters, size_t... Index>
void launch_packed(void (*kernel)(Parameters...), const LaunchShape& shape, void** arguments,
                   std::index_sequence<Index...>) {
  launch(shape, "launched by pointer", [&] {
    kernel(*static_cast<std::remove_reference_t<Parameters>*>(arguments[Index])...);
  });
}

}  // namespace emulator

template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        size_t shared = 0, cudaStream_t = nullptr) {
  emulator::launch_packed(kernel, {grid, block, shared, true}, arguments,
                          std::index_sequence_for<Parameters...>());
  return cudaSuccess;
}
template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t shared = 0, cudaStream_t = nullptr) {
  emulator::launch_packed(kernel, {grid, block, shared, false}, arguments,
                          std::index_sequence_for<Parameters...>());
  return cudaSuccess;
}

enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
};
struct cudaLaunchAttributeValue {
  int cooperative = 0;
  int programmaticStreamSerializationAllowed = 0;
  struct { unsigned x, y, z; } clusterDim{1, 1, 1};
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Arguments&&... arguments) {
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) cooperative = attribute.val.cooperative != 0;
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      auto size = attribute.val.clusterDim;
      if (size.x * size.y * size.z > 1) throw emulator::NotEmulated("thread block clusters");
    }
  }
  std::tuple<std::decay_t<Parameters>...> copies(std::forward<Arguments>(arguments)...);
  emulator::launch({config->gridDim, config->blockDim, config->dynamicSmemBytes, cooperative},
                   "launched by cudaLaunchKernelEx", [&] { std::apply(kernel, copies); });
  return cudaSuccess;
}
// A kernel that may begin before the one before it has ended: here they follow each other.
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}
