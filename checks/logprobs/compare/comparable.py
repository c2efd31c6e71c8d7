"""Whether two records may be compared at all: the same request to the same model on the same device."""

from __future__ import annotations

from checks.logprobs.compare.tally import Tally
from checks.logprobs.record import UNKNOWN, Origin, Record

FIELDS = ("device", "engine", "model", "mode", "logits_dtype")
ORIGIN = (*FIELDS, "engine_version")
"""What a record says about where it comes from; another version is what a comparison is for."""
# What asks for more or other columns, or how an answer is sent, does not change the answer.
_NO_MATTER = frozenset(
    ("logprobs", "top_logprobs", "num_logprobs", "prompt_logprobs", "top_logprobs_num", "logprob_start_len",
     "return_logprob", "stream", "stream_options", "user", "n", "model", "include_usage")
)  # fmt: skip


def conflicts(base: Record, head: Record) -> list[tuple[str, str, str]]:
    """What forbids a comparison: (field, base's, head's). What one side does not know forbids nothing."""
    found = []
    for name in FIELDS if base.origin is not head.origin else ():
        of_base, of_head = getattr(base.origin, name), getattr(head.origin, name)
        if of_base != of_head and UNKNOWN not in (of_base, of_head):
            found.append((name, of_base, of_head))
    if base.ids != head.ids:
        found.append(("ids", base.ids, head.ids))
    if base.prompt_sha256 != head.prompt_sha256:
        found.append(("prompt", "", ""))
    for name in sorted(base.sampling.keys() | head.sampling.keys()):
        asked = base.sampling.get(name), head.sampling.get(name)
        if name not in _NO_MATTER and asked[0] != asked[1] and base.sampling and head.sampling:
            found.append((f"sampling.{name}", str(asked[0]), str(asked[1])))
    return found


def dtype(base: Record, head: Record) -> str:
    """Of the logits of both, from the side that says it."""
    said = base.origin.logits_dtype
    return head.origin.logits_dtype if said == UNKNOWN else said


def temperature(base: Record, head: Record) -> float:
    """Of both, from the side that says how it sampled; 0 for greedy, which is also what a side says that says nothing:
    then no draw is an excuse."""
    sampling = base.sampling or head.sampling
    asked = sampling.get("temperature")
    return 0.0 if sampling.get("top_k") == 1 or not isinstance(asked, int | float) else float(asked)


def same_drafting(base: Record, head: Record) -> bool:
    """Whether both were drafted for in the same way, so that their acceptance may be compared."""
    return not base.speculative or not head.speculative or base.speculative == head.speculative


def name_origins(tally: Tally, base: Origin, head: Origin) -> None:
    """Remember what records say about themselves, for the report."""
    for name in ORIGIN:
        tally.say(name, [(getattr(base, name), getattr(head, name))])
