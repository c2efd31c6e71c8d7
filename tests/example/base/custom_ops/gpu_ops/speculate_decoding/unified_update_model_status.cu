#include <stdint.h>

#include "paddle/extension.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

constexpr int kStatusThreads = 1024;

// After verification: append the accepted tokens to token_ids_all and move the lengths on.
__global__ void unified_update_kernel(int* seq_lens_encoder,
                                      int* seq_lens_decoder,
                                      int* seq_lens_this_time,
                                      bool* stop_flags,
                                      int64_t* token_ids_all,
                                      const int64_t* prompt_lens,
                                      int64_t* step_idx,
                                      int64_t* accept_tokens,
                                      int* accept_num,
                                      const int64_t* end_tokens,
                                      const int64_t* max_dec_len,
                                      int bsz,
                                      int accept_stride,
                                      int max_model_len,
                                      int num_end_tokens) {
  const int bid = threadIdx.x;
  if (bid >= bsz) {
    return;
  }
  if (stop_flags[bid]) {
    seq_lens_encoder[bid] = 0;
    seq_lens_decoder[bid] = 0;
    seq_lens_this_time[bid] = 0;
    accept_num[bid] = 0;
    return;
  }

  int len = accept_num[bid];
  int64_t cur_step_idx = step_idx[bid];
  int64_t* accepted = accept_tokens + static_cast<int64_t>(bid) * accept_stride;
  for (int i = 0; i < len; i++) {
    cur_step_idx++;
    bool ended = cur_step_idx >= max_dec_len[bid];
    for (int e = 0; e < num_end_tokens; e++) {
      ended = ended || accepted[i] == end_tokens[e];
    }
    if (ended) {
      stop_flags[bid] = true;
      len = i + 1;
      break;
    }
  }

  if (seq_lens_encoder[bid] > 0) {
    seq_lens_decoder[bid] += seq_lens_encoder[bid];
    seq_lens_encoder[bid] = 0;
  } else {
    seq_lens_decoder[bid] += len;
  }

  const int64_t prompt_len = prompt_lens[bid];
  if (len > 0 && prompt_len + cur_step_idx < max_model_len) {
    int64_t* history = token_ids_all + static_cast<int64_t>(bid) * max_model_len + prompt_len;
    const int64_t base = cur_step_idx - len;
    for (int i = 0; i < len; i++) {
      history[base + i] = accepted[i];
    }
  }
  step_idx[bid] = cur_step_idx;
  accept_num[bid] = len;
}

void UnifiedUpdateStatus(const paddle::Tensor& seq_lens_encoder,
                         const paddle::Tensor& seq_lens_decoder,
                         const paddle::Tensor& seq_lens_this_time,
                         const paddle::Tensor& stop_flags,
                         const paddle::Tensor& token_ids_all,
                         const paddle::Tensor& prompt_lens,
                         const paddle::Tensor& step_idx,
                         const paddle::Tensor& accept_tokens,
                         const paddle::Tensor& accept_num,
                         const paddle::Tensor& end_tokens,
                         const paddle::Tensor& max_dec_len) {
  unified_update_kernel<<<1, kStatusThreads, 0, token_ids_all.stream()>>>(
      const_cast<int*>(seq_lens_encoder.data<int>()),
      const_cast<int*>(seq_lens_decoder.data<int>()),
      const_cast<int*>(seq_lens_this_time.data<int>()),
      const_cast<bool*>(stop_flags.data<bool>()),
      const_cast<int64_t*>(token_ids_all.data<int64_t>()),
      prompt_lens.data<int64_t>(),
      const_cast<int64_t*>(step_idx.data<int64_t>()),
      const_cast<int64_t*>(accept_tokens.data<int64_t>()),
      const_cast<int*>(accept_num.data<int>()),
      end_tokens.data<int64_t>(),
      max_dec_len.data<int64_t>(),
      seq_lens_this_time.shape()[0],
      accept_tokens.shape()[1],
      token_ids_all.shape()[1],
      end_tokens.shape()[0]);
}

PD_BUILD_STATIC_OP(unified_update_status)
    .Inputs({"seq_lens_encoder",
             "seq_lens_decoder",
             "seq_lens_this_time",
             "stop_flags",
             "token_ids_all",
             "prompt_lens",
             "step_idx",
             "accept_tokens",
             "accept_num",
             "end_tokens",
             "max_dec_len"})
    .Outputs({"token_ids_all_out", "step_idx_out", "accept_num_out"})
    .SetInplaceMap({{"token_ids_all", "token_ids_all_out"},
                    {"step_idx", "step_idx_out"},
                    {"accept_num", "accept_num_out"}})
    .SetKernelFn(PD_KERNEL(UnifiedUpdateStatus));
