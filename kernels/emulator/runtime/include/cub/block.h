#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "cub/operators.h"

namespace cub {
namespace detail {

// All values of the block, by thread. (A deque: a vector of bool has no addresses.)
template <class T>
std::deque<T> values_of_block(const T& value, emulator::Site site) {
  static_assert(std::is_trivially_copyable<T>::value || std::is_class<T>::value, "values are copied as bytes");
  auto exchange = emulator::exchange_in_block(&value, sizeof(T), site);
  std::deque<T> values(exchange->values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (exchange->values[i].empty()) continue;
    std::memcpy(static_cast<void*>(&values[i]), exchange->values[i].data(), sizeof(T));
  }
  return values;
}

}  // namespace detail

template <class T, int X, int Algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
 public:
  struct TempStorage {
    T memory[(X * Y * Z + 31) / 32];
  };
  explicit BlockReduce(TempStorage&, EMULATOR_SITE) : site_{file, line} {}
  explicit BlockReduce(EMULATOR_SITE) : site_{file, line} {}

  // Warps first, each from the lane above, then the warps' results one after the other: cub's order.
  // Only thread 0 has the result; another one has the partial result of its lane.
  template <class Operation>
  T Reduce(T value, Operation operation, int valid = X * Y * Z) {
    std::deque<T> values = detail::values_of_block(value, site_);
    int count = std::min(valid, static_cast<int>(values.size()));
    for (int first = 0; first < count; first += 32) {
      int end = std::min(first + 32, count);
      for (int step = 1; step < 32; step *= 2) {
        for (int i = first; i + step < end; ++i) values[i] = operation(values[i], values[i + step]);
      }
    }
    unsigned self = emulator::current().linear;
    if (self != 0) return values[self];
    T result = values[0];
    for (int first = 32; first < count; first += 32) result = operation(result, values[first]);
    return result;
  }
  template <int Items, class Operation>
  T Reduce(T (&items)[Items], Operation operation) {
    T own = items[0];
    for (int i = 1; i < Items; ++i) own = operation(own, items[i]);
    return Reduce(own, operation);
  }
  T Sum(T value, int valid = X * Y * Z) { return Reduce(value, cub::Sum(), valid); }
  template <int Items>
  T Sum(T (&items)[Items]) {
    return Reduce(items, cub::Sum());
  }

 private:
  emulator::Site site_;
};

