#include <cstdio>

#include "../speculate_logprob_msg.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

// A prefill node hands the first token and the draft tokens of the MTP head to the
// decode node. Logprobs exist only for the first token; the rows after it carry ids.
void MTPSendFirstTokenTopK(const paddle::Tensor& sampled_token_ids,
                           const paddle::Tensor& logprob_token_ids,
                           const paddle::Tensor& logprob_scores,
                           const paddle::Tensor& logprob_ranks,
                           const paddle::Tensor& draft_token_num,
                           const paddle::Tensor& cu_batch_token_offset,
                           const paddle::Tensor& not_need_stop,
                           const paddle::Tensor& seq_lens_decoder,
                           const paddle::Tensor& prompt_lens,
                           int message_flag,
                           int64_t rank_id) {
  if (rank_id > 0) {
    return;
  }
  auto cpu = paddle::CPUPlace();
  auto sampled_cpu = sampled_token_ids.copy_to(cpu, false);
  auto topk_ids_cpu = logprob_token_ids.copy_to(cpu, false);
  auto topk_scores_cpu = logprob_scores.copy_to(cpu, false);
  auto ranks_cpu = logprob_ranks.copy_to(cpu, false);
  auto drafts_cpu = draft_token_num.copy_to(cpu, false);
  auto offset_cpu = cu_batch_token_offset.copy_to(cpu, false);
  auto decoder_cpu = seq_lens_decoder.copy_to(cpu, false);
  auto prompt_cpu = prompt_lens.copy_to(cpu, true);

  const int64_t* sampled = sampled_cpu.data<int64_t>();
  const int64_t* topk_ids = topk_ids_cpu.data<int64_t>();
  const float* topk_scores = topk_scores_cpu.data<float>();
  const int64_t* ranks = ranks_cpu.data<int64_t>();
  const int* draft_counts = drafts_cpu.data<int>();
  const int* offsets = offset_cpu.data<int>();
  const int* decoder_lens = decoder_cpu.data<int>();
  const int64_t* prompts = prompt_cpu.data<int64_t>();

  const int max_draft_tokens = sampled_token_ids.shape()[1];
  const int bsz = draft_token_num.shape()[0];

  static struct logprob_msg msg;
  static int queue = msgget(lantern_msg_key("/dev/shm", lantern_queue_id()), IPC_CREAT | 0666);

  msg.mtype = 1;
  msg.meta[0] = not_need_stop.data<bool>()[0] ? 1 : -1;
  msg.meta[1] = message_flag;
  msg.meta[2] = bsz;
  int max_num_logprobs = logprob_token_ids.shape()[1];
  for (int i = 0; i < bsz; i++) {
    int count = decoder_lens[i] < prompts[i] ? 0 : draft_counts[i] + 1;
    msg.meta[3 + i] = count;

    auto* slot = &msg.slots[i];
    for (int j = 0; j < count; j++) {
      auto* row_tokens = &slot->tokens[j * (SPEC_LOGPROB_K + 1)];
      auto* row_scores = &slot->scores[j * (SPEC_LOGPROB_K + 1)];
      row_tokens[0] = static_cast<int>(sampled[i * max_draft_tokens + j]);
      if (j > 0) {
        continue;
      }
      const int source = offsets[i] * (SPEC_LOGPROB_K + 1);
      row_scores[0] = topk_scores[source];
      for (int k = 1; k < SPEC_LOGPROB_K + 1; k++) {
        if (k < max_num_logprobs) {
          row_tokens[k] = static_cast<int>(topk_ids[source + k]);
          row_scores[k] = topk_scores[source + k];
        } else {
          row_tokens[k] = -1;
          row_scores[k] = 0.0f;
        }
      }
      slot->ranks[0] = static_cast<int>(ranks[offsets[i]]);
    }
  }
  if (msgsnd(queue, &msg, sizeof(msg) - sizeof(long), 0) == -1) {
    perror("msgsnd");
  }
}

PD_BUILD_STATIC_OP(mtp_send_first_token_topk)
    .Inputs({"sampled_token_ids",
             "logprob_token_ids",
             "logprob_scores",
             "logprob_ranks",
             "draft_token_num",
             "cu_batch_token_offset",
             "not_need_stop",
             "seq_lens_decoder",
             "prompt_lens"})
    .Attrs({"message_flag: int", "rank_id: int64_t"})
    .SetKernelFn(PD_KERNEL(MTPSendFirstTokenTopK));
