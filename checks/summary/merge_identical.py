"""One sentence for claims that say the same of several places or functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks.core.finding import Message
from checks.summary.model import Claim

# The sentences of these claims name the file; all others read the same in every file.
_KEYS_NAMING_THE_FILE = frozenset({"binding-repeated", "constant-removed"})
# What one statement was and is now: `names` are the functions that have it.
_KEYS_OF_STATEMENTS = frozenset(
    {"assigned", "condition", "condition-part", "loop", "returned", "set-local", "unpacked"}
)


def merge_identical(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """`claims` in order; those with the same sentence, or the same statement of several functions,
    become one, at the place of the first."""
    merged: dict[str, Claim] = {}
    for claim in claims:
        sentence = _sentence_of(claim)
        first = merged.get(sentence)
        merged[sentence] = claim if first is None else _join(first, claim)
    return tuple(merged.values())


def _join(first: Claim, other: Claim) -> Claim:
    message = first.message
    if message.key in _KEYS_OF_STATEMENTS:
        names = [*message.args["names"], *other.message.args["names"]]
        message = Message(message.key, {**message.args, "names": list(dict.fromkeys(names))})
    symbols = tuple(dict.fromkeys((*first.symbols, *other.symbols)))
    return replace(first, message=message, places=(*first.places, *other.places), symbols=symbols)


def _sentence_of(claim: Claim) -> str:
    """A text that is equal for claims whose sentences can be one."""
    key = claim.message.key
    args = dict(claim.message.args)
    if key not in _KEYS_NAMING_THE_FILE:
        args.pop("path", None)
    if key in _KEYS_OF_STATEMENTS:
        del args["names"]
    return repr((key, args))
