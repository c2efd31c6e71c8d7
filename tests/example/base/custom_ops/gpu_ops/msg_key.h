#pragma once

#include <sys/ipc.h>
#include <sys/types.h>

#include <cstdlib>

// ftok() folds the inode in, which differs between containers that share a queue.
// Both ends of a queue must call this with the same directory.
inline key_t lantern_msg_key(const char* dir, int queue_id) {
  unsigned int hash = 5381;
  for (const char* p = dir; *p != '\0'; ++p) {
    hash = hash * 33 + static_cast<unsigned char>(*p);
  }
  return static_cast<key_t>((hash & 0x00FFFFFF) | (static_cast<unsigned int>(queue_id & 0xFF) << 24));
}

inline int lantern_queue_id() {
  const char* value = std::getenv("LANTERN_QUEUE_ID");
  return value == nullptr ? 1 : std::atoi(value);
}
