"""How a GPU run ended, whole or one part of its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_WORST_FIRST = ("failure", "neutral", "success")


@dataclass(frozen=True)
class PageTab:
    """What the pull request's page shows of it.

    `kind`: kernels, device or logprobs; `bodies`: HTML by language.
    """

    kind: str
    verdict: str
    bodies: Mapping[str, str]


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended. Stored as JSON, without its tabs.

    `conclusion` is GitHub's word, `key` that of the title in `templates/words/comments.toml`.
    """

    conclusion: str
    key: str
    text: str = ""
    tabs: tuple[PageTab, ...] = ()


def combine(parts: Sequence[RunOutcome]) -> RunOutcome:
    """The worst of the parts, with what all of them say. There is at least one."""
    worst = min(parts, key=lambda part: _WORST_FIRST.index(part.conclusion))
    texts = [part.text.strip() for part in parts if part.text]
    tabs = [tab for part in parts for tab in part.tabs]
    return RunOutcome(worst.conclusion, worst.key, "\n\n".join(texts), tuple(tabs))
