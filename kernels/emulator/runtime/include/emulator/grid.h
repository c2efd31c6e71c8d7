// The threads of a launch: who runs, who waits for whom, and in which order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "emulator/fiber.h"
#include "emulator/vector_types.h"

namespace emulator {

constexpr unsigned kWarpSize = 32;
constexpr unsigned kNamedBarriers = 16;
constexpr size_t kExchangeBytes = 32;

// A device error: what a GPU would hang, trap or fail on. Host code sees it as an exception.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// What a GPU has and the emulator has not, met while the code runs. It is noted too: an error that
// comes to Python by PyTorch's dispatcher is of another kind by then.
struct NotEmulated : DeviceError {
  explicit NotEmulated(const std::string& what);
};

// A place in the source: a barrier knows where its threads wait.
struct Site {
  const char* file;
  int line;
  bool operator==(const Site& other) const { return file == other.file && line == other.line; }
};

enum class WarpCall : uint8_t { kSync, kShuffle, kVote, kMatch, kReduce, kConverge };

// One execution of a warp-wide function by the lanes of `mask`. It lives until the last lane has read.
struct WarpExchange {
  uint32_t mask = 0;
  uint32_t arrived = 0;
  uint32_t readers = 0;
  bool complete = false;
  WarpCall call = WarpCall::kSync;
  Site site{};
  unsigned char values[kWarpSize][kExchangeBytes];
};

enum class ThreadState : uint8_t { kNew, kReady, kWaiting, kDone };

struct Block;

struct Thread {
  Block* block = nullptr;
  uint3 index{};
  unsigned linear = 0;
  ThreadState state = ThreadState::kNew;
  Context context;
  Stack* stack = nullptr;
  Site site{};  // where it waits
  unsigned lane() const { return linear % kWarpSize; }
  unsigned warp() const { return linear / kWarpSize; }
};

struct Warp {
  uint32_t alive = 0;
  std::vector<WarpExchange*> open;
};

struct Barrier {
  unsigned arrived = 0;
  unsigned expected = 0;  // 0: all threads that are alive
  unsigned generation = 0;
  Site site{};
  int count = 0;   // how many predicates were true, of the last complete generation
  int running = 0; // the same, while threads arrive
  std::vector<Thread*> waiting;
};

// Values that all threads of a block hand to each other (cub's block collectives).
struct BlockExchange {
  std::vector<std::vector<unsigned char>> values;
  unsigned readers = 0;
};

struct FreeShared {
  void operator()(unsigned char* memory) const { std::free(memory); }
};
using SharedMemory = std::unique_ptr<unsigned char, FreeShared>;

struct Block {
  uint3 index{};
  unsigned linear = 0;
  unsigned alive = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Barrier barriers[kNamedBarriers];
  // By slot of the declaration; each allocation of its own, so that ASan sees its ends.
  std::vector<SharedMemory> shared;
  SharedMemory dynamic_shared;
  std::shared_ptr<BlockExchange> exchange;
};

struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t dynamic_shared = 0;
  bool cooperative = false;
};

// The order in which threads and blocks run. 0 is ascending, 1 descending, others are seeds.
struct Schedule {
  uint64_t seed = 0;
  // Uninitialised memory has other bytes under every schedule.
  unsigned char poison() const { return static_cast<unsigned char>(0xCD ^ (seed * 0x35)); }
};

// What was seen since `clear_observations`.
struct Observations {
  uint64_t launches = 0;
  uint64_t threads = 0;
  std::vector<std::string> barriers;  // sentences: threads of a block waited at different barriers
};

Schedule& schedule();
// What was missing since this was cleared, or nothing.
std::string& missing();
Observations& observations();
const LaunchShape& shape();

// The thread that runs now. Device code outside of a launch gets an error that says so.
extern Thread* running_thread;
inline Thread& current() {
  if (running_thread == nullptr) throw DeviceError("device code was called outside of a kernel");
  return *running_thread;
}

void launch(const LaunchShape& shape, const char* name, const std::function<void()>& body);

int wait_for_block(unsigned barrier, unsigned expected, int predicate, Site site);
// Named barriers: arrive without waiting.
void arrive_at_block(unsigned barrier, unsigned expected, Site site);
void wait_for_grid(Site site);
// Let others run: a thread that spins on an atomic would never end otherwise.
void let_others_run();

WarpExchange* enter_warp(WarpCall call, uint32_t mask, const void* value, size_t size, Site site);
void leave_warp(WarpExchange* exchange);
// The lanes that are at this place together: all others of the warp wait elsewhere or have ended.
uint32_t converged_lanes(Site site);

std::shared_ptr<BlockExchange> exchange_in_block(const void* value, size_t size, Site site);

unsigned new_shared_slot();
void* shared_slot(unsigned slot, size_t size);
void* dynamic_shared_memory();
// Let kernels have so much dynamic memory; false where there is less. Which kernel asked is not
// known when one is launched, so that what one may, all may.
bool allow_dynamic_shared(size_t bytes);

[[noreturn]] void trap(const char* what);

}  // namespace emulator

// What a failed assertion calls, PyTorch's own ones in kernels too: it may throw.
#define __assert_fail emulator_assert_fail
extern "C" [[noreturn]] void emulator_assert_fail(const char* what, const char* file, unsigned line,
                                                  const char* function);

#define EMULATOR_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
