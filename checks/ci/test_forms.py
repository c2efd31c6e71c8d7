"""How test frameworks tell of a failed test, as the rules of `rules.toml` say it.

A line names a test, or is the heading of a list whose items do. Why the test failed stands in lines
around its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

# The group that is a test's name, in a rule's pattern or in its items.
NAME = "test"
_FIELDS = ("before", "after", "begins", "ends", "tells", "items", "goes_on", "listed")


@dataclass(frozen=True)
class TestForm:
    """What a rule says of the tests that it names; its head in `rules.toml` explains the fields."""

    before: int
    after: int
    begins: str
    ends: str
    tells: tuple[str, ...]
    items: str
    goes_on: str
    listed: bool

    # Of thirty frameworks a log has one or two, so expressions are compiled where they are used.

    @cached_property
    def said(self) -> tuple[re.Pattern[str], ...]:
        """The forms of the line that says why (group `said`), the surest first."""
        return tuple(compiled(form) for form in self.tells)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Every expression of the form."""
        return (
            tuple(e for e in (self.begins, self.ends, self.items, self.goes_on) if e) + self.tells
        )

    def begins_at(self, line: str) -> bool:
        """Whether what is told of the test begins here."""
        return bool(self.begins) and compiled(self.begins).match(line) is not None

    def ends_at(self, line: str) -> bool:
        """Whether what is told of the test, or the list, ends above this line."""
        return bool(self.ends) and compiled(self.ends).match(line) is not None


@cache
def compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def test_form(raw: Mapping[str, object]) -> TestForm | None:
    """The form in a rule's fields, None where it names no tests."""
    names = f"(?P<{NAME}>" in str(raw["pattern"])
    if not names and "items" not in raw:
        assert not any(field in raw for field in _FIELDS)
        return None
    before, after, tells = raw.get("before", 0), raw.get("after", 0), raw.get("tells", [])
    assert isinstance(before, int) and isinstance(after, int) and isinstance(tells, list)
    return TestForm(
        before=before,
        after=after,
        begins=str(raw.get("begins", "")),
        ends=str(raw.get("ends", "")),
        tells=tuple(str(form) for form in tells),
        items=str(raw.get("items", "")),
        goes_on=str(raw.get("goes_on", "")),
        listed=bool(raw.get("listed", False)),
    )
