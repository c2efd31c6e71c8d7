#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "emulator/op_table.h"

#include "emulator/grid.h"

namespace emulator {
namespace {

std::map<std::string, OpEntry>& table() {
  static std::map<std::string, OpEntry> entries;
  return entries;
}

std::vector<Result> results;
std::string answer;
// Stands before the names of ops: two hardware's ops of one name can be there at once.
std::string prefix;

}  // namespace

bool& types_are_checked() {
  static bool are_checked = false;
  return are_checked;
}

void register_op(OpEntry entry) {
  std::string name = prefix + entry.name;
  table()[name] = std::move(entry);
}

}  // namespace emulator

extern "C" {

// Libraries that are loaded from now on register their ops with `prefix` before their names.
void emulator_register_with(const char* prefix) { emulator::prefix = prefix; }

// The ops, a line each: name and parameters, separated by tabs; then `>` and what is given back.
const char* emulator_ops() {
  emulator::answer.clear();
  for (const auto& [name, entry] : emulator::table()) {
    emulator::answer += name;
    for (const auto& parameter : entry.parameters) emulator::answer += "\t" + parameter;
    for (const auto& parameter : entry.in_place) emulator::answer += "\t>" + parameter;
    emulator::answer += "\n";
  }
  return emulator::answer.c_str();
}

void emulator_check_types(int wanted) { emulator::types_are_checked() = wanted != 0; }

// The schedule of ops that PyTorch's dispatcher calls.
void emulator_set_seed(uint64_t seed) { emulator::schedule().seed = seed; }

// Run an op: the number of results, or -1 with `emulator_error`.
int emulator_call(const char* name, const emulator::Argument* arguments, int count, uint64_t seed) {
  emulator::schedule().seed = seed;
  emulator::results.clear();
  emulator::missing().clear();
  auto found = emulator::table().find(name);
  if (found == emulator::table().end()) {
    emulator::answer = std::string("no op ") + name;
    return -1;
  }
  try {
    emulator::results = found->second.function(arguments, count);
  } catch (const std::exception& error) {
    emulator::answer = error.what();
    return -1;
  }
  return static_cast<int>(emulator::results.size());
}

const char* emulator_error() { return emulator::answer.c_str(); }

const emulator::Result* emulator_result(int index) { return &emulator::results[index]; }
int emulator_result_kind(int i) { return static_cast<int>(emulator::results[i].kind); }
int emulator_result_dtype(int i) { return emulator::results[i].dtype; }
int64_t emulator_result_rank(int i) { return static_cast<int64_t>(emulator::results[i].shape.size()); }
const int64_t* emulator_result_shape(int i) { return emulator::results[i].shape.data(); }
const int64_t* emulator_result_strides(int i) { return emulator::results[i].strides.data(); }
int64_t emulator_result_integer(int i) { return emulator::results[i].integer; }
double emulator_result_real(int i) { return emulator::results[i].real; }
void emulator_result_copy(int i, void* to) {
  const auto& result = emulator::results[i];
  std::memcpy(to, result.memory.get(), result.bytes);
}

// What the emulator did not have since the last question, or nothing.
const char* emulator_missing() {
  emulator::answer = std::exchange(emulator::missing(), "");
  return emulator::answer.c_str();
}

// What the launches since the last question showed, a line each; the first is their number.
const char* emulator_observations() {
  auto& seen = emulator::observations();
  emulator::answer = std::to_string(seen.launches) + "\n";
  for (const auto& sentence : seen.barriers) emulator::answer += sentence + "\n";
  seen = {};
  return emulator::answer.c_str();
}
}