template <class T, int X, BlockScanAlgorithm Algorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
 public:
  struct TempStorage {
    T memory[(X * Y * Z + 31) / 32 + 1];
  };
  explicit BlockScan(TempStorage&, EMULATOR_SITE) : site_{file, line} {}
  explicit BlockScan(EMULATOR_SITE) : site_{file, line} {}

  template <class Operation>
  void InclusiveScan(T value, T& result, Operation operation) {
    T total;
    InclusiveScan(value, result, operation, total);
  }
  template <class Operation>
  void InclusiveScan(T value, T& result, Operation operation, T& total) {
    std::deque<T> sums = scanned(value, operation);
    result = sums[emulator::current().linear];
    total = sums.back();
  }
  template <class Operation>
  void ExclusiveScan(T value, T& result, T initial, Operation operation, T& total) {
    std::deque<T> sums = scanned(value, operation);
    unsigned self = emulator::current().linear;
    result = self == 0 ? initial : static_cast<T>(operation(initial, sums[self - 1]));
    total = sums.back();
  }
  template <class Operation>
  void ExclusiveScan(T value, T& result, T initial, Operation operation) {
    T total;
    ExclusiveScan(value, result, initial, operation, total);
  }
  void InclusiveSum(T value, T& result) { InclusiveScan(value, result, cub::Sum()); }
  void InclusiveSum(T value, T& result, T& total) { InclusiveScan(value, result, cub::Sum(), total); }
  void ExclusiveSum(T value, T& result) { ExclusiveScan(value, result, T(0), cub::Sum()); }
  void ExclusiveSum(T value, T& result, T& total) { ExclusiveScan(value, result, T(0), cub::Sum(), total); }

  // The prefix comes from a function that the first warp calls with the block's total.
  template <class Prefix, class = decltype(std::declval<Prefix&>()(std::declval<T>()))>
  void InclusiveSum(T value, T& result, Prefix& prefix) {
    T total;
    InclusiveSum(value, result, total);
    result = prefix_of(prefix, total) + result;
  }
  template <class Prefix, class = decltype(std::declval<Prefix&>()(std::declval<T>()))>
  void ExclusiveSum(T value, T& result, Prefix& prefix) {
    T total;
    ExclusiveSum(value, result, total);
    result = prefix_of(prefix, total) + result;
  }

  template <int Items>
  void InclusiveSum(T (&items)[Items], T (&results)[Items]) {
    T total;
    scan_items(items, results, true, total);
  }
  template <int Items>
  void InclusiveSum(T (&items)[Items], T (&results)[Items], T& total) {
    scan_items(items, results, true, total);
  }
  template <int Items>
  void ExclusiveSum(T (&items)[Items], T (&results)[Items]) {
    T total;
    scan_items(items, results, false, total);
  }
  template <int Items>
  void ExclusiveSum(T (&items)[Items], T (&results)[Items], T& total) {
    scan_items(items, results, false, total);
  }

 private:
  template <class Operation>
  std::deque<T> scanned(const T& value, Operation operation) {
    std::deque<T> sums = detail::values_of_block(value, site_);
    for (size_t i = 1; i < sums.size(); ++i) sums[i] = operation(sums[i - 1], sums[i]);
    return sums;
  }
  template <class Prefix>
  T prefix_of(Prefix& prefix, T total) {
    T own{};
    if (emulator::current().linear < 32) own = prefix(total);
    return detail::values_of_block(own, site_)[0];
  }
  template <int Items>
  void scan_items(T (&items)[Items], T (&results)[Items], bool inclusive, T& total) {
    T own = items[0];
    for (int i = 1; i < Items; ++i) own = own + items[i];
    T sum;
    ExclusiveSum(own, sum, total);
    for (int i = 0; i < Items; ++i) {
      T item = items[i];
      results[i] = inclusive ? static_cast<T>(sum + item) : sum;
      sum = sum + item;
    }
  }
  emulator::Site site_;
};

template <class T, int X, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
 public:
  struct TempStorage {};
  explicit BlockLoad(TempStorage&) {}
  BlockLoad() {}
  template <class Iterator>
  void Load(Iterator from, T (&items)[Items]) {
    for (int i = 0; i < Items; ++i) items[i] = from[place(i)];
  }
  template <class Iterator>
  void Load(Iterator from, T (&items)[Items], int valid) {
    for (int i = 0; i < Items; ++i) {
      if (place(i) < valid) items[i] = from[place(i)];
    }
  }
  template <class Iterator, class Default>
  void Load(Iterator from, T (&items)[Items], int valid, Default other) {
    for (int i = 0; i < Items; ++i) items[i] = place(i) < valid ? static_cast<T>(from[place(i)]) : static_cast<T>(other);
  }

 private:
  static int place(int item) {
    int self = static_cast<int>(emulator::current().linear);
    return Algorithm == BLOCK_LOAD_STRIPED ? item * X * Y * Z + self : self * Items + item;
  }
};

template <class T, int X, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
 public:
  struct TempStorage {};
  explicit BlockStore(TempStorage&) {}
  BlockStore() {}
  template <class Iterator>
  void Store(Iterator to, T (&items)[Items], int valid = X * Y * Z * Items) {
    int self = static_cast<int>(emulator::current().linear);
    for (int i = 0; i < Items; ++i) {
      int place = Algorithm == BLOCK_STORE_STRIPED ? i * X * Y * Z + self : self * Items + i;
      if (place < valid) to[place] = items[i];
    }
  }
};

