"""The functions that a change wrote or altered: most rules begin with a loop over them.

for function in changed_functions(change, config):
    for guarded in function.statements:
        stmt = guarded.stmt
        if function.touched(stmt.line, stmt.end_line) and is_wrong(stmt):
            yield function.finding(ID, stmt, "wrong", severity=Severity.SUGGESTION)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from checks.core.change import ChangeSet
from checks.core.code import (
    code_without_comments,
)
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity, Side
from checks.lang.ir.source_file import Function, SourceFile, group_by
from checks.lang.ir.stmt import GuardedStmt, Stmt, guarded_statements


@dataclass
class ChangedFunction:
    """A function that the change wrote or altered.

    `head` is the function as it is now, in the file `unit`; `base` is what it was before, in the
    file `base_unit`. Both are None for a new function.
    """

    head: Function
    unit: SourceFile
    base: Function | None
    base_unit: SourceFile | None
    change: ChangeSet

    @property
    def is_new(self) -> bool:
        """Whether the change wrote all of it: there was no such function before."""
        return self.base is None

    @property
    def python(self) -> bool:
        """Whether it is a Python function, and not C++ or CUDA."""
        return self.unit.language == "python"

    def touched(self, start: int, end: int = 0) -> bool:
        """Whether the change wrote any of the lines `start`..`end` of the head (`end` included)."""
        return self.change.touches(self.unit.path, start, max(start, end))

    @cached_property
    def statements(self) -> list[GuardedStmt]:
        """The statements of the head, with their guards and loops."""
        return list(guarded_statements(self.head.body))

    @cached_property
    def base_statements(self) -> list[GuardedStmt]:
        """The statements of the base; none for a new function."""
        if self.base is None:
            return []
        return list(guarded_statements(self.base.body))

    @property
    def text(self) -> str:
        """The head's source, as written."""
        return self.unit.text_of(self.head)

    @property
    def base_text(self) -> str:
        """The base's source, as written; empty where there is none."""
        if self.base is None or self.base_unit is None:
            return ""
        return self.base_unit.text_of(self.base)

    @cached_property
    def code(self) -> str:
        """The head's source without comments and plain strings."""
        return code_without_comments(self.unit, self.head)

    @cached_property
    def base_code(self) -> str:
        """The base's source without comments and plain strings; empty where there is none."""
        if self.base is None or self.base_unit is None:
            return ""
        return code_without_comments(self.base_unit, self.base)

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether `pattern` is found in the head's code, outside comments and plain strings.

        The pattern must not span a comment: the text as written is searched first, because most
        often nothing is found there, and `code` takes long to make.
        """
        return pattern.search(self.text) is not None and pattern.search(self.code) is not None

    def location(self, place: Stmt | int) -> Location:
        """The lines of a statement of the head, or one line given by its number."""
        if isinstance(place, int):
            return Location(self.unit.path, place)
        return Location(self.unit.path, place.line, place.end_line)

    def finding(
        self,
        rule: str,
        place: Stmt | int,
        key: str,
        /,
        *,
        severity: Severity = Severity.QUESTION,
        confidence: Confidence = Confidence.MEDIUM,
        subject: str = "",
        pedantic: bool = False,
        **args: Any,
    ) -> Finding:
        """A finding of `rule` at a statement or line of the head.

        `key` and `args` are the message, as in `Finding.at`. The `subject` is the code at the
        place where none is given.
        """
        location = self.location(place)
        code = self.unit.text(location.start_line, location.end_line)
        return Finding.at(
            rule,
            location,
            key,
            severity=severity,
            confidence=confidence,
            symbol=self.head.qualname,
            subject=subject or code,
            pedantic=pedantic,
            **args,
        )


def changed_functions(change: ChangeSet, config: Config) -> tuple[ChangedFunction, ...]:
    """Every function outside tests of which the change touched a line, and that still exists.

    A function that moved from one file of the change to another is paired with what it was there.
    """
    return change.memo(
        (changed_functions, config.paths.tests), lambda: tuple(_pair_functions(change, config))
    )


def _pair_functions(change: ChangeSet, config: Config) -> Iterator[ChangedFunction]:
    pairs = list(change.changed_functions())
    gone = [base for base, head in pairs if base is not None and head is None]
    removed = group_by(gone, lambda function: function.name)
    for base, head in pairs:
        if head is None or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        if unit is None:
            continue
        if base is None:
            # Moved code is not new: a rule that compares with the base has to see what it was.
            base = _moved_from(head, removed.get(head.name, []), change)
        base_unit = change.unit(base.path, Side.BASE) if base is not None else None
        yield ChangedFunction(head, unit, base, base_unit, change)


def _moved_from(head: Function, same_name: list[Function], change: ChangeSet) -> Function | None:
    """The one function of this name that went away.

    One in the same file (it changed its namespace or class) comes before one in any other file.
    """
    file = change.changed(head.path)
    base_path = file.base_path if file is not None else None
    same_file = [function for function in same_name if function.path == base_path]
    candidates = same_file or same_name
    return candidates[0] if len(candidates) == 1 else None


def changed_files(
    change: ChangeSet, config: Config, language: str
) -> Iterator[tuple[SourceFile, SourceFile | None]]:
    """(head, base) of every changed source file of `language` outside tests."""
    for file in change.files:
        if file.head_path is None or config.is_test(file.head_path):
            continue
        unit = change.head_unit(file)
        if unit is not None and unit.language == language:
            yield unit, change.base_unit(file)
