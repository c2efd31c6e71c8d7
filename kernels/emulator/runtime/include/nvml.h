// The management library of a machine with one device, of which only memory is asked.
#pragma once

#include "cuda_runtime.h"

enum nvmlReturn_t { NVML_SUCCESS = 0, NVML_ERROR_NOT_FOUND = 6 };
constexpr unsigned NVML_DEVICE_NAME_BUFFER_SIZE = 64;
typedef struct nvmlDevice_st* nvmlDevice_t;
struct nvmlMemory_t {
  unsigned long long total, free, used;
};

inline nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
inline nvmlReturn_t nvmlInit() { return NVML_SUCCESS; }
inline nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
inline const char* nvmlErrorString(nvmlReturn_t r) { return r == NVML_SUCCESS ? "success" : "not found"; }
inline nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) { *count = 1; return NVML_SUCCESS; }
inline nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
inline nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  *device = nullptr;
  return index == 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}
inline nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}
inline nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char* name, unsigned length) {
  std::snprintf(name, length, "%s", cudaDeviceProp().name);
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t, nvmlMemory_t* memory) {
  unsigned long long total = cudaDeviceProp().totalGlobalMem;
  *memory = {total, total, 0};
  return NVML_SUCCESS;
}
