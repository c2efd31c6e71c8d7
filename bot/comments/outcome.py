"""How a GPU run ended, whole or one part of its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_WORST_FIRST = ("failure", "neutral", "success")


@dataclass(frozen=True)
class Outcome:
    """GitHub's conclusion, a key of the words for the title, and the report."""

    conclusion: str
    key: str
    text: str = ""


def together(parts: Sequence[Outcome]) -> Outcome:
    """The worst of the parts, with what all of them say. There is at least one."""
    worst = min(parts, key=lambda part: _WORST_FIRST.index(part.conclusion))
    return Outcome(worst.conclusion, worst.key, "\n\n".join(part.text.strip() for part in parts if part.text))
