"""The change of one Python statement, made on a copy of that statement elsewhere."""

from __future__ import annotations

import difflib

from checks.core.finding import Edit
from checks.domain.copies.alterations import Alteration
from checks.domain.copies.effects import Effect
from checks.lang.ir.source_file import SourceFile


def transplant(
    alteration: Alteration,
    effect: Effect,
    old_unit: SourceFile,
    unit: SourceFile,
    sibling: SourceFile,
) -> list[Edit] | None:
    """What the change did to the lines of its statement, done to those of `effect` in `sibling`.

    None where a line that it replaced, or the line above one that it added, is not there or is
    there twice.
    """
    old_lines, new_lines = _lines(old_unit, alteration.old), _lines(unit, alteration.new)
    own_lines = _lines(sibling, effect)
    shift = _indentation(own_lines[0]) - _indentation(new_lines[0])
    edits: list[Edit] = []
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        is_insertion = old_start == old_end
        if is_insertion:
            # Put behind the line above, which stays.
            old_start -= 1
        if old_start < 0:
            return None
        block = old_lines[old_start : max(old_end, old_start + 1)]
        place = _find_block(
            block, own_lines, old_start if _same_length(old_lines, own_lines) else -1
        )
        if place is None:
            return None
        lines = [_shift(line, shift) for line in new_lines[new_start:new_end]]
        if is_insertion:
            lines.insert(0, own_lines[place])
        first = effect.start + place
        edits.append(Edit(sibling.path, first, first + len(block) - 1, tuple(lines)))
    return edits or None


def _same_length(left: list[str], right: list[str]) -> bool:
    return len(left) == len(right)


def _find_block(block: list[str], lines: list[str], expected: int) -> int | None:
    """Where `block` stands in `lines`, indentation aside; None where it is nowhere, or at several
    places.

    At several places, `expected` decides if it is one of them.
    """
    wanted = [line.strip() for line in block]
    stripped = [line.strip() for line in lines]
    places: list[int] = []
    for start in range(len(stripped) - len(wanted) + 1):
        if stripped[start : start + len(wanted)] == wanted:
            places.append(start)
    if expected in places:
        return expected
    return places[0] if len(places) == 1 else None


def differing_code(
    alteration: Alteration, effect: Effect, unit: SourceFile, sibling: SourceFile
) -> str:
    """The lines of `effect`'s statement that the new statement does not have.

    On one line, with `…` for what is between them.
    """
    new_lines = {line.strip() for line in _lines(unit, alteration.new)}
    parts: list[str] = []
    for line in _lines(sibling, effect):
        code = line.strip()
        if code not in new_lines and any(char.isalnum() for char in code):
            parts.append(code)
        elif parts and parts[-1] != "…":
            parts.append("…")
    if parts and parts[-1] == "…":
        parts.pop()
    return " ".join(parts)


def _lines(unit: SourceFile, effect: Effect) -> list[str]:
    return [line.rstrip("\r") for line in unit.lines[effect.start - 1 : effect.end]]


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _shift(line: str, columns: int) -> str:
    """The line moved to the right, or to the left where `columns` is negative."""
    if not line.strip():
        return ""
    if columns >= 0:
        return " " * columns + line
    return line[min(-columns, _indentation(line)) :]
