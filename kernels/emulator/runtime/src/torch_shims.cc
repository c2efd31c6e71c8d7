// What PyTorch built without CUDA lacks, in its C interface: streams and guards of the emulated GPU.
// This library is loaded for all, so that these stand before libtorch's own.
#include <cstdint>

#include "emulator/grid.h"

namespace {
constexpr int32_t kSuccess = 0;
constexpr int32_t kFailure = 1;
int guard;
}  // namespace

extern "C" {

int32_t aoti_torch_get_current_cuda_stream(int32_t, void** stream) {
  *stream = nullptr;
  return kSuccess;
}
int32_t aoti_torch_create_device_guard(int32_t, void** created) {
  *created = &guard;
  return kSuccess;
}
int32_t aoti_torch_delete_device_guard(void*) { return kSuccess; }
int32_t aoti_torch_device_guard_set_index(void*, int32_t) { return kSuccess; }
int32_t torch_get_current_cuda_blas_handle(void**) {
  emulator::missing() = "products of matrices by cuBLAS";
  return kFailure;
}
}
