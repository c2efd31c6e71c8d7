"""Whether two records may be compared at all: the same request to the same model on the same
device.
"""

from __future__ import annotations

from checks.logprobs.compare.tally import ComparisonStats
from checks.logprobs.record import UNKNOWN, Record, RecordOrigin

FIELDS = ("device", "engine", "model", "mode", "logits_dtype")
ORIGIN = (*FIELDS, "engine_version")
"""What a record says about where it comes from; another version is what a comparison is for."""
# What asks for more or other columns, or how an answer is sent, does not change the answer.
_WITHOUT_EFFECT = frozenset(
    {
        "logprobs",
        "top_logprobs",
        "num_logprobs",
        "prompt_logprobs",
        "top_logprobs_num",
        "logprob_start_len",
        "return_logprob",
        "stream",
        "stream_options",
        "user",
        "n",
        "model",
        "include_usage",
    }
)


def conflicts(base: Record, head: Record) -> list[tuple[str, str, str]]:
    """What forbids a comparison, as (field, base's, head's).

    What one side does not know forbids nothing.
    """
    found = []
    for name in FIELDS:
        of_base, of_head = getattr(base.origin, name), getattr(head.origin, name)
        if of_base != of_head and UNKNOWN not in (of_base, of_head):
            found.append((name, of_base, of_head))
    if base.ids != head.ids:
        found.append(("ids", base.ids, head.ids))
    if base.prompt_sha256 != head.prompt_sha256:
        found.append(("prompt", "", ""))
    if base.sampling and head.sampling:
        for name in sorted(base.sampling.keys() | head.sampling.keys()):
            asked_base, asked_head = base.sampling.get(name), head.sampling.get(name)
            if name not in _WITHOUT_EFFECT and asked_base != asked_head:
                found.append((f"sampling.{name}", str(asked_base), str(asked_head)))
    return found


def dtype(base: Record, head: Record) -> str:
    """The dtype of the logits of both, from the side that says it."""
    if base.origin.logits_dtype == UNKNOWN:
        return head.origin.logits_dtype
    return base.origin.logits_dtype


def temperature(base: Record, head: Record) -> float:
    """The temperature of both, from the side that says how it sampled; 0 for greedy.

    It is also 0 where neither says anything: then no random draw is an excuse for another token.
    """
    sampling = base.sampling or head.sampling
    asked = sampling.get("temperature")
    if sampling.get("top_k") == 1 or not isinstance(asked, int | float):
        return 0.0
    return float(asked)


def same_drafting(base: Record, head: Record) -> bool:
    """Whether both were drafted for in the same way, so that their acceptance may be compared."""
    if not base.speculative or not head.speculative:
        return True
    return base.speculative == head.speculative


def name_origins(tally: ComparisonStats, base: RecordOrigin, head: RecordOrigin) -> None:
    """Remember what records say about themselves, for the report."""
    for name in ORIGIN:
        tally.say(name, [(getattr(base, name), getattr(head, name))])
