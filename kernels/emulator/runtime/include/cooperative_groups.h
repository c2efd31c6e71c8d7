// cooperative_groups: the grid, the block, tiles of a warp, and the lanes that run together.
#pragma once

#include "cuda_runtime.h"

namespace cooperative_groups {

class grid_group {
 public:
  void sync(EMULATOR_SITE) const { emulator::wait_for_grid({file, line}); }
  bool is_valid() const { return emulator::shape().cooperative; }
  unsigned long long num_blocks() const { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  unsigned long long block_rank() const { return emulator::current().block->linear; }
  unsigned long long num_threads() const {
    return num_blocks() * blockDim.x * blockDim.y * blockDim.z;
  }
  unsigned long long size() const { return num_threads(); }
  unsigned long long thread_rank() const {
    return block_rank() * (blockDim.x * blockDim.y * blockDim.z) + emulator::current().linear;
  }
  dim3 group_dim() const { return gridDim; }
};

class thread_block {
 public:
  void sync(EMULATOR_SITE) const { emulator::wait_for_block(0, 0, 0, {file, line}); }
  unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return emulator::current().linear; }
  dim3 group_index() const { return blockIdx; }
  dim3 thread_index() const { return threadIdx; }
  dim3 group_dim() const { return blockDim; }
};

inline grid_group this_grid() { return {}; }
inline thread_block this_thread_block() { return {}; }

// What tiles and coalesced groups share: lanes of one warp, by mask.
class LaneGroup {
 public:
  explicit LaneGroup(unsigned mask) : mask_(mask) {}
  void sync(EMULATOR_SITE) const { __syncwarp(mask_, file, line); }
  int any(int p, EMULATOR_SITE) const { return __any_sync(mask_, p, file, line); }
  int all(int p, EMULATOR_SITE) const { return __all_sync(mask_, p, file, line); }
  // Bits by rank in the group.
  unsigned ballot(int p, EMULATOR_SITE) const { return pack(__ballot_sync(mask_, p, file, line)); }
  template <class T>
  unsigned match_any(T value, EMULATOR_SITE) const {
    return pack(__match_any_sync(mask_, value, file, line));
  }
  unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(__popc(mask_ & ((1u << emulator::current().lane()) - 1)));
  }
  template <class T>
  T shfl(T value, int rank, EMULATOR_SITE) const {
    return __shfl_sync(mask_, value, lane_of(static_cast<unsigned>(rank) % size()), 32, file, line);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, EMULATOR_SITE) const {
    unsigned rank = thread_rank() + delta;
    int lane = rank < size() ? lane_of(rank) : static_cast<int>(emulator::current().lane());
    return __shfl_sync(mask_, value, lane, 32, file, line);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, EMULATOR_SITE) const {
    unsigned rank = thread_rank();
    int lane = rank >= delta ? lane_of(rank - delta) : static_cast<int>(emulator::current().lane());
    return __shfl_sync(mask_, value, lane, 32, file, line);
  }
  template <class T>
  T shfl_xor(T value, unsigned other, EMULATOR_SITE) const {
    unsigned rank = thread_rank() ^ other;
    int lane = rank < size() ? lane_of(rank) : static_cast<int>(emulator::current().lane());
    return __shfl_sync(mask_, value, lane, 32, file, line);
  }
  unsigned lanes() const { return mask_; }

 private:
  int lane_of(unsigned rank) const {
    unsigned rest = mask_;
    for (unsigned i = 0; i < rank; ++i) rest &= rest - 1;
    return __ffs(static_cast<int>(rest)) - 1;
  }
  unsigned pack(unsigned bits) const {
    unsigned result = 0;
    unsigned rank = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((mask_ >> lane & 1) == 0) continue;
      result |= (bits >> lane & 1) << rank++;
    }
    return result;
  }
  unsigned mask_;
};

template <unsigned Size, class Parent = void>
class thread_block_tile;
template <unsigned Size>
class thread_block_tile<Size, void> : public LaneGroup {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "tiles of more than a warp are not emulated");

 public:
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned meta_group_rank() const { return emulator::current().linear % parent_ / Size; }
  unsigned meta_group_size() const { return (parent_ + Size - 1) / Size; }

 protected:
  // `parent` threads are in the group that this one is a part of.
  explicit thread_block_tile(unsigned parent) : LaneGroup(mask_of_tile()), parent_(parent) {}

 private:
  static unsigned mask_of_tile() {
    unsigned first = emulator::current().lane() / Size * Size;
    unsigned ones = Size == 32 ? 0xffffffffu : (1u << (Size % 32)) - 1;
    return ones << first;
  }
  unsigned parent_;
};

