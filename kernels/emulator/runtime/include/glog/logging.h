// Log lines go nowhere; a failed CHECK is an error.
#pragma once

#include <sstream>
#include <stdexcept>

namespace emulator {
struct NoLog {
  template <class T> NoLog& operator<<(const T&) { return *this; }
  NoLog& operator<<(std::ostream& (*)(std::ostream&)) { return *this; }
};
class FailedCheck {
 public:
  explicit FailedCheck(const char* condition) { text_ << "CHECK(" << condition << ") "; }
  template <class T> FailedCheck& operator<<(const T& part) { text_ << part; return *this; }
  ~FailedCheck() noexcept(false) { throw std::runtime_error(text_.str()); }
 private:
  std::ostringstream text_;
};
}  // namespace emulator

#define LOG(level) ::emulator::NoLog()
#define VLOG(level) ::emulator::NoLog()
#define LOG_FIRST_N(level, n) ::emulator::NoLog()
#define CHECK(condition) if (condition) {} else ::emulator::FailedCheck(#condition)
#define CHECK_EQ(a, b) CHECK((a) == (b))
#define CHECK_NE(a, b) CHECK((a) != (b))
#define CHECK_GT(a, b) CHECK((a) > (b))
#define CHECK_GE(a, b) CHECK((a) >= (b))
#define CHECK_LT(a, b) CHECK((a) < (b))
#define CHECK_LE(a, b) CHECK((a) <= (b))
