"""How a GPU run ended, whole or one part of its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_WORST_FIRST = ("failure", "neutral", "success")


@dataclass(frozen=True)
class PageTab:
    """What the pull request's page shows of it. `kind`: kernels or logprobs; `bodies`: HTML by language."""

    kind: str
    verdict: str
    bodies: Mapping[str, str]


@dataclass(frozen=True)
class RunOutcome:
    """GitHub's conclusion, a key of the words for the title, the report, and what goes onto the page."""

    conclusion: str
    key: str
    text: str = ""
    tabs: tuple[PageTab, ...] = ()


def combine(parts: Sequence[RunOutcome]) -> RunOutcome:
    """The worst of the parts, with what all of them say. There is at least one."""
    worst = min(parts, key=lambda part: _WORST_FIRST.index(part.conclusion))
    text = "\n\n".join(part.text.strip() for part in parts if part.text)
    return RunOutcome(
        worst.conclusion, worst.key, text, tuple(tab for part in parts for tab in part.tabs)
    )
