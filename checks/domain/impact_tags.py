"""Which parts of a serving engine a change touches, told from paths: the impact tags of a report."""

from __future__ import annotations

import re
from collections.abc import Iterable

# (topic, what its paths have in them). The names are the ones that the engines' own folders use.
_MARKS: tuple[tuple[str, str], ...] = (
    (
        "speculative-decoding",
        r"specul|spec_decode|(^|[/_])mtp([/_.]|$)|eagle|n_?gram|suffix_decod|medusa|draft_",
    ),
    ("op", r"custom_ops/|csrc/|_ops/|/ops/|/kernels?/|\.(cu|cuh|xpu|maca)$"),
    ("logprobs", r"logprob"),
    ("sampling", r"/sampl(e|er|ing)([/_.]|$)|(top_p|top_k|rejection)_sampl"),
    ("model-runner", r"model_runner"),
    (
        "data-processor",
        r"token_processor|output_processor|detokenizer|input_processor|data_processor|/input/|/output/",
    ),
    ("scheduler", r"schedul"),
    ("kv-cache", r"kv_?cache|cache_manager|block_manager|prefix_cache"),
    ("pd-disaggregation", r"disagg|splitwise|cache_messager"),
    ("graph-optimization", r"graph_optimization|cuda_?graph|compilation/"),
    ("quantization", r"quant"),
    ("models", r"/models/"),
    ("loader", r"load_weight|model_loader|/loader"),
    ("api-server", r"entrypoints?/|/openai/|api_server"),
    ("engine", r"/engine/|/core/"),
    ("config", r"(^|/)(config|args_utils|envs)\.py$"),
    ("rl", r"/rl/"),
    ("benchmark", r"(^|/)benchmarks?/"),
)
_KINDS = (("docs", "docs"), ("ci", "ci"), ("build", "build"), ("test", "tests"), ("e2e", "tests"))


def impact_tags(paths: Iterable[tuple[str, str]], *, has_ops: bool) -> tuple[str, ...]:
    """The topics of (path, kind) pairs. Tests count only for themselves: a test of the sampler is no change of it."""
    files = list(paths)
    code = [path.lower() for path, kind in files if kind in ("source", "other")]
    found = [name for name, mark in _MARKS if any(re.search(mark, path) for path in code)]
    if has_ops and "op" not in found:
        found.append("op")
    kinds = {kind for _, kind in files}
    found += dict.fromkeys(name for kind, name in _KINDS if kind in kinds)
    return tuple(found)
