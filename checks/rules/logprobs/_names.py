"""Names by which code of the logprob path is known."""

from __future__ import annotations

import re

from checks.lang.ir.source_file import Function

# What of a logprob a statement decides.
WIDTH, SEED, ORDER, VALUE = "width", "seed", "order", "value"

_CONCERNING = ("logprob", "log_prob", "topk", "top_k", "seed")
# The prompt's own logprobs are no part of what the tests store.
_OF_PROMPT = re.compile(r"(?i)prompt_log_?prob")
_LOGPROB = re.compile(r"(?i)^(?!.*prompt_log_?prob).*log_?prob")
_WIDTH = re.compile(
    r"(?i)^(max|num|n|top)_?(num_?|top_?)?log_?probs?$"
    r"|^(max|num|n|real|actual|ori)_?(num_?)?top_?k$|log_?prob_?k$"
)
_SEED = re.compile(r"(?i)(^|_)seeds?($|_)")
_ORDERING_CALLS = frozenset({"topk", "top_k", "argmax", "argsort", "sort", "argmin", "stable_sort"})


def may_concern_logprobs(text: str) -> bool:
    """Whether source text names anything that may have to do with logprobs."""
    lower = text.lower()
    return any(word in lower for word in _CONCERNING)


def is_about_logprobs(name: str) -> bool:
    return _LOGPROB.search(name) is not None


def is_logprob_function(function: Function) -> bool:
    """Whether a function speaks of logprobs in its name, its class or its parameters."""
    if is_about_logprobs(function.qualname):
        return True
    return any(is_about_logprobs(parameter.name) for parameter in function.params)


def kind_of_constant(name: str) -> str:
    """`SEED` or `WIDTH` where a constant of this name decides one, else empty."""
    if _SEED.search(name):
        return SEED
    return WIDTH if _WIDTH.search(name) else ""


def kind_of_statement(
    targets: list[str], calls: list[str], function: Function
) -> tuple[str, str] | None:
    """(name, kind) of what a statement decides for logprobs, None where it decides nothing.

    `targets` are the names that it sets, `calls` those that it calls.
    """
    if _OF_PROMPT.search(function.name):
        return None
    nearby = is_logprob_function(function)
    for name in targets:
        if _WIDTH.search(name) and (nearby or is_about_logprobs(name)):
            return name, WIDTH
        if _SEED.search(name):
            return name, SEED
    for name in calls:
        if name in _ORDERING_CALLS and nearby:
            return name, ORDER
    names = [*targets, *calls]
    for name in names:
        if is_about_logprobs(name):
            return name, VALUE
    if names and is_about_logprobs(function.name):
        return names[0], VALUE
    return None
