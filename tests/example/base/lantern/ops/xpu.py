"""Device ops of the XPU build."""

from __future__ import annotations

try:
    import lantern_ops_xpu as _compiled
except ImportError:
    _compiled = None


def _op(name):
    if _compiled is not None:
        return getattr(_compiled, name)

    def missing(*args, **kwargs):
        raise RuntimeError(f"op {name} needs the compiled XPU extension")

    return missing


xpu_ngram_match = _op("xpu_ngram_match")
xpu_unified_update_status = _op("xpu_unified_update_status")
xpu_spec_send_plain = _op("xpu_spec_send_plain")
