"""What a rule is: a module that satisfies `Check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding


class Check(Protocol):
    """A rule module.

    Its docstring has four parts: What it does, Why it matters, Example, Known limits.
    """

    __doc__: str | None
    ID: str

    def run(self, change: ChangeSet, config: Config) -> Iterator[Finding]:
        """Every finding of this rule on `change`, in any order; no side effects."""
