// Runs the threads of a launch, one after the other, until each has ended or waits.
#include "emulator/grid.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace emulator {

Thread* running_thread = nullptr;

namespace {

Schedule the_schedule;
Observations the_observations;
LaunchShape the_shape;
const std::function<void()>* the_body = nullptr;
const char* the_kernel = "";
std::string the_error;
std::string the_missing;
Context scheduler_context;
std::vector<std::unique_ptr<Stack>> all_stacks;
std::vector<Stack*> free_stacks;
std::vector<WarpExchange*> free_exchanges;
std::mt19937_64 order_source;
unsigned shared_slots = 0;
uint64_t grid_arrived = 0;
uint64_t grid_alive = 0;
std::vector<Thread*> grid_waiting;

// CUDA allows no more; a deeper grid is a launch error there too.
constexpr unsigned kMostThreads = 1024;
constexpr unsigned kMostBlocks = 2147483647;
constexpr unsigned kMostRows = 65535;
constexpr unsigned kDeepestBlock = 64;
constexpr size_t kMostSharedBytes = 227 * 1024;

std::string where(const Block& block) {
  return "block (" + std::to_string(block.index.x) + "," + std::to_string(block.index.y) + "," +
         std::to_string(block.index.z) + ")";
}

std::string text(const Site& site) {
  return std::string(site.file == nullptr ? "?" : site.file) + ":" + std::to_string(site.line);
}

std::string kernel() { return std::string("kernel ") + the_kernel; }

Stack* take_stack() {
  if (free_stacks.empty()) {
    all_stacks.push_back(std::make_unique<Stack>());
    return all_stacks.back().get();
  }
  Stack* stack = free_stacks.back();
  free_stacks.pop_back();
  return stack;
}

void release(std::vector<Thread*>& waiting) {
  for (Thread* thread : waiting) thread->state = ThreadState::kReady;
  waiting.clear();
}

void complete(Block& block, Barrier& barrier) {
  (void)block;
  barrier.count = barrier.running;
  barrier.running = 0;
  barrier.arrived = 0;
  ++barrier.generation;
  release(barrier.waiting);
}

void check_barrier(Block& block, Barrier& barrier) {
  unsigned expected = barrier.expected == 0 ? block.alive : barrier.expected;
  if (barrier.arrived > 0 && barrier.arrived >= expected) complete(block, barrier);
}

void wake_lanes(Block& block, unsigned warp, uint32_t lanes) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    Thread& thread = block.threads[warp * kWarpSize + lane];
    if (thread.state == ThreadState::kWaiting) thread.state = ThreadState::kReady;
  }
}

void check_exchange(Block& block, unsigned warp, WarpExchange* exchange) {
  if (exchange->call == WarpCall::kConverge) return;
  uint32_t wanted = exchange->mask & block.warps[warp].alive;
  if ((exchange->arrived & wanted) != wanted) return;
  exchange->complete = true;
  auto& open = block.warps[warp].open;
  open.erase(std::find(open.begin(), open.end(), exchange));
  wake_lanes(block, warp, exchange->arrived);
}

void check_grid() {
  if (grid_arrived > 0 && grid_arrived >= grid_alive) {
    grid_arrived = 0;
    release(grid_waiting);
  }
}

// What changes for those who wait when a thread has ended.
void finish_thread(Thread& thread) {
  Block& block = *thread.block;
  thread.state = ThreadState::kDone;
  --block.alive;
  --grid_alive;
  unsigned warp = thread.warp();
  block.warps[warp].alive &= ~(1u << thread.lane());
  for (Barrier& barrier : block.barriers) check_barrier(block, barrier);
  auto open = block.warps[warp].open;
  for (WarpExchange* exchange : open) check_exchange(block, warp, exchange);
  check_grid();
}

void run_thread_body() {
  arrive_on_stack();
  Thread& thread = *running_thread;
  try {
    (*the_body)();
  } catch (const std::exception& error) {
    if (the_error.empty()) the_error = error.what();
  }
  finish_thread(thread);
  switch_context(thread.context, scheduler_context, true);
}

void stop_here() {
  Thread& thread = *running_thread;
  switch_context(thread.context, scheduler_context);
}

void resume(Thread& thread) {
  if (thread.state == ThreadState::kNew) {
    thread.stack = take_stack();
    thread.context = thread.stack->prepare(run_thread_body);
  }
  thread.state = ThreadState::kReady;
  running_thread = &thread;
  threadIdx = thread.index;
  blockIdx = thread.block->index;
  switch_context(scheduler_context, thread.context);
  running_thread = nullptr;
  if (thread.state == ThreadState::kDone) {
    free_stacks.push_back(thread.stack);
    thread.stack = nullptr;
  }
}

