// Collectives of the device, called by the host. With no memory given they say how much they need.
#pragma once

#include <algorithm>
#include <vector>

#include "cub/operators.h"

namespace cub {
namespace detail {

inline bool asks_for_size(const void* memory, size_t& bytes) {
  if (memory == nullptr) bytes = 16;
  return memory == nullptr;
}

// What is added up has the type that the operation gives: bytes are added up as integers.
template <class Operation, class Item, class Initial = Item>
using Accumulated = std::decay_t<std::invoke_result_t<Operation, std::decay_t<Initial>, std::decay_t<Item>>>;

}  // namespace detail

struct DeviceScan {
  template <class In, class Out, class Operation>
  static cudaError_t InclusiveScan(void* memory, size_t& bytes, In in, Out out, Operation operation, long count,
                                   cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes) || count <= 0) return cudaSuccess;
    detail::Accumulated<Operation, decltype(in[0])> sum = in[0];
    out[0] = sum;
    for (long i = 1; i < count; ++i) out[i] = sum = operation(sum, in[i]);
    return cudaSuccess;
  }
  template <class In, class Out, class Operation, class Initial>
  static cudaError_t ExclusiveScan(void* memory, size_t& bytes, In in, Out out, Operation operation, Initial initial,
                                   long count, cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    detail::Accumulated<Operation, decltype(in[0]), Initial> sum = initial;
    for (long i = 0; i < count; ++i) {
      auto item = in[i];
      out[i] = sum;
      sum = operation(sum, item);
    }
    return cudaSuccess;
  }
  template <class In, class Out>
  static cudaError_t InclusiveSum(void* memory, size_t& bytes, In in, Out out, long count, cudaStream_t = nullptr) {
    return InclusiveScan(memory, bytes, in, out, cub::Sum(), count);
  }
  template <class In, class Out>
  static cudaError_t ExclusiveSum(void* memory, size_t& bytes, In in, Out out, long count, cudaStream_t = nullptr) {
    return ExclusiveScan(memory, bytes, in, out, cub::Sum(), std::decay_t<decltype(in[0])>(0), count);
  }
};

struct DeviceReduce {
  template <class In, class Out, class Operation, class Initial>
  static cudaError_t Reduce(void* memory, size_t& bytes, In in, Out out, long count, Operation operation,
                            Initial initial, cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    detail::Accumulated<Operation, decltype(in[0]), Initial> result = initial;
    for (long i = 0; i < count; ++i) result = operation(result, in[i]);
    out[0] = result;
    return cudaSuccess;
  }
  template <class In, class Out>
  static cudaError_t Sum(void* memory, size_t& bytes, In in, Out out, long count, cudaStream_t = nullptr) {
    return Reduce(memory, bytes, in, out, count, cub::Sum(), std::decay_t<decltype(in[0])>(0));
  }
};

struct DeviceSelect {
  template <class In, class Flags, class Out, class Count>
  static cudaError_t Flagged(void* memory, size_t& bytes, In in, Flags flags, Out out, Count selected, long count,
                             cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    select(in, out, selected, count, [&](long i) { return static_cast<bool>(flags[i]); });
    return cudaSuccess;
  }
  template <class In, class Out, class Count, class Predicate>
  static cudaError_t If(void* memory, size_t& bytes, In in, Out out, Count selected, long count, Predicate predicate,
                        cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    select(in, out, selected, count, [&](long i) { return static_cast<bool>(predicate(in[i])); });
    return cudaSuccess;
  }
  // The first of each run of equal items.
  template <class In, class Out, class Count>
  static cudaError_t Unique(void* memory, size_t& bytes, In in, Out out, Count selected, long count,
                            cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    select(in, out, selected, count, [&](long i) { return i == 0 || !(in[i] == in[i - 1]); });
    return cudaSuccess;
  }

 private:
  template <class In, class Out, class Count, class Chosen>
  static void select(In in, Out out, Count selected, long count, Chosen chosen) {
    std::vector<std::decay_t<decltype(in[0])>> kept;
    for (long i = 0; i < count; ++i) {
      if (chosen(i)) kept.push_back(in[i]);
    }
    std::copy(kept.begin(), kept.end(), out);
    selected[0] = static_cast<std::decay_t<decltype(selected[0])>>(kept.size());
  }
};

struct DeviceRadixSort {
  template <class Key, class Value>
  static cudaError_t SortPairs(void* memory, size_t& bytes, const Key* keys, Key* sorted_keys, const Value* values,
                               Value* sorted_values, long count, int = 0, int = 0, cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    sort(keys, sorted_keys, values, sorted_values, 0, count, false);
    return cudaSuccess;
  }
  template <class Key, class Value>
  static cudaError_t SortPairsDescending(void* memory, size_t& bytes, const Key* keys, Key* sorted_keys,
                                         const Value* values, Value* sorted_values, long count, int = 0, int = 0,
                                         cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    sort(keys, sorted_keys, values, sorted_values, 0, count, true);
    return cudaSuccess;
  }
  template <class Key, class Value>
  static void sort(const Key* keys, Key* sorted_keys, const Value* values, Value* sorted_values, long first, long last,
                   bool descending) {
    std::vector<long> order;
    for (long i = first; i < last; ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](long a, long b) { return descending ? keys[b] < keys[a] : keys[a] < keys[b]; });
    std::vector<std::pair<Key, Value>> pairs;
    for (long i : order) pairs.emplace_back(keys[i], values[i]);
    for (size_t i = 0; i < pairs.size(); ++i) {
      sorted_keys[first + i] = pairs[i].first;
      sorted_values[first + i] = pairs[i].second;
    }
  }
};

struct DeviceSegmentedRadixSort {
  template <class Key, class Value, class Begin, class End>
  static cudaError_t SortPairsDescending(void* memory, size_t& bytes, const Key* keys, Key* sorted_keys,
                                         const Value* values, Value* sorted_values, long, int segments, Begin begin,
                                         End end, int = 0, int = 0, cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    for (int s = 0; s < segments; ++s) {
      DeviceRadixSort::sort(keys, sorted_keys, values, sorted_values, begin[s], end[s], true);
    }
    return cudaSuccess;
  }
  template <class Key, class Value, class Begin, class End>
  static cudaError_t SortPairs(void* memory, size_t& bytes, const Key* keys, Key* sorted_keys, const Value* values,
                               Value* sorted_values, long, int segments, Begin begin, End end, int = 0, int = 0,
                               cudaStream_t = nullptr) {
    if (detail::asks_for_size(memory, bytes)) return cudaSuccess;
    for (int s = 0; s < segments; ++s) {
      DeviceRadixSort::sort(keys, sorted_keys, values, sorted_values, begin[s], end[s], false);
    }
    return cudaSuccess;
  }
};

template <class Value>
struct CountingInputIterator {
  Value first;
  explicit CountingInputIterator(Value first) : first(first) {}
  Value operator[](long i) const { return static_cast<Value>(first + i); }
  CountingInputIterator operator+(long i) const { return CountingInputIterator(first + i); }
};
template <class Value, class Convert, class Input>
struct TransformInputIterator {
  Input input;
  Convert convert;
  TransformInputIterator(Input input, Convert convert) : input(input), convert(convert) {}
  Value operator[](long i) const { return convert(input[i]); }
  TransformInputIterator operator+(long i) const { return {input + i, convert}; }
};

}  // namespace cub
