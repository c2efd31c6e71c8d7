"""Device ops of the GPU build. Without the compiled extension the names exist and calling one fails."""

from __future__ import annotations

try:
    import lantern_ops_gpu as _compiled
except ImportError:
    _compiled = None

AVAILABLE = _compiled is not None


def _op(name):
    if _compiled is not None:
        return getattr(_compiled, name)

    def missing(*args, **kwargs):
        raise RuntimeError(f"op {name} needs the compiled GPU extension")

    return missing


ngram_match = _op("ngram_match")
hybrid_ngram_match = _op("hybrid_ngram_match")
draft_model_update = _op("draft_model_update")
unified_update_status = _op("unified_update_status")
spec_gather_target_logits = _op("spec_gather_target_logits")
spec_send_topk = _op("spec_send_topk")
spec_send_plain = _op("spec_send_plain")
mtp_send_first_token_topk = _op("mtp_send_first_token_topk")
spec_recv_topk = _op("spec_recv_topk")
spec_recv_plain = _op("spec_recv_plain")
recv_topk = _op("recv_topk")
recv_plain = _op("recv_plain")
