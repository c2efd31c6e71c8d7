#include <pybind11/pybind11.h>

#include "paddle/extension.h"

namespace py = pybind11;

void NgramMatch(const paddle::Tensor& token_ids_all,
                const paddle::Tensor& prompt_lens,
                const paddle::Tensor& step_idx,
                const paddle::Tensor& draft_token_num,
                const paddle::Tensor& draft_tokens,
                const paddle::Tensor& seq_lens_this_time,
                const paddle::Tensor& seq_lens_encoder,
                const paddle::Tensor& seq_lens_decoder,
                const paddle::Tensor& max_dec_len,
                int max_ngram_size);

void HybridNgramMatch(const paddle::Tensor& input_ids,
                      const paddle::Tensor& input_ids_len,
                      const paddle::Tensor& pre_ids,
                      const paddle::Tensor& step_idx,
                      const paddle::Tensor& draft_tokens,
                      const paddle::Tensor& seq_lens_this_time,
                      const paddle::Tensor& max_dec_len,
                      int max_ngram_size,
                      int min_ngram_size,
                      int max_draft_tokens);

void SpecGatherTargetLogits(const paddle::Tensor& logits,
                            const paddle::Tensor& cu_seqlens_q_output,
                            const paddle::Tensor& cu_batch_token_offset,
                            const paddle::Tensor& seq_lens_encoder,
                            const paddle::Tensor& accept_num,
                            const paddle::Tensor& target_logits);

PYBIND11_MODULE(lantern_ops_gpu, m) {
  m.def("ngram_match", &NgramMatch, "propose drafts from an n-gram of the history");
  m.def("hybrid_ngram_match", &HybridNgramMatch, "lengthen an MTP draft with an n-gram");
  m.def("spec_gather_target_logits", &SpecGatherTargetLogits, "target logits at accepted rows");
}
