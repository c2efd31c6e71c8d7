// What a launch `kernel<<<grid, block, shared, stream>>>(arguments)` is rewritten to.
#pragma once

#include <tuple>
#include <utility>

#include "emulator/grid.h"

typedef struct CUstream_st* cudaStream_t;

namespace emulator {

class Launch {
 public:
  Launch(dim3 grid, dim3 block, size_t dynamic_shared = 0, cudaStream_t = nullptr)
      : shape_{grid, block, dynamic_shared, false} {}

  // The arguments are evaluated once and copied, as for a GPU; each thread calls with the copies.
  template <class Call, class... Arguments>
  void run(const char* name, Call call, Arguments&&... arguments) {
    std::tuple<std::decay_t<Arguments>...> copies(std::forward<Arguments>(arguments)...);
    launch(shape_, name, [&] { std::apply(call, copies); });
  }

 private:
  LaunchShape shape_;
};

// A `__shared__` declaration becomes a struct of its declarators, of which each block has one.
template <class Declaration>
Declaration& shared_memory() {
  static const unsigned slot = new_shared_slot();
  return *static_cast<Declaration*>(shared_slot(slot, sizeof(Declaration)));
}

// The block's dynamic memory by a name of the whole file.
template <class T>
struct DynamicShared {
  constexpr DynamicShared() = default;
  operator T*() const { return static_cast<T*>(dynamic_shared_memory()); }
  template <class Other>
  explicit operator Other*() const { return static_cast<Other*>(dynamic_shared_memory()); }
};

// Chosen by the rewriter for `asm`: a function that is compiled and calls this is an error by name.
#if defined(__has_attribute)
#if __has_attribute(error)
#define EMULATOR_REFUSED(why) __attribute__((error(why)))
#endif
#endif
#ifndef EMULATOR_REFUSED
#define EMULATOR_REFUSED(why)
#endif

}  // namespace emulator
