// CUDA's built-in device functions: barriers, warps, votes, bits, integers.
#pragma once

#include <cstring>
#include <type_traits>

#include "emulator/grid.h"

// Of the thread that runs: set whenever another one goes on.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
static constexpr int warpSize = 32;

// ---- barriers ----
inline void __syncthreads(EMULATOR_SITE) { emulator::wait_for_block(0, 0, 0, {file, line}); }
inline int __syncthreads_count(int p, EMULATOR_SITE) {
  return emulator::wait_for_block(0, 0, p, {file, line});
}
inline int __syncthreads_or(int p, EMULATOR_SITE) {
  return emulator::wait_for_block(0, 0, p, {file, line}) != 0;
}
inline int __syncthreads_and(int p, EMULATOR_SITE) {
  return emulator::wait_for_block(0, 0, !p, {file, line}) == 0;
}
inline void __barrier_sync(unsigned id, EMULATOR_SITE) {
  emulator::wait_for_block(id, 0, 0, {file, line});
}
inline void __barrier_sync_count(unsigned id, unsigned count, EMULATOR_SITE) {
  emulator::wait_for_block(id, count, 0, {file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATOR_SITE) {
  auto* exchange = emulator::enter_warp(emulator::WarpCall::kSync, mask, nullptr, 0, {file, line});
  emulator::leave_warp(exchange);
}
// Threads run one after the other: memory is always in order.
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) { emulator::let_others_run(); }
inline unsigned __activemask(EMULATOR_SITE) { return emulator::converged_lanes({file, line}); }
[[noreturn]] inline void __trap() { emulator::trap("__trap()"); }
inline void __brkpt() {}

// ---- warp shuffles ----
namespace emulator {

template <class T, class Choose>
T shuffle(unsigned mask, T value, Choose source_of, Site site) {
  static_assert(sizeof(T) <= kExchangeBytes, "a shuffle takes values of up to 32 bytes");
  WarpExchange* exchange = enter_warp(WarpCall::kShuffle, mask, &value, sizeof(T), site);
  T result = value;
  int source = source_of(static_cast<int>(current().lane()));
  std::memcpy(static_cast<void*>(&result), exchange->values[source & 31], sizeof(T));
  leave_warp(exchange);
  return result;
}

}  // namespace emulator

// `width` cuts the warp into segments; a source outside of its own segment is the lane itself.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, EMULATOR_SITE) {
  auto choose = [=](int lane) { return (lane & ~(width - 1)) | (source & (width - 1)); };
  return emulator::shuffle(mask, value, choose, {file, line});
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATOR_SITE) {
  auto choose = [=](int lane) {
    int first = lane & ~(width - 1);
    int source = lane - static_cast<int>(delta);
    return source < first ? lane : source;
  };
  return emulator::shuffle(mask, value, choose, {file, line});
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, EMULATOR_SITE) {
  auto choose = [=](int lane) {
    int last = lane | (width - 1);
    int source = lane + static_cast<int>(delta);
    return source > last ? lane : source;
  };
  return emulator::shuffle(mask, value, choose, {file, line});
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, EMULATOR_SITE) {
  auto choose = [=](int lane) {
    int last = lane | (width - 1);
    int source = lane ^ lane_mask;
    return source > last ? lane : source;
  };
  return emulator::shuffle(mask, value, choose, {file, line});
}

// ---- votes ----
namespace emulator {

inline unsigned ballot(unsigned mask, int predicate, Site site) {
  unsigned char yes = predicate != 0;
  WarpExchange* exchange = enter_warp(WarpCall::kVote, mask, &yes, 1, site);
  unsigned result = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    bool takes_part = (exchange->arrived >> lane & 1) != 0;
    if (takes_part && exchange->values[lane][0] != 0) result |= 1u << lane;
  }
  leave_warp(exchange);
  return result;
}

