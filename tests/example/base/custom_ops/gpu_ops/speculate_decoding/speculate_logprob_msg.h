#pragma once

#include <sys/msg.h>

#include "../msg_key.h"
#include "paddle/extension.h"

// One decoding step of a worker, sent to the engine with target (or draft) logprobs.
#define SPEC_LOGPROB_MAX_BSZ 512
#define SPEC_LOGPROB_K 20
#define MAX_DRAFT_TOKEN_NUM 6
#define SPEC_PREEMPTED -9

struct slot_logprobs {
  // Row j is the j-th accepted token: column 0 the token itself, then the top-k.
  int tokens[MAX_DRAFT_TOKEN_NUM * (SPEC_LOGPROB_K + 1)];
  float scores[MAX_DRAFT_TOKEN_NUM * (SPEC_LOGPROB_K + 1)];
  int ranks[MAX_DRAFT_TOKEN_NUM];
};

struct logprob_msg {
  long mtype;
  // stop word, message flag, batch size, then one token count per slot
  int meta[3 + SPEC_LOGPROB_MAX_BSZ];
  slot_logprobs slots[SPEC_LOGPROB_MAX_BSZ];
};
