#include <cstdio>

#include "speculate_logprob_msg.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

// Copies one message into the engine's buffers. The layout of output_tokens is that of
// the message: stop word, flag, batch size, SPEC_LOGPROB_MAX_BSZ counts, then the rows.
void SpecRecvTopK(const paddle::Tensor& output_tokens,
                  const paddle::Tensor& output_scores,
                  const paddle::Tensor& output_ranks,
                  int real_k,
                  bool wait_flag) {
  static int queue = msgget(lantern_msg_key("/dev/shm", lantern_queue_id()), IPC_CREAT | 0666);
  static struct logprob_msg msg;

  int64_t* out_tokens = const_cast<int64_t*>(output_tokens.data<int64_t>());
  float* out_scores = const_cast<float*>(output_scores.data<float>());
  int64_t* out_ranks = const_cast<int64_t*>(output_ranks.data<int64_t>());

  const int flags = wait_flag ? 0 : IPC_NOWAIT;
  if (msgrcv(queue, &msg, sizeof(msg) - sizeof(long), 0, flags) == -1) {
    out_tokens[0] = -2;  // nothing received
    out_tokens[1] = 0;
    out_tokens[2] = 0;
    return;
  }

  const int bsz = msg.meta[2];
  out_tokens[0] = static_cast<int64_t>(msg.meta[0]);
  out_tokens[1] = static_cast<int64_t>(msg.meta[1]);
  out_tokens[2] = static_cast<int64_t>(msg.meta[2]);

  const int slot_stride = MAX_DRAFT_TOKEN_NUM * (SPEC_LOGPROB_K + 1);
  const int first_row = 3 + SPEC_LOGPROB_MAX_BSZ;
  for (int i = 0; i < bsz; i++) {
    const int count = msg.meta[3 + i];
    out_tokens[3 + i] = static_cast<int64_t>(count);

    int64_t* slot_tokens = out_tokens + first_row + i * slot_stride;
    float* slot_scores = out_scores + i * slot_stride;
    const auto* slot = &msg.slots[i];
    for (int j = 0; j < count; j++) {
      const int row = j * (SPEC_LOGPROB_K + 1);
      for (int k = 0; k < real_k + 1; k++) {
        slot_tokens[row + k] = static_cast<int64_t>(slot->tokens[row + k]);
        slot_scores[row + k] = slot->scores[row + k];
      }
      out_ranks[i * MAX_DRAFT_TOKEN_NUM + j] = static_cast<int64_t>(slot->ranks[j]);
    }
  }
}

PD_BUILD_STATIC_OP(spec_recv_topk)
    .Inputs({"output_tokens", "output_scores", "output_ranks"})
    .Attrs({"real_k: int", "wait_flag: bool"})
    .Outputs({"output_tokens_out", "output_scores_out", "output_ranks_out"})
    .SetInplaceMap({{"output_tokens", "output_tokens_out"},
                    {"output_scores", "output_scores_out"},
                    {"output_ranks", "output_ranks_out"}})
    .SetKernelFn(PD_KERNEL(SpecRecvTopK));