template <class T>
unsigned lanes_with(unsigned mask, T value, Site site) {
  WarpExchange* exchange = enter_warp(WarpCall::kMatch, mask, &value, sizeof(T), site);
  unsigned result = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((exchange->arrived >> lane & 1) == 0) continue;
    if (std::memcmp(exchange->values[lane], &value, sizeof(T)) == 0) result |= 1u << lane;
  }
  leave_warp(exchange);
  return result;
}

template <class T, class Operation>
T reduce_lanes(unsigned mask, T value, Operation operation, Site site) {
  WarpExchange* exchange = enter_warp(WarpCall::kReduce, mask, &value, sizeof(T), site);
  T result{};
  bool first = true;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((exchange->arrived >> lane & 1) == 0) continue;
    T other;
    std::memcpy(&other, exchange->values[lane], sizeof(T));
    result = first ? other : operation(result, other);
    first = false;
  }
  leave_warp(exchange);
  return result;
}

}  // namespace emulator

inline unsigned __ballot_sync(unsigned mask, int p, EMULATOR_SITE) {
  return emulator::ballot(mask, p, {file, line});
}
inline int __any_sync(unsigned mask, int p, EMULATOR_SITE) {
  return emulator::ballot(mask, p, {file, line}) != 0;
}
inline int __all_sync(unsigned mask, int p, EMULATOR_SITE) {
  return emulator::ballot(mask, p == 0, {file, line}) == 0;
}
template <class T>
unsigned __match_any_sync(unsigned mask, T value, EMULATOR_SITE) {
  return emulator::lanes_with(mask, value, {file, line});
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all, EMULATOR_SITE) {
  unsigned same = emulator::lanes_with(mask, value, {file, line});
  *all = same == mask;
  return *all ? mask : 0;
}
#define EMULATOR_REDUCE(NAME, T, EXPRESSION)                                             \
  inline T __reduce_##NAME##_sync(unsigned mask, T value, EMULATOR_SITE) {               \
    return emulator::reduce_lanes(                                                       \
        mask, value, [](T a, T b) -> T { return EXPRESSION; }, {file, line});            \
  }
EMULATOR_REDUCE(add, unsigned, a + b)
EMULATOR_REDUCE(add, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
EMULATOR_REDUCE(min, unsigned, a < b ? a : b)
EMULATOR_REDUCE(min, int, a < b ? a : b)
EMULATOR_REDUCE(max, unsigned, a > b ? a : b)
EMULATOR_REDUCE(max, int, a > b ? a : b)
EMULATOR_REDUCE(and, unsigned, a & b)
EMULATOR_REDUCE(or, unsigned, a | b)
EMULATOR_REDUCE(xor, unsigned, a ^ b)
#undef EMULATOR_REDUCE

// ---- bits and integers ----
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= (x >> bit & 1) << (31 - bit);
  return result;
}
inline unsigned long long __brevll(unsigned long long x) {
  auto low = static_cast<unsigned long long>(__brev(static_cast<unsigned>(x)));
  return low << 32 | __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    // PTX's `prmt` has a fourth bit, for the sign; this function does not pass it on.
    unsigned choice = selector >> (4 * i) & 7;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * choice) & 0xff);
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}
inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) {
  auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<long long>(low(a)) * low(b));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline unsigned __sad(int a, int b, unsigned c) {
  long long difference = static_cast<long long>(a) - b;
  return c + static_cast<unsigned>(difference < 0 ? -difference : difference);
}
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) {
    c += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  }
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 0xff) * (b >> (8 * i) & 0xff);
  return c;
}

// ---- memory ----
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldca(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldcv(const T* p) { return *p; }
template <class T> T __ldlu(const T* p) { return *p; }
template <class T> void __stcg(T* p, std::common_type_t<T> v) { *p = v; }
template <class T> void __stcs(T* p, std::common_type_t<T> v) { *p = v; }
template <class T> void __stwb(T* p, std::common_type_t<T> v) { *p = v; }
template <class T> void __stwt(T* p, std::common_type_t<T> v) { *p = v; }

// Time passes with every question, so that a loop that waits for it ends; others run meanwhile.
inline long long clock64() {
  static long long ticks = 0;
  emulator::let_others_run();
  return ticks += 1000;
}