template <unsigned Size, class Parent>
class thread_block_tile : public thread_block_tile<Size> {
 public:
  explicit thread_block_tile(const Parent& parent) : thread_block_tile<Size>(parent.num_threads()) {}
};

class coalesced_group : public LaneGroup {
 public:
  using LaneGroup::LaneGroup;
};

template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<Size, Parent>(parent);
}
// A group over several blocks: that would be one of several multiprocessors.
struct cluster_group {
  void sync() const;
  unsigned block_rank() const;
  unsigned num_blocks() const;
  template <class T> T* map_shared_rank(T* address, int rank) const;
};
EMULATOR_REFUSED("thread block clusters") cluster_group this_cluster();
inline coalesced_group coalesced_threads(EMULATOR_SITE) {
  return coalesced_group(emulator::converged_lanes({file, line}));
}
template <class Group>
void sync(const Group& group, EMULATOR_SITE) {
  group.sync(file, line);
}

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct greater { T operator()(T a, T b) const { return a > b ? a : b; } };
template <class T> struct less { T operator()(T a, T b) const { return a < b ? a : b; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

// By exchanges with a lane whose rank differs in one bit, the widest distance first.
template <class T, class Operation>
T reduce(const LaneGroup& group, T value, Operation operation, EMULATOR_SITE) {
  return emulator::reduce_lanes(group.lanes(), value, operation, {file, line});
}
// Each step adds what stands twice as far back; every lane of the group takes part in it.
template <class T, class Operation>
T inclusive_scan(const LaneGroup& group, T value, Operation operation, EMULATOR_SITE) {
  for (unsigned distance = 1; distance < group.num_threads(); distance *= 2) {
    T before = group.shfl_up(value, distance, file, line);
    if (group.thread_rank() >= distance) value = operation(before, value);
  }
  return value;
}
template <class T>
T inclusive_scan(const LaneGroup& group, T value, EMULATOR_SITE) {
  return inclusive_scan(group, value, plus<T>(), file, line);
}
template <class T>
T exclusive_scan(const LaneGroup& group, T value, plus<T> add, EMULATOR_SITE) {
  T before = group.shfl_up(inclusive_scan(group, value, add, file, line), 1, file, line);
  return group.thread_rank() == 0 ? T(0) : before;
}
template <class T>
T exclusive_scan(const LaneGroup& group, T value, EMULATOR_SITE) {
  return exclusive_scan(group, value, plus<T>(), file, line);
}
template <class T, class Operation>
EMULATOR_REFUSED("cooperative_groups: an exclusive scan that does not add")
T exclusive_scan(const LaneGroup& group, T value, Operation operation);
template <class T, class... Operations>
EMULATOR_REFUSED("cooperative_groups: a scan over a whole block")
T inclusive_scan(const thread_block& group, T value, Operations... operations);
template <class T, class... Operations>
EMULATOR_REFUSED("cooperative_groups: a scan over a whole block")
T exclusive_scan(const thread_block& group, T value, Operations... operations);

// The group's first thread stores the result, or adds it to what is there.
template <class T, class Operation>
void reduce_store_async(const LaneGroup& group, T* destination, T value, Operation operation,
                        EMULATOR_SITE) {
  T result = reduce(group, value, operation, file, line);
  if (group.thread_rank() == 0) *destination = result;
}
template <class Atomic, class T, class Operation>
void reduce_store_async(const LaneGroup& group, Atomic& destination, T value, Operation operation,
                        EMULATOR_SITE) {
  T result = reduce(group, value, operation, file, line);
  if (group.thread_rank() == 0) destination.store(result);
}
template <class Atomic, class T, class Operation>
void reduce_update_async(const LaneGroup& group, Atomic& destination, T value, Operation operation,
                         EMULATOR_SITE) {
  T result = reduce(group, value, operation, file, line);
  if (group.thread_rank() == 0) destination.store(operation(destination.load(), result));
}

}  // namespace cooperative_groups
