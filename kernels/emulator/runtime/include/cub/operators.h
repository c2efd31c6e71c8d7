#pragma once

#include "cuda_runtime.h"

#define CUB_NS_PREFIX
#define CUB_VERSION 200500
#define CUB_PTX_ARCH 900
#define CUB_MIN(a, b) ((b) < (a) ? (b) : (a))
#define CUB_MAX(a, b) ((a) < (b) ? (b) : (a))

namespace cub {

template <class Key_, class Value_>
struct KeyValuePair {
  typedef Key_ Key;
  typedef Value_ Value;
  Key key;
  Value value;
  KeyValuePair() = default;
  KeyValuePair(Key key, Value value) : key(key), value(value) {}
};

struct Sum {
  template <class A, class B> auto operator()(const A& a, const B& b) const { return a + b; }
};
struct Max {
  template <class A, class B> auto operator()(const A& a, const B& b) const -> std::common_type_t<A, B> { return a < b ? b : a; }
};
struct Min {
  template <class A, class B> auto operator()(const A& a, const B& b) const -> std::common_type_t<A, B> { return b < a ? b : a; }
};
struct Equality {
  template <class A, class B> bool operator()(const A& a, const B& b) const { return a == b; }
};
// Of equal values the one with the smaller key wins.
struct ArgMax {
  template <class T> T operator()(const T& a, const T& b) const {
    return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class T> T operator()(const T& a, const T& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

// A collective's memory: what a program passes around. The emulator keeps values elsewhere.
template <class T>
struct Uninitialized {
  alignas(T) unsigned char bytes[sizeof(T)];
  T& Alias() { return *reinterpret_cast<T*>(bytes); }
};
struct NullType {};

struct CachingDeviceAllocator;

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE };

}  // namespace cub
