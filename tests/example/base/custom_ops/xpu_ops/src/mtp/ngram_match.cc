#include <stdint.h>

#include <algorithm>

#include "paddle/extension.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

static int64_t find_ngram(const int64_t* text, int64_t text_len, const int64_t* tail, int n) {
  for (int64_t at = 0; at + n < text_len; at++) {
    if (std::equal(tail, tail + n, text + at)) {
      return at;
    }
  }
  return -1;
}

// The history is on the host anyway on this hardware, so the search runs there.
static void ngram_match_cpu(const int64_t* token_ids_all,
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
                            int bsz,
                            int max_ngram_size) {
  for (int64_t bid = 0; bid < bsz; bid++) {
    if (seq_lens_encoder[bid] > 0) {
      continue;
    }
    seq_lens_this_time[bid] = seq_lens_decoder[bid] > 0 ? 1 : 0;
    const int64_t prompt_len = prompt_lens[bid];
    const int64_t* prompt = token_ids_all + bid * max_model_len;
    const int64_t* history = prompt + prompt_len;
    const int64_t cur_step_idx = step_idx[bid];
    const int64_t room = max_dec_len[bid] - cur_step_idx - 1;
    const int64_t wanted = std::min<int64_t>(draft_token_num[bid], room);
    if (seq_lens_decoder[bid] <= 0 || wanted <= 0) {
      continue;
    }
    for (int n = max_ngram_size; n >= 1; --n) {
      if (cur_step_idx < n) {
        continue;
      }
      const int64_t* tail = history + (cur_step_idx - n);
      const int64_t* source = prompt;
      int64_t limit = prompt_len;
      int64_t at = find_ngram(source, limit, tail, n);
      if (at < 0) {
        source = history;
        limit = cur_step_idx;
        at = find_ngram(source, limit, tail, n);
      }
      if (at < 0) {
        continue;
      }
      const int64_t found = std::min(wanted, limit - at - n);
      std::copy(source + at + n, source + at + n + found, draft_tokens + bid * draft_stride + 1);
      seq_lens_this_time[bid] = static_cast<int>(found) + 1;
      break;
    }
  }
}

void XPUNgramMatch(const paddle::Tensor& token_ids_all,
                   const paddle::Tensor& prompt_lens,
                   const paddle::Tensor& step_idx,
                   const paddle::Tensor& draft_token_num,
                   const paddle::Tensor& draft_tokens,
                   const paddle::Tensor& seq_lens_this_time,
                   const paddle::Tensor& seq_lens_encoder,
                   const paddle::Tensor& seq_lens_decoder,
                   const paddle::Tensor& max_dec_len,
                   int max_ngram_size) {
  ngram_match_cpu(token_ids_all.data<int64_t>(),
                  prompt_lens.data<int64_t>(),
                  step_idx.data<int64_t>(),
                  draft_token_num.data<int>(),
                  seq_lens_encoder.data<int>(),
                  seq_lens_decoder.data<int>(),
                  max_dec_len.data<int64_t>(),
                  const_cast<int64_t*>(draft_tokens.data<int64_t>()),
                  const_cast<int*>(seq_lens_this_time.data<int>()),
                  token_ids_all.shape()[1],
                  draft_tokens.shape()[1],
                  seq_lens_this_time.shape()[0],
                  max_ngram_size);
}

PD_BUILD_STATIC_OP(xpu_ngram_match)
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
    .SetKernelFn(PD_KERNEL(XPUNgramMatch));
