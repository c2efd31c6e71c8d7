#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

constexpr int kSearchThreads = 256;

// Leftmost position in `text` where `pattern` starts, or INT64_MAX. The whole block calls it.
__device__ __forceinline__ int64_t block_find(const int64_t* text,
                                              int64_t text_len,
                                              const int64_t* pattern,
                                              int pattern_len,
                                              unsigned long long* shared_best) {
  if (threadIdx.x == 0) {
    *shared_best = static_cast<unsigned long long>(INT64_MAX);
  }
  __syncthreads();
  for (int64_t at = threadIdx.x; at <= text_len - pattern_len; at += blockDim.x) {
    bool same = true;
    for (int j = 0; j < pattern_len; j++) {
      if (text[at + j] != pattern[j]) {
        same = false;
        break;
      }
    }
    if (same) {
      atomicMin(shared_best, static_cast<unsigned long long>(at));
    }
  }
  __syncthreads();
  return static_cast<int64_t>(*shared_best);
}
