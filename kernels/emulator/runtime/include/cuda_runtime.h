// The CUDA runtime on host memory. Included before every source, as nvcc does.
#pragma once

#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define __CUDACC__ 1
#define __CUDA_ARCH_LIST__ 900
#define EMULATED_CUDA_ARCH 900
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 12040
#define CUDA_VERSION 12040
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __managed__
#define __grid_constant__
#define __forceinline__ inline
#define __inline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
// A use of such a kernel is an error; compilers that know only one of the attributes take that.
#define __cluster_dims__(...) \
  __attribute__((error("thread block clusters"), unavailable("not emulated: thread block clusters")))
#define __align__(n) alignas(n)
#define __builtin_align__(n) alignas(n)
#define CUDART_CB
#define CUDART_INF_F (__builtin_inff())
#define CUDART_INF (__builtin_inf())
#define CUDART_NAN_F (__builtin_nanf(""))
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#define CUDART_MAX_NORMAL_F 3.402823466e+38f

#include "emulator/atomics.h"
#include "emulator/device_functions.h"
#include "emulator/grid.h"
#include "emulator/launch.h"
#include "emulator/math_functions.h"
#include "emulator/not_emulated.h"
#include "emulator/runtime_api.h"
#include "emulator/vector_types.h"
