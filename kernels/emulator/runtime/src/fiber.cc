#include "emulator/asan.h"
#include "emulator/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#ifdef EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#include <ucontext.h>
#endif

namespace emulator {
namespace {

#ifdef EMULATOR_ASAN
// ASan puts a zone around every variable: frames are several times as large.
constexpr size_t kStackSize = 512 * 1024;
#else
constexpr size_t kStackSize = 128 * 1024;
#endif
Context* leaving = nullptr;

}  // namespace

Stack::Stack() {
  // The page at the low end stays without access, so that an overflow is a signal, not a corruption.
  void* memory = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(memory);
  mprotect(memory_, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE);
}

Stack::~Stack() { munmap(memory_, kStackSize); }

#ifdef __x86_64__

// Save the registers that a function must keep, change stacks, take the other side's registers.
extern "C" void emulator_switch_stack(void** save, void* load);
__asm__(R"(
.text
.globl emulator_switch_stack
.hidden emulator_switch_stack
.type emulator_switch_stack, @function
emulator_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulator_switch_stack, .-emulator_switch_stack
)");

Context Stack::prepare(void (*entry)()) {
#ifdef EMULATOR_ASAN
  // The last fiber on this stack may have ended without leaving its functions.
  ASAN_UNPOISON_MEMORY_REGION(memory_, kStackSize);
#endif
  auto top = reinterpret_cast<uintptr_t*>(memory_ + kStackSize);
  // A function finds its stack 8 bytes off a multiple of 16, as after a call.
  *--top = 0;
  *--top = reinterpret_cast<uintptr_t>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = 0;
  return {top, nullptr, memory_, kStackSize};
}

static void switch_stack(Context& from, Context& to) {
  emulator_switch_stack(&from.stack_pointer, to.stack_pointer);
}

#else

// Other processors take the slow way of the C library, which asks the kernel at every switch.
Context Stack::prepare(void (*entry)()) {
  auto* context = new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = memory_;
  context->uc_stack.ss_size = kStackSize;
  makecontext(context, entry, 0);
  return {context, nullptr, memory_, kStackSize};
}

static void switch_stack(Context& from, Context& to) {
  if (from.stack_pointer == nullptr) from.stack_pointer = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(from.stack_pointer),
              static_cast<ucontext_t*>(to.stack_pointer));
}

#endif

void arrive_on_stack() {
#ifdef EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &leaving->stack_bottom, &leaving->stack_size);
#endif
}

void switch_context(Context& from, Context& to, bool ends) {
  leaving = &from;
#ifdef EMULATOR_ASAN
  void** saved = ends ? nullptr : &from.sanitizer_stack;
  __sanitizer_start_switch_fiber(saved, to.stack_bottom, to.stack_size);
#else
  (void)ends;
#endif
  switch_stack(from, to);
#ifdef EMULATOR_ASAN
  __sanitizer_finish_switch_fiber(from.sanitizer_stack, nullptr, nullptr);
#endif
}

}  // namespace emulator
