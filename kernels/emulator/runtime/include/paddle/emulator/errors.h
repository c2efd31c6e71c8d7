#pragma once

#include <cstdarg>
#include <sstream>
#include <stdexcept>
#include <string>

namespace emulator {

struct CheckFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void append(std::ostream&) {}
template <class First, class... Rest>
void append(std::ostream& out, const First& first, const Rest&... rest) {
  out << first;
  append(out, rest...);
}
template <class... Parts>
[[noreturn]] void fail_check(const char* kind, const Parts&... parts) {
  std::ostringstream out;
  out << kind;
  append(out, parts...);
  throw CheckFailed(out.str());
}

}  // namespace emulator

namespace common {
namespace errors {
// The format's text is enough to know which check it was.
#define EMULATOR_ERROR(NAME) \
  template <class... Values> std::string NAME(const char* format, const Values&...) { return format; } \
  inline std::string NAME(const std::string& text) { return text; }
EMULATOR_ERROR(InvalidArgument)
EMULATOR_ERROR(Fatal)
EMULATOR_ERROR(Unimplemented)
EMULATOR_ERROR(PreconditionNotMet)
EMULATOR_ERROR(External)
EMULATOR_ERROR(NotFound)
EMULATOR_ERROR(OutOfRange)
EMULATOR_ERROR(ResourceExhausted)
EMULATOR_ERROR(Unavailable)
#undef EMULATOR_ERROR
}  // namespace errors
}  // namespace common
namespace phi { namespace errors = common::errors; }
namespace paddle { namespace platform { namespace errors = common::errors; } }

#define PD_THROW(...) ::emulator::fail_check("PD_THROW: ", ##__VA_ARGS__)
#define PD_CHECK(condition, ...) \
  do { if (!(condition)) ::emulator::fail_check("PD_CHECK(" #condition ") ", ##__VA_ARGS__); } while (0)
#define PADDLE_THROW(...) ::emulator::fail_check("PADDLE_THROW: ", ##__VA_ARGS__)
#define PADDLE_ENFORCE(condition, ...) PD_CHECK(condition, ##__VA_ARGS__)
#define PADDLE_ENFORCE_NOT_NULL(pointer, ...) PD_CHECK((pointer) != nullptr, ##__VA_ARGS__)
#define PADDLE_ENFORCE_EQ(a, b, ...) PD_CHECK((a) == (b), ##__VA_ARGS__)
#define PADDLE_ENFORCE_NE(a, b, ...) PD_CHECK((a) != (b), ##__VA_ARGS__)
#define PADDLE_ENFORCE_GT(a, b, ...) PD_CHECK((a) > (b), ##__VA_ARGS__)
#define PADDLE_ENFORCE_GE(a, b, ...) PD_CHECK((a) >= (b), ##__VA_ARGS__)
#define PADDLE_ENFORCE_LT(a, b, ...) PD_CHECK((a) < (b), ##__VA_ARGS__)
#define PADDLE_ENFORCE_LE(a, b, ...) PD_CHECK((a) <= (b), ##__VA_ARGS__)
#define PADDLE_ENFORCE_GPU_SUCCESS(call) PD_CHECK((call) == cudaSuccess)
#define PADDLE_ENFORCE_CUDA_SUCCESS(call) PD_CHECK((call) == cudaSuccess)
