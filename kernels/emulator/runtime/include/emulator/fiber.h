// A fiber: a function with a stack of its own that can stop in the middle and go on later.
// Every CUDA thread that has to wait for others is one.
#pragma once

#include <cstddef>
#include <memory>

namespace emulator {

// Saved place of a stopped flow of control: its stack pointer, and what ASan has to know of its stack.
struct Context {
  void* stack_pointer = nullptr;
  void* sanitizer_stack = nullptr;
  const void* stack_bottom = nullptr;
  size_t stack_size = 0;
};

class Stack {
 public:
  Stack();
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  // A context that calls `entry` on this stack when it is switched to. `entry` never returns.
  Context prepare(void (*entry)());

 private:
  char* memory_;
};

// Stop here, save the place in `from`, go on at `to`. `ends`: nobody will come back to `from`.
void switch_context(Context& from, Context& to, bool ends = false);

// The first thing that runs on a new stack has to call this (ASan).
void arrive_on_stack();

}  // namespace emulator
