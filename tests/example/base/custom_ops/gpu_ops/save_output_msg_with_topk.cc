#include <sys/msg.h>

#include <cstdio>

#include "msg_key.h"
#include "paddle/extension.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

// Without speculative decoding: one token per slot, its top-k beside it.
#define MAX_BSZ 512
#define K 20

struct topk_msg {
  long mtype;
  // stop word, batch size and column count, then the rows without gaps
  int mtext[MAX_BSZ * (K + 1) + 2];
  float mtext_f[MAX_BSZ * (K + 1)];
  int mtext_ranks[MAX_BSZ];
};

void SendTopK(const paddle::Tensor& next_tokens,
              const paddle::Tensor& logprob_token_ids,
              const paddle::Tensor& logprob_scores,
              const paddle::Tensor& ranks,
              const paddle::Tensor& not_need_stop,
              int64_t rank_id) {
  if (rank_id > 0) {
    return;
  }
  auto tokens_cpu = next_tokens.copy_to(paddle::CPUPlace(), false);
  auto ids_cpu = logprob_token_ids.copy_to(paddle::CPUPlace(), false);
  auto scores_cpu = logprob_scores.copy_to(paddle::CPUPlace(), false);
  auto ranks_cpu = ranks.copy_to(paddle::CPUPlace(), true);
  const int64_t* tokens = tokens_cpu.data<int64_t>();
  const int64_t* ids = ids_cpu.data<int64_t>();
  const float* scores = scores_cpu.data<float>();
  const int64_t* rank_data = ranks_cpu.data<int64_t>();
  const int bsz = next_tokens.shape()[0];
  const int columns = logprob_token_ids.shape()[1];

  static struct topk_msg msg;
  static int queue = msgget(lantern_msg_key("/dev/shm", lantern_queue_id()), IPC_CREAT | 0666);

  msg.mtype = 1;
  msg.mtext[0] = not_need_stop.data<bool>()[0] ? 1 : -1;
  // Batch size in the low 16 bits, columns in the high 16 bits.
  msg.mtext[1] = (bsz & 0xFFFF) | ((columns & 0x7FFF) << 16);
  for (int i = 0; i < bsz; i++) {
    for (int k = 0; k < columns; k++) {
      const int at = i * columns + k;
      msg.mtext[2 + at] = static_cast<int>(k == 0 ? tokens[i] : ids[at]);
      msg.mtext_f[at] = scores[at];
    }
    msg.mtext_ranks[i] = static_cast<int>(rank_data[i]);
  }
  if (msgsnd(queue, &msg, sizeof(msg) - sizeof(long), 0) == -1) {
    perror("msgsnd");
  }
}

PD_BUILD_STATIC_OP(send_topk)
    .Inputs({"next_tokens", "logprob_token_ids", "logprob_scores", "ranks", "not_need_stop"})
    .Attrs({"rank_id: int64_t"})
    .SetKernelFn(PD_KERNEL(SendTopK));
