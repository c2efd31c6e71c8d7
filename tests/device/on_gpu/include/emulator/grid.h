// What the op table and the stand-in for Paddle ask of the emulator, where a GPU takes its place.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emulator {

struct NotEmulated : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Schedule {
  uint64_t seed = 0;
  unsigned char poison() const { return 0xCD; }
};
struct Observations {
  uint64_t launches = 0;
  std::vector<std::string> barriers;
};
Schedule& schedule();
std::string& missing();
Observations& observations();

struct Float8E4m3 {
  __host__ __device__ static uint8_t from_double(double value) {
    return __nv_fp8_e4m3(static_cast<float>(value)).__x;
  }
  __host__ __device__ static float to_float(uint8_t bits) {
    __nv_fp8_e4m3 number;
    number.__x = bits;
    return static_cast<float>(number);
  }
};

}  // namespace emulator
