"""The change carried over to a copy, where its lines are the same but for the indentation."""

from __future__ import annotations

import re

from checks.core.change import ChangeSet
from checks.core.finding import Edit, Fix
from checks.domain.siblings import base_unit
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.sync._op_effects import Alteration, Atom


def ported(
    places: list[tuple[Alteration, SourceFile, Function, Atom]], change: ChangeSet
) -> Fix | None:
    """The edits that give every place (alteration, and where its old atom stands) the new lines; None where one cannot
    have them: the lines differ, the statement went away, or a name of the new one is not known there."""
    edits: dict[tuple[str, int], Edit] = {}
    for alteration, unit, function, atom in places:
        edit = _edit(alteration, unit, function, atom, change)
        if edit is None:
            return None
        edits[unit.path, atom.line] = edit
    return Fix(tuple(edits.values())) if edits else None


def _edit(
    alteration: Alteration, there: SourceFile, function: Function, atom: Atom, change: ChangeSet
) -> Edit | None:
    new, old = alteration.new, alteration.old
    if new is None or alteration.guard is not None:
        return None
    before, after = (
        base_unit(alteration.function.path, change),
        change.unit(alteration.function.path),
    )
    text = there.text(function.start_line, function.end_line)
    if (
        before is None
        or after is None
        or not all(re.search(rf"\b{re.escape(n)}\b", text) for n in new.names)
    ):
        return None
    was, now = (
        before.text(old.line, old.end_line).split("\n"),
        after.text(new.line, new.end_line).split("\n"),
    )
    theirs = there.text(atom.line, atom.end_line).split("\n")
    if [line.strip() for line in was] != [line.strip() for line in theirs] or _opens(was) != _opens(
        now
    ):
        return None
    indent, own = _indent(theirs[0]), _indent(now[0])
    lines = tuple(indent + line.rstrip("\r").removeprefix(own) for line in now)
    return Edit(there.path, atom.line, atom.end_line, lines)


def _opens(lines: list[str]) -> bool:
    """Whether the last line opens a block."""
    return lines[-1].rstrip().endswith("{")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
