#include "ngram_common.cuh"
#include "paddle/extension.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

// One block per slot: take the last n generated tokens, look for them earlier, and
// propose what came after them. token_ids_all holds the prompt and the generated tokens.
__global__ void ngram_match_kernel(const int64_t* token_ids_all,
                                   const int64_t* prompt_lens,
                                   const int64_t* step_idx,
                                   const int* draft_token_num,
                                   const int* seq_lens_encoder,
                                   const int* seq_lens_decoder,
                                   const int64_t* max_dec_len,
                                   int64_t* draft_tokens,
                                   int* seq_lens_this_time,
                                   int64_t max_model_len,
                                   int64_t draft_stride,
                                   int max_ngram_size) {
  __shared__ unsigned long long best;
  const int64_t bid = blockIdx.x;
  if (seq_lens_encoder[bid] > 0) {
    return;
  }
  if (threadIdx.x == 0) {
    seq_lens_this_time[bid] = seq_lens_decoder[bid] > 0 ? 1 : 0;
  }
  if (seq_lens_decoder[bid] <= 0) {
    return;
  }

  const int64_t prompt_len = prompt_lens[bid];
  const int64_t* prompt = token_ids_all + bid * max_model_len;
  const int64_t* history = prompt + prompt_len;
  const int64_t cur_step_idx = step_idx[bid];
  const int64_t room = max_dec_len[bid] - cur_step_idx - 1;
  const int64_t wanted = min(static_cast<int64_t>(draft_token_num[bid]), room);
  if (wanted <= 0) {
    return;
  }

  for (int n = max_ngram_size; n >= 1; --n) {
    if (cur_step_idx < n) {
      continue;
    }
    const int64_t* tail = history + (cur_step_idx - n);

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
        draft_tokens[bid * draft_stride + 1 + k] = source[at + n + k];
      }
      seq_lens_this_time[bid] = static_cast<int>(found) + 1;
    }
    return;
  }
}

void NgramMatch(const paddle::Tensor& token_ids_all,
                const paddle::Tensor& prompt_lens,
                const paddle::Tensor& step_idx,
                const paddle::Tensor& draft_token_num,
                const paddle::Tensor& draft_tokens,
                const paddle::Tensor& seq_lens_this_time,
                const paddle::Tensor& seq_lens_encoder,
                const paddle::Tensor& seq_lens_decoder,
                const paddle::Tensor& max_dec_len,
                int max_ngram_size) {
  const int bsz = seq_lens_this_time.shape()[0];
  const int64_t max_model_len = token_ids_all.shape()[1];
  const int64_t draft_stride = draft_tokens.shape()[1];
  ngram_match_kernel<<<bsz, kSearchThreads, 0, token_ids_all.stream()>>>(
      token_ids_all.data<int64_t>(),
      prompt_lens.data<int64_t>(),
      step_idx.data<int64_t>(),
      draft_token_num.data<int>(),
      seq_lens_encoder.data<int>(),
      seq_lens_decoder.data<int>(),
      max_dec_len.data<int64_t>(),
      const_cast<int64_t*>(draft_tokens.data<int64_t>()),
      const_cast<int*>(seq_lens_this_time.data<int>()),
      max_model_len,
      draft_stride,
      max_ngram_size);
}

PD_BUILD_STATIC_OP(ngram_match)
    .Inputs({"token_ids_all",
             "prompt_lens",
             "step_idx",
             "draft_token_num",
             "draft_tokens",
             "seq_lens_this_time",
             "seq_lens_encoder",
             "seq_lens_decoder",
             "max_dec_len"})
    .Attrs({"max_ngram_size: int"})
    .Outputs({"draft_tokens_out", "seq_lens_this_time_out"})
    .SetInplaceMap({{"draft_tokens", "draft_tokens_out"},
                    {"seq_lens_this_time", "seq_lens_this_time_out"}})
    .SetKernelFn(PD_KERNEL(NgramMatch));
