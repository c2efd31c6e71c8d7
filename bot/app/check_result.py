"""One sign that `specbot app doctor` looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`key` of `templates/words/app.toml` with its arguments; `good` is None for what is only worth
    knowing."""

    key: str
    good: bool | None
    args: dict[str, Any]


def result(key: str, good: bool | None, **args: Any) -> CheckResult:
    return CheckResult(key, good, args)
