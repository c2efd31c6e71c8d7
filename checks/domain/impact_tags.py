"""The impact tags of a report: the parts of a serving engine that a change touches, by path."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPECULATIVE = r"specul|spec_decode|(^|[/_])mtp([/_.]|$)|eagle|n_?gram|suffix_decod|medusa|draft_"
_PROCESSORS = (
    r"token_processor|output_processor|detokenizer|input_processor|data_processor"
    r"|/input/|/output/"
)
# (tag, what its paths have in them). The names are the ones that the engines' own folders use.
_MARKS: tuple[tuple[str, str], ...] = (
    ("speculative-decoding", _SPECULATIVE),
    ("op", r"custom_ops/|csrc/|_ops/|/ops/|/kernels?/|\.(cu|cuh|xpu|maca)$"),
    ("logprobs", r"logprob"),
    ("sampling", r"/sampl(e|er|ing)([/_.]|$)|(top_p|top_k|rejection)_sampl"),
    ("model-runner", r"model_runner"),
    ("data-processor", _PROCESSORS),
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
# Kind of a file -> tag.
_TAG_OF_KIND = {"docs": "docs", "ci": "ci", "build": "build", "test": "tests", "e2e": "tests"}


def impact_tags(paths: Iterable[tuple[str, str]], *, has_ops: bool) -> tuple[str, ...]:
    """The tags of (path, kind) pairs.

    Tests count only for themselves: a test of the sampler is no change of it.
    """
    code: list[str] = []
    kinds: set[str] = set()
    for path, kind in paths:
        kinds.add(kind)
        if kind in ("source", "other"):
            code.append(path.lower())
    tags: list[str] = []
    for tag, mark in _MARKS:
        if any(re.search(mark, path) for path in code):
            tags.append(tag)
    if has_ops and "op" not in tags:
        tags.append("op")
    for kind, tag in _TAG_OF_KIND.items():
        if kind in kinds and tag not in tags:
            tags.append(tag)
    return tuple(tags)
