// The table of ops that a library offers, and the C interface through which Python calls them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

enum class ArgumentKind : int32_t { kTensor = 0, kInteger = 1, kReal = 2, kNone = 3, kText = 4, kList = 5 };

// One argument or result. A tensor's memory belongs to the caller; a list is of other arguments.
struct Argument {
  int32_t kind;
  int32_t dtype;
  void* data;
  const int64_t* shape;
  int64_t rank;  // of a tensor; the length of a list
  int64_t integer;
  double real;
  const char* text;
  const Argument* items;
  int32_t on_host;
};

// What a call gives back: results in memory of the library, valid until the next call.
struct Result {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int32_t dtype = 0;
  std::shared_ptr<unsigned char> memory;
  size_t bytes = 0;
  ArgumentKind kind = ArgumentKind::kTensor;
  double real = 0;
  int64_t integer = 0;
};

// Whether an op is refused that reads a tensor's numbers as those of another type.
bool& types_are_checked();

typedef std::function<std::vector<Result>(const Argument*, int)> OpFunction;

struct OpEntry {
  std::string name;
  std::vector<std::string> parameters;
  // The parameters that are given back where the function itself returns nothing.
  std::vector<std::string> in_place;
  OpFunction function;
};

// Later registrations of a name win.
void register_op(OpEntry entry);

}  // namespace emulator
