#include "../ngram_common.cuh"
#include "paddle/extension.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

// Lengthens the MTP head's draft with what an n-gram of the draft model's own history
// (pre_ids, not token_ids_all) was followed by.
__global__ void hybrid_ngram_kernel(const int64_t* input_ids,
                                    const int64_t* input_ids_len,
                                    const int64_t* pre_ids,
                                    const int64_t* step_idx,
                                    const int64_t* max_dec_len,
                                    int64_t* draft_tokens,
                                    int* seq_lens_this_time,
                                    int64_t input_ids_stride,
                                    int64_t pre_ids_stride,
                                    int64_t draft_stride,
                                    int max_ngram_size,
                                    int min_ngram_size,
                                    int max_draft_tokens) {
  __shared__ unsigned long long best;
  const int64_t bid = blockIdx.x;
  const int drafted = seq_lens_this_time[bid];
  if (drafted == 0) {
    return;
  }
  const int64_t cur_step_idx = step_idx[bid];
  const int64_t budget = static_cast<int64_t>(max_draft_tokens) - drafted + 1;
  const int64_t wanted = min(budget, max_dec_len[bid] - cur_step_idx - 1);
  if (wanted <= 0) {
    return;
  }

  const int64_t* prompt = input_ids + bid * input_ids_stride;
  const int64_t prompt_len = input_ids_len[bid];
  const int64_t* history = pre_ids + bid * pre_ids_stride;

  for (int n = max_ngram_size; n >= min_ngram_size; --n) {
    if (cur_step_idx < n) {
      continue;
    }
    const int64_t* tail = history + (cur_step_idx + 1 - n);

    int64_t at = block_find(prompt, prompt_len, tail, n, &best);
    const int64_t* source = prompt;
    int64_t limit = prompt_len;
    if (at == INT64_MAX || at + n >= limit) {
      at = block_find(history, cur_step_idx, tail, n, &best);
      source = history;
      limit = cur_step_idx;
    }
    if (at == INT64_MAX || at + n >= limit) {
      continue;
    }
    const int64_t found = min(wanted, limit - at - n);
    if (threadIdx.x == 0) {
      for (int64_t k = 0; k < found; k++) {
        draft_tokens[bid * draft_stride + drafted + k] = source[at + n + k];
      }
      seq_lens_this_time[bid] = drafted + static_cast<int>(found);
    }
    return;
  }
}

void HybridNgramMatch(const paddle::Tensor& input_ids,
                      const paddle::Tensor& input_ids_len,
                      const paddle::Tensor& pre_ids,
                      const paddle::Tensor& step_idx,
                      const paddle::Tensor& draft_tokens,
                      const paddle::Tensor& seq_lens_this_time,
                      const paddle::Tensor& max_dec_len,
                      int max_ngram_size,
                      int min_ngram_size,
                      int max_draft_tokens) {
  const int bsz = seq_lens_this_time.shape()[0];
  hybrid_ngram_kernel<<<bsz, kSearchThreads, 0, pre_ids.stream()>>>(
      input_ids.data<int64_t>(),
      input_ids_len.data<int64_t>(),
      pre_ids.data<int64_t>(),
      step_idx.data<int64_t>(),
      max_dec_len.data<int64_t>(),
      const_cast<int64_t*>(draft_tokens.data<int64_t>()),
      const_cast<int*>(seq_lens_this_time.data<int>()),
      input_ids.shape()[1],
      pre_ids.shape()[1],
      draft_tokens.shape()[1],
      max_ngram_size,
      min_ngram_size,
      max_draft_tokens);
}

PD_BUILD_STATIC_OP(hybrid_ngram_match)
    .Inputs({"input_ids",
             "input_ids_len",
             "pre_ids",
             "step_idx",
             "draft_tokens",
             "seq_lens_this_time",
             "max_dec_len"})
    .Attrs({"max_ngram_size: int", "min_ngram_size: int", "max_draft_tokens: int"})
    .Outputs({"draft_tokens_out", "seq_lens_this_time_out"})
    .SetInplaceMap({{"draft_tokens", "draft_tokens_out"},
                    {"seq_lens_this_time", "seq_lens_this_time_out"}})
    .SetKernelFn(PD_KERNEL(HybridNgramMatch));
