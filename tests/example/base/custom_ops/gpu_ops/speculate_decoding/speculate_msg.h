#pragma once

#include <sys/msg.h>

#include "../msg_key.h"
#include "paddle/extension.h"

// One decoding step without logprobs. A smaller batch than the logprob message allows.
#define MAX_BSZ 256
#define MAX_DRAFT_TOKENS 6

struct plain_msg {
  long mtype;
  // stop word, batch size, MAX_BSZ token counts, then MAX_DRAFT_TOKENS tokens per slot
  int mtext[MAX_BSZ * MAX_DRAFT_TOKENS + MAX_BSZ + 2];
};
