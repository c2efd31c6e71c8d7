#include <stdint.h>

#include "paddle/extension.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

constexpr int kCopyThreads = 256;

// Rows of the target logits at the accepted positions, packed in slot order.
__global__ void gather_target_logits_kernel(const float* logits,
                                            const int* cu_seqlens_q_output,
                                            const int* cu_batch_token_offset,
                                            const int* seq_lens_encoder,
                                            const int* accept_num,
                                            float* target_logits,
                                            int64_t vocab_size) {
  const int bid = blockIdx.x;
  const int rows = seq_lens_encoder[bid] > 0 ? min(accept_num[bid], 1) : accept_num[bid];
  for (int j = 0; j < rows; j++) {
    const int64_t to = (static_cast<int64_t>(cu_batch_token_offset[bid]) + j) * vocab_size;
    const int64_t from = (static_cast<int64_t>(cu_seqlens_q_output[bid]) + j) * vocab_size;
    for (int64_t v = threadIdx.x; v < vocab_size; v += blockDim.x) {
      target_logits[to + v] = logits[from + v];
    }
  }
}

void SpecGatherTargetLogits(const paddle::Tensor& logits,
                            const paddle::Tensor& cu_seqlens_q_output,
                            const paddle::Tensor& cu_batch_token_offset,
                            const paddle::Tensor& seq_lens_encoder,
                            const paddle::Tensor& accept_num,
                            const paddle::Tensor& target_logits) {
  const int bsz = accept_num.shape()[0];
  gather_target_logits_kernel<<<bsz, kCopyThreads, 0, logits.stream()>>>(
      logits.data<float>(),
      cu_seqlens_q_output.data<int>(),
      cu_batch_token_offset.data<int>(),
      seq_lens_encoder.data<int>(),
      accept_num.data<int>(),
      const_cast<float*>(target_logits.data<float>()),
      logits.shape()[1]);
}

PD_BUILD_STATIC_OP(spec_gather_target_logits)
    .Inputs({"logits",
             "cu_seqlens_q_output",
             "cu_batch_token_offset",
             "seq_lens_encoder",
             "accept_num",
             "target_logits"})
    .Outputs({"target_logits_out"})
    .SetInplaceMap({{"target_logits", "target_logits_out"}})
    .SetKernelFn(PD_KERNEL(SpecGatherTargetLogits));
