// The state that the op table keeps; what a real GPU does not tell stays empty.
#include "emulator/grid.h"

namespace emulator {

Schedule& schedule() {
  static Schedule one;
  return one;
}
std::string& missing() {
  static std::string nothing;
  return nothing;
}
Observations& observations() {
  static Observations none;
  return none;
}

}  // namespace emulator