std::vector<unsigned> order(unsigned count) {
  std::vector<unsigned> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  if (the_schedule.seed == 1) std::reverse(numbers.begin(), numbers.end());
  if (the_schedule.seed > 1) std::shuffle(numbers.begin(), numbers.end(), order_source);
  return numbers;
}

bool can_run(const Thread& thread) {
  return thread.state == ThreadState::kNew || thread.state == ThreadState::kReady;
}

// Run every thread of the block that can, once. Whether one could.
bool step(Block& block, const std::vector<unsigned>& threads) {
  bool progress = false;
  for (unsigned index : threads) {
    Thread& thread = block.threads[index];
    if (!can_run(thread)) continue;
    resume(thread);
    progress = true;
    if (!the_error.empty()) return true;
  }
  return progress;
}

// All lanes wait: those who asked who is here with them get their answer. Whether there were such.
bool converge(Block& block) {
  for (unsigned warp = 0; warp < block.warps.size(); ++warp) {
    auto& open = block.warps[warp].open;
    for (WarpExchange* exchange : open) {
      if (exchange->call != WarpCall::kConverge) continue;
      exchange->complete = true;
      wake_lanes(block, warp, exchange->arrived);
      open.erase(std::find(open.begin(), open.end(), exchange));
      return true;
    }
  }
  return false;
}

std::string stall(const Block& block) {
  std::vector<std::string> sites;
  unsigned waiting = 0;
  for (const Thread& thread : block.threads) {
    if (thread.state != ThreadState::kWaiting) continue;
    ++waiting;
    std::string site = text(thread.site);
    if (std::find(sites.begin(), sites.end(), site) == sites.end()) sites.push_back(site);
  }
  std::string sentence = "barrier: " + std::to_string(waiting) + " threads of " + where(block) +
                         " of " + kernel() + " wait for ever, at ";
  for (size_t i = 0; i < sites.size() && i < 4; ++i) sentence += (i ? ", " : "") + sites[i];
  return sentence;
}

void prepare(Block& block, unsigned linear) {
  const dim3& grid = the_shape.grid;
  const dim3& size = the_shape.block;
  unsigned count = size.x * size.y * size.z;
  block.index = {linear % grid.x, linear / grid.x % grid.y, linear / (grid.x * grid.y)};
  block.linear = linear;
  block.alive = count;
  block.threads.assign(count, Thread());
  block.warps.assign((count + kWarpSize - 1) / kWarpSize, Warp());
  for (Barrier& barrier : block.barriers) barrier = Barrier();
  block.exchange.reset();
  for (unsigned i = 0; i < count; ++i) {
    Thread& thread = block.threads[i];
    thread.block = &block;
    thread.linear = i;
    thread.index = {i % size.x, i / size.x % size.y, i / (size.x * size.y)};
    block.warps[i / kWarpSize].alive |= 1u << (i % kWarpSize);
  }
  // A new block finds nothing that an earlier one left.
  block.shared.clear();
  block.dynamic_shared.reset();
}

void drop_stacks(Block& block) {
  for (Thread& thread : block.threads) {
    if (thread.stack != nullptr) free_stacks.push_back(thread.stack);
    thread.stack = nullptr;
  }
}

void run_block(Block& block) {
  auto threads = order(static_cast<unsigned>(block.threads.size()));
  while (block.alive > 0 && the_error.empty()) {
    if (step(block, threads)) {
      if (the_schedule.seed > 1) threads = order(static_cast<unsigned>(threads.size()));
      continue;
    }
    if (!converge(block)) the_error = stall(block);
  }
  drop_stacks(block);
}

void run_one_by_one(unsigned blocks) {
  Block block;
  for (unsigned linear : order(blocks)) {
    prepare(block, linear);
    run_block(block);
    if (!the_error.empty()) return;
  }
}

void run_together(unsigned blocks) {
  std::vector<Block> all(blocks);
  for (unsigned i = 0; i < blocks; ++i) prepare(all[i], i);
  while (grid_alive > 0 && the_error.empty()) {
    bool progress = false;
    for (unsigned index : order(blocks)) {
      Block& block = all[index];
      auto threads = order(static_cast<unsigned>(block.threads.size()));
      progress |= step(block, threads);
      if (!the_error.empty()) break;
    }
    if (progress) continue;
    for (Block& block : all) progress |= converge(block);
    if (progress) continue;
    auto stuck = std::find_if(all.begin(), all.end(), [](Block& b) { return b.alive > 0; });
    the_error = stall(*stuck);
  }
  for (Block& block : all) drop_stacks(block);
}

