"""The edit of one statement, made on a copy of that statement elsewhere."""

from __future__ import annotations

import difflib

from checks.core.finding import Edit
from checks.lang.ir.source_file import SourceFile
from checks.rules.sync._effects import Alteration, Effect


def ported(
    alteration: Alteration,
    effect: Effect,
    before: SourceFile,
    after: SourceFile,
    sibling: SourceFile,
) -> tuple[Edit, ...] | None:
    """What the change did to the lines of its statement, done to `effect`'s in `sibling`; None where a line that it
    replaced, or the line above one that it added, is not there or there twice."""
    old = _lines(before, alteration.old.start, alteration.old.end)
    new = _lines(after, alteration.new.start, alteration.new.end)
    own = _lines(sibling, effect.start, effect.end)
    shift = _indent(own[0]) - _indent(new[0])
    edits: list[Edit] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            continue
        start, count = (i1, i2 - i1) if i2 > i1 else (i1 - 1, 1)
        place = _find(old[start : start + count], own, exact=len(old) == len(own) and start)
        if start < 0 or place is None:
            return None
        first = effect.start + place
        kept = sibling.lines[first - 1 : first] if i2 == i1 else ()
        lines = (
            *(line.rstrip("\r") for line in kept),
            *(_shifted(line, shift) for line in new[j1:j2]),
        )
        edits.append(Edit(sibling.path, first, first + count - 1, lines))
    return tuple(edits) or None


def old_part(alteration: Alteration, effect: Effect, after: SourceFile, sibling: SourceFile) -> str:
    """The lines of `effect`'s statement that the new statement does not have, on one line, gaps marked."""
    new = {line.strip() for line in _lines(after, alteration.new.start, alteration.new.end)}
    parts: list[str] = []
    for line in (line.strip() for line in _lines(sibling, effect.start, effect.end)):
        if line not in new and any(c.isalnum() for c in line):
            parts.append(line)
        elif parts and parts[-1] != "…":
            parts.append("…")
    return " ".join(parts[:-1] if parts and parts[-1] == "…" else parts)


def _lines(unit: SourceFile, start: int, end: int) -> list[str]:
    return [line.rstrip("\r") for line in unit.lines[start - 1 : end]]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _shifted(line: str, shift: int) -> str:
    if not line.strip():
        return ""
    return " " * shift + line if shift >= 0 else line[min(-shift, _indent(line)) :]


def _find(block: list[str], lines: list[str], exact: int | bool) -> int | None:
    """Where `block` stands in `lines`, indentation aside; at its own place where the statements are equally long."""
    wanted, there = [b.strip() for b in block], [line.strip() for line in lines]
    places = [
        n for n in range(len(there) - len(wanted) + 1) if there[n : n + len(wanted)] == wanted
    ]
    if exact is not False and exact in places:
        return int(exact)
    return places[0] if len(places) == 1 else None
