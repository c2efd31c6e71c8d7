// Copies that a group makes together: done when they are asked for, by the group's first thread.
#pragma once
#include "cooperative_groups.h"

namespace cooperative_groups {

template <class Group, class T>
void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
  if (group.thread_rank() == 0) std::memcpy(to, from, bytes);
}
template <class Group>
void wait(const Group& group, EMULATOR_SITE) {
  group.sync(file, line);
}

}  // namespace cooperative_groups
