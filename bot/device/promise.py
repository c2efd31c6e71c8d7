"""What an author promises of a change."""

from __future__ import annotations

import re

from checks.core.change import PullRequest

_PROMISE = re.compile(
    r"refactor|optimi[sz]|clean ?up|no functional change|重构|优化|speed ?up|perf\b", re.IGNORECASE
)
# A title with one of these says that results change, whatever else it says.
_NEW_BEHAVIOUR = re.compile(r"\bfix|\bfeat|\bsupport|\badd\b|修复|支持|新增", re.IGNORECASE)


def promises_same_results(pull: PullRequest) -> bool:
    """Whether the author says that the code is another and what it computes is not."""
    if _NEW_BEHAVIOUR.search(pull.title):
        return False
    return _PROMISE.search(f"{pull.title}\n{pull.body}") is not None
