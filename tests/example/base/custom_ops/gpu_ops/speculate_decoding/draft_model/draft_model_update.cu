#include <stdint.h>

#include "paddle/extension.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

constexpr int kDraftThreads = 512;

// One step of the draft model: take its token, remember it in pre_ids. Entry 0 of pre_ids
// is never written, so step_idx is the index of the newest token.
__global__ void draft_model_update_kernel(const int64_t* next_tokens,
                                          int64_t* draft_tokens,
                                          int64_t* pre_ids,
                                          int* seq_lens_this_time,
                                          int* seq_lens_encoder,
                                          int* seq_lens_decoder,
                                          int64_t* step_idx,
                                          const bool* stop_flags,
                                          const int64_t* max_dec_len,
                                          int bsz,
                                          int draft_stride,
                                          int pre_ids_stride,
                                          int substep) {
  const int bid = threadIdx.x;
  if (bid >= bsz || seq_lens_this_time[bid] == 0) {
    return;
  }
  if (stop_flags[bid]) {
    seq_lens_this_time[bid] = 0;
    seq_lens_encoder[bid] = 0;
    return;
  }
  int row = 0;
  for (int i = 0; i < bid; i++) {
    row += seq_lens_this_time[i] > 0 ? 1 : 0;
  }
  const int64_t token = next_tokens[row];
  int64_t* history = pre_ids + static_cast<int64_t>(bid) * pre_ids_stride;

  if (seq_lens_encoder[bid] > 0) {
    seq_lens_decoder[bid] += seq_lens_encoder[bid];
    seq_lens_encoder[bid] = 0;
    step_idx[bid] += 1;
    history[1] = token;
    draft_tokens[bid * draft_stride + substep + 1] = token;
  } else if (step_idx[bid] < max_dec_len[bid] - 1) {
    seq_lens_decoder[bid] += seq_lens_this_time[bid];
    step_idx[bid] += seq_lens_this_time[bid];
    history[step_idx[bid]] = token;
    draft_tokens[bid * draft_stride + substep + 1] = token;
  }
  seq_lens_this_time[bid] = 1;
}

void DraftModelUpdate(const paddle::Tensor& next_tokens,
                      const paddle::Tensor& draft_tokens,
                      const paddle::Tensor& pre_ids,
                      const paddle::Tensor& seq_lens_this_time,
                      const paddle::Tensor& seq_lens_encoder,
                      const paddle::Tensor& seq_lens_decoder,
                      const paddle::Tensor& step_idx,
                      const paddle::Tensor& stop_flags,
                      const paddle::Tensor& max_dec_len,
                      int substep) {
  draft_model_update_kernel<<<1, kDraftThreads, 0, pre_ids.stream()>>>(
      next_tokens.data<int64_t>(),
      const_cast<int64_t*>(draft_tokens.data<int64_t>()),
      const_cast<int64_t*>(pre_ids.data<int64_t>()),
      const_cast<int*>(seq_lens_this_time.data<int>()),
      const_cast<int*>(seq_lens_encoder.data<int>()),
      const_cast<int*>(seq_lens_decoder.data<int>()),
      const_cast<int64_t*>(step_idx.data<int64_t>()),
      stop_flags.data<bool>(),
      max_dec_len.data<int64_t>(),
      seq_lens_this_time.shape()[0],
      draft_tokens.shape()[1],
      pre_ids.shape()[1],
      substep);
}

PD_BUILD_STATIC_OP(draft_model_update)
    .Inputs({"next_tokens",
             "draft_tokens",
             "pre_ids",
             "seq_lens_this_time",
             "seq_lens_encoder",
             "seq_lens_decoder",
             "step_idx",
             "stop_flags",
             "max_dec_len"})
    .Attrs({"substep: int"})
    .Outputs({"pre_ids_out", "step_idx_out"})
    .SetInplaceMap({{"pre_ids", "pre_ids_out"}, {"step_idx", "step_idx_out"}})
    .SetKernelFn(PD_KERNEL(DraftModelUpdate));