void note_divergence(const Block& block, const Site& first, const Site& second) {
  std::string sentence = "threads of " + where(block) + " of " + kernel() +
                         " meet at different barriers: " + text(first) + " and " + text(second);
  auto& noted = the_observations.barriers;
  if (noted.size() < 20 && std::find(noted.begin(), noted.end(), sentence) == noted.end()) {
    noted.push_back(sentence);
  }
}

void wait_here(Site site) {
  Thread& thread = *running_thread;
  thread.state = ThreadState::kWaiting;
  thread.site = site;
  stop_here();
}

// What a kernel may ask for without a word, and what any kernel has been allowed since.
size_t allowed_shared_bytes = 48 << 10;

void check_shape(const LaunchShape& wanted) {
  auto total = [](dim3 d) { return static_cast<uint64_t>(d.x) * d.y * d.z; };
  auto shape = [](dim3 d) {
    return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
  };
  bool too_high = wanted.grid.y > kMostRows || wanted.grid.z > kMostRows || wanted.block.z > kDeepestBlock;
  if (too_high || wanted.grid.x > kMostBlocks || total(wanted.grid) == 0 || total(wanted.block) == 0 || total(wanted.block) > kMostThreads ||
      wanted.dynamic_shared > kMostSharedBytes) {
    throw DeviceError("launch: " + kernel() + " with grid " + shape(wanted.grid) + ", block " +
                      shape(wanted.block) + ", shared memory " +
                      std::to_string(wanted.dynamic_shared) + " is an invalid configuration");
  }
  if (wanted.dynamic_shared > allowed_shared_bytes) {
    throw DeviceError("launch: " + kernel() + " with shared memory " + std::to_string(wanted.dynamic_shared) +
                      " needs cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize");
  }
}

}  // namespace

bool allow_dynamic_shared(size_t bytes) {
  if (bytes > kMostSharedBytes) return false;
  allowed_shared_bytes = std::max(allowed_shared_bytes, bytes);
  return true;
}
NotEmulated::NotEmulated(const std::string& what) : DeviceError("not emulated: " + what) { the_missing = what; }
std::string& missing() { return the_missing; }
Schedule& schedule() { return the_schedule; }
Observations& observations() { return the_observations; }
const LaunchShape& shape() { return the_shape; }

void launch(const LaunchShape& wanted, const char* name, const std::function<void()>& body) {
  if (running_thread != nullptr) throw NotEmulated("a kernel that launches a kernel");
  the_kernel = name;
  check_shape(wanted);
  the_shape = wanted;
  blockDim = wanted.block;
  gridDim = wanted.grid;
  the_body = &body;
  the_error.clear();
  grid_arrived = 0;
  grid_waiting.clear();
  order_source.seed(the_schedule.seed);
  unsigned blocks = wanted.grid.x * wanted.grid.y * wanted.grid.z;
  grid_alive = static_cast<uint64_t>(blocks) * wanted.block.x * wanted.block.y * wanted.block.z;
  ++the_observations.launches;
  the_observations.threads += grid_alive;
  if (wanted.cooperative) {
    run_together(blocks);
  } else {
    run_one_by_one(blocks);
  }
  if (!the_error.empty()) throw DeviceError(the_error);
}

int wait_for_block(unsigned id, unsigned expected, int predicate, Site site) {
  Thread& thread = current();
  Block& block = *thread.block;
  if (id >= kNamedBarriers) throw DeviceError("barrier: there are 16 of them");
  Barrier& barrier = block.barriers[id];
  if (barrier.arrived == 0) {
    barrier.site = site;
    barrier.expected = expected;
  } else if (expected == 0 && !(barrier.site == site)) {
    note_divergence(block, barrier.site, site);
  }
  ++barrier.arrived;
  barrier.running += predicate != 0;
  unsigned generation = barrier.generation;
  check_barrier(block, barrier);
  if (barrier.generation == generation) {
    barrier.waiting.push_back(&thread);
    wait_here(site);
  }
  return barrier.count;
}

void arrive_at_block(unsigned id, unsigned expected, Site site) {
  Block& block = *current().block;
  Barrier& barrier = block.barriers[id % kNamedBarriers];
  if (barrier.arrived == 0) {
    barrier.site = site;
    barrier.expected = expected;
  }
  ++barrier.arrived;
  check_barrier(block, barrier);
}

