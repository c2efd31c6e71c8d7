#pragma once

#include <sys/msg.h>

#include "paddle/extension.h"

#define MAX_BSZ 256
#define MAX_DRAFT_TOKENS 6

struct plain_msg {
  long mtype;
  int mtext[MAX_BSZ * MAX_DRAFT_TOKENS + MAX_BSZ + 2];
};
