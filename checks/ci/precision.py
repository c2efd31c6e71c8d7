"""How often the cause that a CI report named turned out to be the right one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Precision:
    """Verdicts of one category and cause: how many there were, and how many proved right or wrong.

    The two do not add up to `verdicts`: of many failures it never becomes known who was right.
    """

    category: str
    cause: str
    verdicts: int
    right: int
    wrong: int

    @property
    def precision(self) -> float | None:
        """The share that was right, or None where nothing is known yet."""
        known = self.right + self.wrong
        return self.right / known if known else None

    def __add__(self, other: Precision) -> Precision:
        """Both together. A category or cause in which they differ becomes empty."""
        return Precision(
            category=self.category if self.category == other.category else "",
            cause=self.cause if self.cause == other.cause else "",
            verdicts=self.verdicts + other.verdicts,
            right=self.right + other.right,
            wrong=self.wrong + other.wrong,
        )