void wait_for_grid(Site site) {
  Thread& thread = current();
  if (!the_shape.cooperative) {
    throw DeviceError("grid.sync() in " + kernel() + ", which was not launched cooperatively");
  }
  ++grid_arrived;
  grid_waiting.push_back(&thread);
  thread.state = ThreadState::kWaiting;
  thread.site = site;
  check_grid();
  if (thread.state == ThreadState::kWaiting) stop_here();
}

void let_others_run() {
  if (running_thread == nullptr) return;
  stop_here();
}

WarpExchange* enter_warp(WarpCall call, uint32_t mask, const void* value, size_t size, Site site) {
  Thread& thread = current();
  Block& block = *thread.block;
  Warp& warp = block.warps[thread.warp()];
  if (call != WarpCall::kConverge && (mask >> thread.lane() & 1) == 0) {
    throw DeviceError("warp: a thread at " + text(site) + " is not in the mask it gives");
  }
  WarpExchange* exchange = nullptr;
  for (WarpExchange* open : warp.open) {
    bool same_place = call != WarpCall::kConverge || open->site == site;
    if (open->call == call && open->mask == mask && same_place) exchange = open;
  }
  if (exchange == nullptr) {
    if (free_exchanges.empty()) {
      exchange = new WarpExchange;
    } else {
      exchange = free_exchanges.back();
      free_exchanges.pop_back();
    }
    exchange->mask = mask;
    exchange->arrived = exchange->readers = 0;
    exchange->complete = false;
    exchange->call = call;
    exchange->site = site;
    // The value of a lane that takes no part is undefined.
    std::memset(exchange->values, the_schedule.poison(), sizeof exchange->values);
    warp.open.push_back(exchange);
  }
  unsigned lane = thread.lane();
  if (size > 0) std::memcpy(exchange->values[lane], value, size);
  exchange->arrived |= 1u << lane;
  ++exchange->readers;
  check_exchange(block, thread.warp(), exchange);
  if (!exchange->complete) wait_here(site);
  return exchange;
}

void leave_warp(WarpExchange* exchange) {
  if (--exchange->readers == 0) free_exchanges.push_back(exchange);
}

uint32_t converged_lanes(Site site) {
  WarpExchange* exchange = enter_warp(WarpCall::kConverge, 0, nullptr, 0, site);
  uint32_t lanes = exchange->arrived;
  leave_warp(exchange);
  return lanes;
}

std::shared_ptr<BlockExchange> exchange_in_block(const void* value, size_t size, Site site) {
  Thread& thread = current();
  Block& block = *thread.block;
  if (block.exchange == nullptr) {
    block.exchange = std::make_shared<BlockExchange>();
    block.exchange->values.resize(block.threads.size());
  }
  auto exchange = block.exchange;
  auto bytes = static_cast<const unsigned char*>(value);
  exchange->values[thread.linear].assign(bytes, bytes + size);
  wait_for_block(0, 0, 0, site);
  // The first to go on clears the way for the next exchange of the block.
  if (block.exchange == exchange) block.exchange.reset();
  return exchange;
}

unsigned new_shared_slot() { return shared_slots++; }

static SharedMemory poisoned(size_t size) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 128, size) != 0) throw std::bad_alloc();
  std::memset(memory, the_schedule.poison(), size);
  return SharedMemory(static_cast<unsigned char*>(memory));
}

void* shared_slot(unsigned slot, size_t size) {
  Block& block = *current().block;
  if (slot >= block.shared.size()) block.shared.resize(slot + 1);
  if (block.shared[slot] == nullptr) block.shared[slot] = poisoned(size);
  return block.shared[slot].get();
}

void* dynamic_shared_memory() {
  Block& block = *current().block;
  if (block.dynamic_shared == nullptr) block.dynamic_shared = poisoned(the_shape.dynamic_shared);
  return block.dynamic_shared.get();
}

void trap(const char* what) {
  throw DeviceError(std::string("trap: ") + what + " in " + kernel());
}

}  // namespace emulator

// In host code it ends the process, as it does everywhere.
void emulator_assert_fail(const char* what, const char* file, unsigned line, const char*) {
  std::string sentence = std::string(file) + ":" + std::to_string(line) + ": assertion failed: " + what;
  if (emulator::running_thread != nullptr) emulator::trap(sentence.c_str());
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::abort();
}
