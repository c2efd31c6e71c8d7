"""What the title of a commit says of its kind."""

from __future__ import annotations

import re

# `Fixed the hang` is a fix, `a fixed stride` is none.
_FIX = re.compile(
    r"\b(?:bug|fix|fixes|hotfix|bugfix|revert)\b|^(?:\s*\[[^\]]*\])*\s*fixed\b|\[bug ?fix\]|修复",
    re.I,
)
_TRIVIAL = re.compile(r"typo|code ?style|comment|spelling|lint", re.I)


def is_fix(subject: str) -> bool:
    """Whether the title is that of a commit that mends or takes back something that ran wrong."""
    return _FIX.search(subject) is not None and not _TRIVIAL.search(subject)