// Stable, as a radix sort is.
template <class Key, int X, int Items, class Value = NullType, int = 4, bool = true, int = 0>
class BlockRadixSort {
 public:
  struct TempStorage {};
  explicit BlockRadixSort(TempStorage&, EMULATOR_SITE) : site_{file, line} {}
  explicit BlockRadixSort(EMULATOR_SITE) : site_{file, line} {}
  void Sort(Key (&keys)[Items]) { sort(keys, nullptr, false, false); }
  void SortDescending(Key (&keys)[Items]) { sort(keys, nullptr, true, false); }
  void Sort(Key (&keys)[Items], Value (&values)[Items]) { sort(keys, values, false, false); }
  void SortDescending(Key (&keys)[Items], Value (&values)[Items]) { sort(keys, values, true, false); }
  void SortBlockedToStriped(Key (&keys)[Items], Value (&values)[Items]) { sort(keys, values, false, true); }
  void SortDescendingBlockedToStriped(Key (&keys)[Items], Value (&values)[Items]) {
    sort(keys, values, true, true);
  }

 private:
  struct Pair {
    Key key[Items];
    Value value[Items];
  };
  void sort(Key* keys, Value* values, bool descending, bool striped) {
    Pair own;
    for (int i = 0; i < Items; ++i) {
      own.key[i] = keys[i];
      if (values != nullptr) own.value[i] = values[i];
    }
    auto all = detail::values_of_block(own, site_);
    std::vector<std::pair<Key, Value>> pairs;
    for (const Pair& pair : all) {
      for (int i = 0; i < Items; ++i) pairs.emplace_back(pair.key[i], pair.value[i]);
    }
    std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) {
      return descending ? b.first < a.first : a.first < b.first;
    });
    size_t self = emulator::current().linear;
    for (int i = 0; i < Items; ++i) {
      size_t place = striped ? i * all.size() + self : self * Items + i;
      keys[i] = pairs[place].first;
      if (values != nullptr) values[i] = pairs[place].second;
    }
  }
  emulator::Site site_;
};

// Each item beside the one before it. The first one of all has none: it stays, or is a head.
template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockAdjacentDifference {
 public:
  struct TempStorage {
    T memory[X * Y * Z];
  };
  explicit BlockAdjacentDifference(TempStorage&, EMULATOR_SITE) : site_{file, line} {}
  explicit BlockAdjacentDifference(EMULATOR_SITE) : site_{file, line} {}

  template <int Items, class Output, class Operation>
  void SubtractLeft(T (&items)[Items], Output (&results)[Items], Operation operation) {
    auto before = items_before(items);
    for (int i = 0; i < Items; ++i) {
      results[i] = is_first(i) ? Output(items[i]) : Output(operation(items[i], before[i]));
    }
  }
  template <int Items, class Output, class Operation>
  void SubtractLeft(T (&items)[Items], Output (&results)[Items], Operation operation, T first) {
    auto before = items_before(items);
    for (int i = 0; i < Items; ++i) results[i] = operation(items[i], is_first(i) ? first : before[i]);
  }
  template <int Items, class Flag, class Operation>
  void FlagHeads(Flag (&flags)[Items], T (&items)[Items], Operation operation) {
    auto before = items_before(items);
    for (int i = 0; i < Items; ++i) flags[i] = is_first(i) ? Flag(1) : Flag(operation(before[i], items[i]));
  }
  template <int Items, class Flag, class Operation>
  void FlagHeads(Flag (&flags)[Items], T (&items)[Items], Operation operation, T first) {
    auto before = items_before(items);
    for (int i = 0; i < Items; ++i) flags[i] = operation(is_first(i) ? first : before[i], items[i]);
  }

 private:
  static bool is_first(int item) { return item == 0 && emulator::current().linear == 0; }
  template <int Items>
  std::deque<T> items_before(T (&items)[Items]) {
    std::deque<T> lasts = detail::values_of_block(items[Items - 1], site_);
    size_t self = emulator::current().linear;
    std::deque<T> before(Items);
    before[0] = self == 0 ? items[0] : lasts[self - 1];
    for (int i = 1; i < Items; ++i) before[i] = items[i - 1];
    return before;
  }
  emulator::Site site_;
};

}  // namespace cub
